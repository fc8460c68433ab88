"""Assessment: excited parameters, force prediction error, and physical feasibility of the bodies."""
