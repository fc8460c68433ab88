"""Export of a machine: URDF, MJCF, SDF and C code."""
