"""Motion of the platform during a recording: filters, derivatives, forward kinematics, Fourier fit."""
