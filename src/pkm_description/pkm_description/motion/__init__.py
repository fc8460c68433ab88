"""Motions of the platform: profiles, recorded poses, interpolation, limits."""

from pkm_description.machine import PlatformMotion

__all__ = ['PlatformMotion']
