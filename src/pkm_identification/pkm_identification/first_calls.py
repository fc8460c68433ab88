"""Calls that between them reach every kernel of this package (see ``pkm_description.first_calls``)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from pkm_description.first_calls import Call

from pkm_identification.estimator.residual_covariance import RowNoise
from pkm_identification.online.estimators import (
    ExtendedParameterFilter,
    RecursiveLeastSquares,
    UnscentedParameterFilter,
)


def first_calls() -> Iterator[Call]:
    """Rows with noise that is correlated in time; one sample for each of the estimators that run sample by sample."""
    correlated = RowNoise(np.ones(2), np.array([0.5, -0.2]))
    yield partial(correlated.weighed, np.ones((4, 2, 3)), np.ones((4, 2)))
    regressor, forces, variances = np.ones((2, 3)), np.ones(2), np.ones(2)
    prior = np.zeros(3), np.ones(3)
    for directional in (False, True):
        squares = RecursiveLeastSquares(3, 0.9, directional, prior)
        yield partial(squares.update, regressor, forces, variances)
        yield partial(getattr, squares, 'parameters')
    for kind in (ExtendedParameterFilter, UnscentedParameterFilter):
        yield partial(kind(*prior).update, regressor, forces, variances)
