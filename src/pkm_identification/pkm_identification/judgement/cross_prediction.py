"""Every motion predicted with the parameters found on each of them (Mata et al. 2008, Table 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.judgement.relative_error import relative_absolute_error

Run = TypeVar('Run')
Values = TypeVar('Values')


@dataclass(frozen=True)
class CrossPrediction:
    """Relative absolute errors (Eq. 33) of forces.

    Attributes
    ----------
    errors : (R, R), row: motion that the parameters were found on, column: motion that is predicted
    """

    errors: Array

    @property
    def own(self) -> Array:
        """Errors (R,) on the motion of the fit itself; they flatter."""
        return np.diag(self.errors)

    @property
    def ratios(self) -> Array:
        """Error on another motion over that on the own one, (R, R), NaN on the diagonal: well above one, overfitted."""
        found = self.errors / self.own[:, None]
        np.fill_diagonal(found, np.nan)
        return np.asarray(found)


def cross_prediction(
    runs: Sequence[Run],
    fit: Callable[[Run], Values],
    predict: Callable[[Values, Run], Array],
    measured: Callable[[Run], Array],
) -> CrossPrediction:
    """Fit each run, and predict the forces (N, A) of all of them.

    Parameters
    ----------
    runs : R recordings, of any kind
    fit : parameters from a recording
    predict : forces of a recording by parameters
    measured : forces of a recording
    """
    fitted = [fit(run) for run in runs]

    def error(values: Values, run: Run) -> float:
        return relative_absolute_error(measured(run), predict(values, run)).stacked

    return CrossPrediction(np.array([[error(values, run) for run in runs] for values in fitted]))
