"""A call that reaches every kernel of this package (see ``pkm_description.first_calls``)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from pkm_description.first_calls import Call

from pkm_identification.estimator.residual_covariance import RowNoise


def first_calls() -> Iterator[Call]:
    """Rows with noise that is correlated in time."""
    correlated = RowNoise(np.ones(2), np.array([0.5, -0.2]))
    yield partial(correlated.weighed, np.ones((4, 2, 3)), np.ones((4, 2)))
