"""Motions of the platform: sampled, generated, interpolated."""

from pkm_description.machine import PlatformMotion

__all__ = ['PlatformMotion']
