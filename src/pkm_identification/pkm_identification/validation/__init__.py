"""Judges an identification by what it delivers: forces and motions of the machine that its files give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_identification.validation.other_motions import (
        CrossPrediction,
        ErrorBySpeed,
        OtherMotions,
        cross_prediction,
        error_by_speed,
        relative_absolute_error,
    )

__all__ = [
    'CrossPrediction',
    'ErrorBySpeed',
    'OtherMotions',
    'cross_prediction',
    'error_by_speed',
    'relative_absolute_error',
]

__getattr__, __dir__ = lazy_names(__name__)
