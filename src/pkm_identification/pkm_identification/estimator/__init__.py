"""Estimators: parameters with covariance from rows of the observation matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_identification.estimator.constrained import (
        bounded_least_squares,
        design_bounds,
        global_search,
        pattern_search,
        sqp,
    )
    from pkm_identification.estimator.feasible import BaseFeasibility

__all__ = [
    'BaseFeasibility',
    'bounded_least_squares',
    'design_bounds',
    'global_search',
    'pattern_search',
    'sqp',
]

__getattr__, __dir__ = lazy_names(__name__)
