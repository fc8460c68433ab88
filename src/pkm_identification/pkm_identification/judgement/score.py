"""Score test (Rao 1948) of whether the residuals of a fit go with columns that it does not have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from scipy.special import fdtrc

#: part of a column's square beyond the fitted columns up to which it counts as one of them
OWN = 1e-3


@dataclass(frozen=True)
class Products:
    """Inner products of K columns that are offered to a fit of B parameters, all weighted alike.

    Attributes
    ----------
    squares : (K, K) with each other
    inside : (B, K) with an orthonormal basis of the fitted columns
    moments : (K, A) with the residuals of each drive
    """

    squares: Array
    inside: Array
    moments: Array

    @classmethod
    def of(cls, offered: Array, basis: Array, residuals: Array) -> Products:
        """Products of rows (M, K), (M, B), (M, A)."""
        count = offered.shape[1]
        total = np.concatenate([offered, basis, residuals], axis=1).T @ offered
        squares, inside, moments = np.split(total, [count, count + basis.shape[1]])
        return cls(squares, inside, moments.T)

    def __add__(self, other: Products) -> Products:
        """Products of the rows of both."""
        return Products(self.squares + other.squares, self.inside + other.inside, self.moments + other.moments)

    def combined(self, sums: Array) -> Products:
        """Those of sums (K, G) of the columns."""
        return Products(sums.T @ self.squares @ sums, self.inside @ sums, sums.T @ self.moments)


@dataclass(frozen=True)
class Explained:
    """What columns explain of the residuals, along F directions that the fit does not have.

    Attributes
    ----------
    directions : (K, F) factors of the columns, whose forces beyond the fitted columns are orthonormal
    along, judged : (F,) of the residuals, as they are and as they are judged
    """

    directions: Array
    along: Array
    judged: Array

    @property
    def chi_square(self) -> float:
        """Square of the judged residuals that is explained: chi-square with F degrees by chance."""
        return float(self.judged @ self.judged)

    @property
    def power(self) -> float:
        """Square of the residuals as they are that is explained."""
        return float(self.along @ self.along)

    @property
    def factors(self) -> Array:
        """Factors (K,) of the columns."""
        return np.asarray(self.directions @ self.along)

    def changes(self, moved: Array) -> Array:
        """Changes (B,) of the fitted parameters with all of it, beyond what noise of the factors makes of them.

        Parameters
        ----------
        moved : (B, F) changes with one unit along each direction
        """
        changes = moved @ self.along
        return np.asarray(np.sign(changes) * np.sqrt(np.maximum(changes**2 - np.sum(moved**2, axis=1), 0.0)))


@dataclass(frozen=True)
class Evidence:
    """Products of columns with each other and with the residuals, without what the fitted columns have of them.

    Evidence of several recordings adds up: each with a fit of its own, the columns with the same factors.

    Attributes
    ----------
    sizes : (K,) squares of whole columns
    beyond : (K, K)
    moments : (K, 2) with the residuals: as they are, and as they are judged
    """

    sizes: Array
    beyond: Array
    moments: Array

    @classmethod
    def of(cls, products: Products, deviations: Array | float = 1.0) -> Evidence:
        """Evidence of one recording, residuals of the drives judged by their ``deviations`` (A,)."""
        beyond = products.squares - products.inside.T @ products.inside
        moments = products.moments, products.moments / deviations
        return cls(np.diag(products.squares).copy(), beyond, np.stack([one.sum(axis=1) for one in moments], axis=1))

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
        squares, vectors = np.linalg.eigh(self.beyond[np.ix_(seen, seen)] / np.outer(unit, unit))
        new = squares > OWN
        if not new.any():
            return None
        directions = np.zeros((len(size), int(new.sum())))
        directions[seen] = vectors[:, new] / np.sqrt(squares[new]) / unit[:, None]
        along, judged = (directions.T @ self.moments).T
        return Explained(directions, along, judged)


def log_probability(explained: Explained, freedom: float, with_it: bool = False) -> float:
    """Natural logarithm of the probability that chance explains as much: an F test, for rows may be few.

    Parameters
    ----------
    freedom : degrees of freedom of the residuals, whose squares are 1 in the mean
    with_it : whether residuals are judged by what the columns leave of them, whose squares are ``freedom`` then
    """
    factors, square = len(explained.judged), explained.chi_square
    left = freedom - factors
    if left < 1.0:
        return 0.0
    rest = (freedom if with_it else max(freedom - square, 1e-3 * freedom)) / left
    with np.errstate(divide='ignore'):  # beyond the smallest number: -inf
        return float(np.log(fdtrc(factors, left, square / factors / rest)))


def inflation(autocorrelation: Array) -> Array:
    """How much more (A,) a sum of correlated residuals varies than one of independent ones (Bartlett).

    Parameters
    ----------
    autocorrelation : (K + 1, A) at lags 0..K
    """
    taper = 1.0 - np.arange(1, len(autocorrelation)) / len(autocorrelation)
    return np.asarray(np.sqrt(np.maximum(1.0, 1.0 + 2.0 * taper @ np.nan_to_num(autocorrelation[1:]))))
