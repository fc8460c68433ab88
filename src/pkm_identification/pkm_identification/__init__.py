"""What the machine is made of: dynamic parameters of parallel machines from recorded motion and drive forces."""
