"""Motions of the platform: sampled, generated, interpolated."""

from pkm_description.motion.platform_motion import PlatformMotion

__all__ = ['PlatformMotion']
