"""Motions of the platform: profiles, recorded poses, interpolation, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names
from pkm_description.machine import PlatformMotion

if TYPE_CHECKING:
    from pkm_description.motion.circles import CircleAndRock, CirclePath, CoordinateSines, oh_trajectory

__all__ = [
    'CircleAndRock',
    'CirclePath',
    'CoordinateSines',
    'PlatformMotion',
    'oh_trajectory',
]

__getattr__, __dir__ = lazy_names(__name__)
