"""Motions of the platform: profiles, recorded poses, interpolation, limits."""
