"""Errors of predicted forces and of parameters, as Mata et al. (2008) state them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array


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


@dataclass(frozen=True)
class RelativeAbsoluteError:
    """Sum of absolute errors over that of deviations from the mean, Eq. 33.

    The paper does not say over which forces the mean is taken; both readings are here.

    Attributes
    ----------
    stacked : of all drives together, with one mean
    by_drive : (A,) with the mean of each drive
    """

    stacked: float
    by_drive: Array


def relative_absolute_error(measured: Array, predicted: Array) -> RelativeAbsoluteError:
    """Compare predicted forces (N, A) with measured ones; 0 is perfect, 1 no better than the mean."""
    error = np.abs(predicted - measured)
    spread = np.abs(measured - measured.mean())
    own = np.abs(measured - measured.mean(axis=0))
    by_drive = np.asarray(error.sum(axis=0) / own.sum(axis=0), dtype=float)
    return RelativeAbsoluteError(float(error.sum() / spread.sum()), by_drive)


def mean_relative_error(values: Array, truth: Array, used: NDArray[np.bool_] | None = None) -> float:
    """Mean of ``|value - truth| / |truth|``, Eq. 34.

    Parameters
    ----------
    values, truth : (P,)
    used : (P,) which of them count, e.g. those that are properly identified; a truth of zero never does

    Returns
    -------
    float
        NaN where none is left.
    """
    chosen = np.asarray(truth != 0.0) if used is None else (truth != 0.0) & used
    if not chosen.any():
        return float('nan')
    return float(np.mean(np.abs(values[chosen] - truth[chosen]) / np.abs(truth[chosen])))
