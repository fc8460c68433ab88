"""Recordings: positions and forces of the drives over time, from arrays, joint states, streams and bags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_identification.recording.recording import DriveData, DriveNoise

__all__ = [
    'DriveData',
    'DriveNoise',
]

__getattr__, __dir__ = lazy_names(__name__)
