"""Formats that machines are imported from: URDF, SDF and MJCF."""
