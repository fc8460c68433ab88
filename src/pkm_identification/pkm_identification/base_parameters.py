"""Base parameters: the combinations of dynamic parameters that forces can tell apart, found numerically."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BaseParameters:
    """A minimal parameter set and how it follows from the full one.

    Attributes
    ----------
    full_names : names of all P parameters
    independent : (B,) indices of the parameters that head the combinations, ascending
    absent : indices of parameters that never produce a force
    combination : (B, P) matrix K, ``base = K @ full``; forces are the same for all ``full`` with equal ``base``
    names : B readable combinations, e.g. ``platform_link.m + 6 leg_rod.m``
    """

    full_names: tuple[str, ...]
    independent: NDArray[np.intp]
    absent: NDArray[np.intp]
    combination: Array
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.independent)

    def columns(self, observation: Array) -> Array:
        """Columns (..., B) of a full observation matrix (..., P) that belong to the base parameters."""
        return observation[..., self.independent]

    def values(self, full: Array) -> Array:
        """Base parameters (B,) of full parameters (P,)."""
        return self.combination @ full


def reduce_parameters(
    observation: Array, names: Sequence[str], tolerance: float = 1e-8, preference: float = 0.05
) -> BaseParameters:
    """Find the base parameters of an observation matrix by QR with column pivoting (Gautier 1991).

    Columns are scaled to unit norm, so the tolerance is relative and no unit matters. The pivot is the first
    column, in the given order, whose remaining norm is at least ``preference`` times the largest one: equal
    or nearly equal candidates are always decided by the order of ``names``, never by rounding, and the
    parameters named first head the combinations.

    Parameters
    ----------
    observation : (M, P), from states that excite everything that can be excited
    names : P parameter names
    tolerance : remaining norm (of 1) below which a column counts as dependent
    preference : see above; 1 is the classical largest pivot

    Returns
    -------
    BaseParameters
    """
    observation = np.asarray(observation, dtype=float)
    if observation.ndim != 2 or observation.shape[1] != len(names):
        raise ValueError(f'observation matrix has shape {observation.shape}, expected (M, {len(names)})')
    if not np.all(np.isfinite(observation)):
        raise ValueError('observation matrix holds NaN or infinite entries')
    norms = np.linalg.norm(observation, axis=0)
    absent = norms <= tolerance * norms.max(initial=0.0) * 1e-6
    scaled = observation / np.where(absent, 1.0, norms)
    scaled[:, absent] = 0.0
    independent = np.sort(_pivot_columns(scaled, tolerance, preference))
    present = np.flatnonzero(~absent)
    dependent = np.setdiff1d(present, independent)

    # with the independent columns in front, R12 = Q1^T A2, so A2 = A1 (R11^-1 R12) and base = p1 + X p2
    orthogonal, triangle = np.linalg.qr(scaled[:, independent])
    regrouping = solve_triangular(triangle, orthogonal.T @ scaled[:, dependent])
    regrouping[np.abs(regrouping) < 1e3 * tolerance] = 0.0  # relative, because columns are scaled
    combination = np.zeros((len(independent), len(names)))
    combination[np.arange(len(independent)), independent] = 1.0
    combination[:, dependent] = regrouping * norms[dependent] / norms[independent][:, None]
    return BaseParameters(
        tuple(names), independent, np.flatnonzero(absent), combination, _readable(combination, independent, names)
    )


def _pivot_columns(scaled: Array, tolerance: float, preference: float) -> NDArray[np.intp]:
    """Indices of independent columns by modified Gram-Schmidt with threshold pivoting."""
    # R of a QR holds the same inner products in at most P rows
    remaining: Array = np.linalg.qr(scaled, mode='r')  # type: ignore[assignment]
    chosen: list[int] = []
    for _ in range(remaining.shape[1]):  # one rank-one update per base parameter, at most P
        norms = np.linalg.norm(remaining, axis=0)
        if norms.max() <= tolerance:
            break
        pivot = int(np.flatnonzero(norms >= preference * norms.max())[0])
        direction = remaining[:, pivot] / norms[pivot]
        for _ in range(2):  # the second pass removes what rounding left
            remaining = remaining - np.outer(direction, direction @ remaining)
        remaining[:, pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, dtype=np.intp)


def _readable(combination: Array, independent: NDArray[np.intp], names: Sequence[str]) -> tuple[str, ...]:
    """Combinations as text, the heading parameter first."""
    texts = []
    for row, head in zip(combination, independent, strict=True):
        text = names[head]
        for index in map(int, np.flatnonzero(row)):
            if index == head:
                continue
            factor = abs(row[index])
            number = '' if abs(factor - 1.0) < 1e-6 else f'{factor:.4g} '
            text += f' {"+" if row[index] > 0 else "-"} {number}{names[index]}'
        texts.append(text)
    return tuple(texts)
