"""Poses of the platform from positions of the drives, and on which assembly mode they are."""
