"""Machines from what people already have: URDF with loops, MJCF and SDF files become machine files."""
