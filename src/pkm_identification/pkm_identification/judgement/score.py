"""Score test (Rao 1948) of whether the residuals of a fit go with columns that it does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from scipy.stats import f as f_distribution

#: part of a column's square beyond the fitted columns up to which it counts as one of them
OWN = 1e-3


class Products(NamedTuple):
    """Inner products of K columns that are offered to a fit of B parameters, all weighted alike.

    Attributes
    ----------
    squares : (K, K) with each other
    inside : (B, K) with an orthonormal basis of the fitted columns
    moments : (K, 2) with the residuals: as they are, and as they are judged
    """

    squares: Array
    inside: Array
    moments: Array

    @classmethod
    def of(cls, offered: Array, basis: Array, residuals: Array) -> Products:
        """Products of rows (M, K), (M, B), (M, 2)."""
        count = offered.shape[1]
        total = np.concatenate([offered, basis, residuals], axis=1).T @ offered
        squares, inside, moments = np.split(total, [count, count + basis.shape[1]])
        return cls(squares, inside, moments.T)


class Explained(NamedTuple):
    """What columns explain of the residuals.

    Attributes
    ----------
    judged : square that they explain of the judged residuals: chi-square with ``factors`` degrees by chance
    factors : number of directions that the fit does not have
    power : square that they explain of the residuals as they are
    coefficients : (K,) of the columns
    """

    judged: float
    factors: int
    power: float
    coefficients: Array


@dataclass(frozen=True)
class Evidence:
    """Products of columns with each other and with the residuals, without what the fitted columns have of them.

    Evidence of several recordings adds up: each with a fit of its own, the columns with the same factors.

    Attributes
    ----------
    sizes : (K,) squares of whole columns
    beyond : (K, K)
    moments : (K, 2)
    """

    sizes: Array
    beyond: Array
    moments: Array

    @classmethod
    def of(cls, products: Products) -> Evidence:
        """Evidence of one recording."""
        beyond = products.squares - products.inside.T @ products.inside
        return cls(np.diag(products.squares).copy(), beyond, products.moments)

    def after(self, before: Evidence, kept: float) -> Evidence:
        """Sum with that of recordings before, which counts by a part ``kept`` only."""
        return Evidence(
            self.sizes + kept * before.sizes, self.beyond + kept * before.beyond, self.moments + kept * before.moments
        )  # fmt: skip

    def explained(self) -> Explained | None:
        """What the columns explain; ``None`` if the fit has them already."""
        size = np.sqrt(self.sizes)
        seen = size > 1e-12 * max(size.max(initial=0.0), 1e-300)
        if not seen.any():
            return None
        unit = size[seen]
        values, directions = np.linalg.eigh(self.beyond[np.ix_(seen, seen)] / np.outer(unit, unit))
        new = values > OWN
        if not new.any():
            return None
        along, judged = (directions[:, new].T @ (self.moments[seen] / unit[:, None])).T
        coefficients = np.zeros(len(size))
        coefficients[seen] = directions[:, new] @ (along / values[new]) / unit
        return Explained(
            float(np.sum(judged**2 / values[new])), int(new.sum()), float(np.sum(along**2 / values[new])), coefficients
        )


def log_probability(explained: float, factors: int, freedom: float) -> float:
    """Natural logarithm of the probability that chance explains as much: an F test, for rows may be few.

    Parameters
    ----------
    explained : square, of ``factors`` degrees by chance
    freedom : degrees of freedom of the residuals, whose squares are 1 in the mean
    """
    left = freedom - factors
    if left < 1.0:
        return 0.0
    rest = max(freedom - explained, 1e-3 * freedom) / left
    return float(f_distribution.logsf(explained / factors / rest, factors, left))


def inflation(autocorrelation: Array) -> Array:
    """How much more (A,) a sum of correlated residuals varies than one of independent ones (Bartlett).

    Parameters
    ----------
    autocorrelation : (K + 1, A) at lags 0..K
    """
    lags = np.arange(1, len(autocorrelation))
    taper = 1.0 - lags / len(autocorrelation)
    return np.asarray(np.sqrt(np.maximum(1.0, 1.0 + 2.0 * taper @ np.nan_to_num(autocorrelation[1:]))))
