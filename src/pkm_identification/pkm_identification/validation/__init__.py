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

#: module of every name
_MODULES = {
    'CrossPrediction': 'other_motions',
    'ErrorBySpeed': 'other_motions',
    'OtherMotions': 'other_motions',
    'cross_prediction': 'other_motions',
    'error_by_speed': 'other_motions',
    'relative_absolute_error': 'other_motions',
}

__all__ = [
    'CrossPrediction',
    'ErrorBySpeed',
    'OtherMotions',
    'cross_prediction',
    'error_by_speed',
    'relative_absolute_error',
]

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
