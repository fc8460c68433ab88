"""Methods of the papers, by name: what a study compares with, and what no program offers.

Own equations of motion, fits within bounds and searches (Rosyid & El-Khasawneh 2020), fits within constraints, errors
on other motions (Mata et al. 2008), and estimators that take one sample at a time (Oh 2003). Each is imported when it
is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_identification.columns.own_equations import Constraints, OwnEquations
    from pkm_identification.estimator.constrained import (
        ForceFit,
        bounded_least_squares,
        design_bounds,
        global_search,
        pattern_search,
        sqp,
        weak_directions,
    )
    from pkm_identification.estimator.recursive import RecursiveLeastSquares
    from pkm_identification.online.estimators import ExtendedParameterFilter, UnscentedParameterFilter
    from pkm_identification.validation.other_motions import mean_relative_error, other_motions, relative_absolute_error

__all__ = [
    'Constraints',
    'ExtendedParameterFilter',
    'ForceFit',
    'OwnEquations',
    'RecursiveLeastSquares',
    'UnscentedParameterFilter',
    'bounded_least_squares',
    'design_bounds',
    'global_search',
    'mean_relative_error',
    'other_motions',
    'pattern_search',
    'relative_absolute_error',
    'sqp',
    'weak_directions',
]

__getattr__, __dir__ = lazy_names(__name__)
