"""Numerical base parameters: the identifiable combinations of the dynamic parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from pkm_description.arrays import Array

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class BaseParameters:
    """A minimal parameter set and how it follows from the full one.

    Attributes
    ----------
    full_names : names of all P parameters
    independent : (B,) indices of the parameters that head the combinations, ascending
    dependent : indices of parameters that produce forces, but none that the independent ones do not produce
    absent : indices of parameters that never produce a force
    combination : (B, P) matrix K, ``base = K @ full``; forces are the same for all ``full`` with equal ``base``
    singular_values : of the column-normalised observation matrix without absent columns, descending
    """

    full_names: tuple[str, ...]
    independent: Indices
    dependent: Indices
    absent: Indices
    combination: Array
    singular_values: Array

    def __len__(self) -> int:
        return len(self.independent)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """B readable combinations, e.g. ``platform_link.m + 6 leg_rod.m``."""
        return self.texts()

    @property
    def gap(self) -> float:
        """Smallest singular value that counts over the largest that does not; infinite if all count.

        Near 1 the number of base parameters depends on the tolerance; some 1e4 and more make it certain.
        """
        rank, values = len(self), self.singular_values
        if rank == 0 or rank == len(values):
            return np.inf
        return float(values[rank - 1] / max(values[rank], np.finfo(float).tiny))

    def columns(self, observation: Array) -> Array:
        """Columns (..., B) of a full observation matrix (..., P) that belong to the base parameters."""
        return observation[..., self.independent]

    def values(self, full: Array) -> Array:
        """Base parameters (B,) of full parameters (P,)."""
        return self.combination @ full

    def texts(self, digits: int = 4) -> tuple[str, ...]:
        """B combinations, their factors with so many significant digits."""
        heads = zip(self.combination, self.independent, strict=True)
        return tuple(linear_text(row, self.full_names, first=int(head), digits=digits) for row, head in heads)

    @cached_property
    def null_directions(self) -> Array:
        """Changes (P - B, P) of the full parameters that no force shows, a basis; absent parameters first.

        Each changes one dependent (or absent) parameter by one and the independent ones so that forces stay.
        """
        free = np.concatenate([self.absent, self.dependent])
        directions = np.zeros((len(free), len(self.full_names)))
        directions[np.arange(len(free)), free] = 1.0
        directions[:, self.independent] = -self.combination[:, free].T
        return directions

    def null_texts(self, digits: int = 4) -> tuple[str, ...]:
        """Rows of :attr:`null_directions`, readable: ``platform_link.m - 6 leg_rod.m`` changes no force."""
        free = np.concatenate([self.absent, self.dependent])
        return tuple(
            linear_text(row, self.full_names, first=int(head), digits=digits)
            for row, head in zip(self.null_directions, free, strict=True)
        )


def reduce_parameters(
    observation: Array,
    names: Sequence[str],
    tolerance: float = 1e-8,
    preference: float = 0.05,
    preferred: Sequence[str] = (),
    eliminated: Sequence[str] = (),
    absence: float = 1e-14,
) -> BaseParameters:
    """Find the base parameters of an observation matrix by SVD and QR with column pivoting (Gautier 1991).

    Columns are scaled to unit norm, so tolerances are relative and no unit matters. Singular values give the
    number of base parameters. Columns that head the combinations are picked one by one: the first column, in
    the given order, whose remaining norm is at least ``preference`` times the largest one. So equal or nearly
    equal candidates are always decided by the order of ``names``, never by rounding.

    Parameters
    ----------
    observation : (M, P), from states that excite everything that can be excited
    names : P parameter names
    tolerance : singular value, relative to the largest, up to which a combination counts as unobservable
    preference : see above; 1 is the classical largest pivot
    preferred : names or patterns (``leg?_rod.m``) of parameters that head combinations if they can
    eliminated : names or patterns of parameters that are regrouped into others if they can be
    absence : norm of a column, relative to the largest, up to which it is rounding of zero; may be larger where all
        parameters are of the same order of magnitude in their units

    Returns
    -------
    BaseParameters

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite, or a pattern matches no name.
    """
    observation = np.asarray(observation, dtype=float)
    if observation.ndim != 2 or observation.shape[1] != len(names):
        raise ValueError(f'observation matrix has shape {observation.shape}, expected (M, {len(names)})')
    if not np.all(np.isfinite(observation)):
        raise ValueError('observation matrix holds NaN or infinite entries')
    tier = _tiers(names, preferred, eliminated)
    norms = np.linalg.norm(observation, axis=0)
    absent = norms <= absence * norms.max(initial=0.0)
    scaled = observation / np.where(absent, 1.0, norms)
    scaled[:, absent] = 0.0
    # R of a QR holds the same inner products as the matrix, in at most P rows
    compact = np.asarray(np.linalg.qr(scaled, mode='r'))
    present = np.flatnonzero(~absent)
    singular_values = np.linalg.svd(compact[:, present], compute_uv=False)
    rank = int(np.count_nonzero(singular_values > tolerance * singular_values.max(initial=0.0)))
    independent = np.sort(_pivot_columns(compact, rank, tier, tolerance, preference))
    dependent = np.setdiff1d(present, independent)

    # with the independent columns in front, R12 = Q1^T A2, so A2 = A1 (R11^-1 R12) and base = p1 + X p2
    orthogonal, triangle = np.linalg.qr(compact[:, independent])
    regrouping = solve_triangular(triangle, orthogonal.T @ compact[:, dependent])
    noise = 1e3 * np.finfo(float).eps * np.linalg.cond(triangle) if rank else 0.0
    regrouping[np.abs(regrouping) < max(tolerance, noise)] = 0.0  # relative, because columns are scaled
    combination = np.zeros((len(independent), len(names)))
    combination[np.arange(len(independent)), independent] = 1.0
    combination[:, dependent] = regrouping * norms[dependent] / norms[independent][:, None]
    return BaseParameters(tuple(names), independent, dependent, np.flatnonzero(absent), combination, singular_values)


def matching_names(names: Sequence[str], patterns: Sequence[str], what: str) -> NDArray[np.bool_]:
    """Which names (P,) match any of the patterns; raises ValueError for a pattern that matches none."""
    result = np.zeros(len(names), dtype=bool)
    for pattern in patterns:
        found = np.array([fnmatchcase(name, pattern) for name in names], dtype=bool)
        if not found.any():
            shown = ', '.join(names[:3])
            raise ValueError(f'{what}: {pattern!r} matches none of the {len(names)} names ({shown}, ...)')
        result |= found
    return result


def _tiers(names: Sequence[str], preferred: Sequence[str], eliminated: Sequence[str]) -> Indices:
    """0 for columns to take first, 1 for ordinary ones, 2 for those to take last."""
    first, last = matching_names(names, preferred, 'preferred'), matching_names(names, eliminated, 'eliminated')
    both = np.flatnonzero(first & last)
    if len(both):
        raise ValueError(f'{names[both[0]]} is both preferred and eliminated')
    return np.where(first, 0, np.where(last, 2, 1))


def _pivot_columns(compact: Array, rank: int, tier: Indices, tolerance: float, preference: float) -> Indices:
    """Indices of ``rank`` independent columns by modified Gram-Schmidt with threshold pivoting, tier by tier."""
    remaining = compact.copy()
    chosen: list[int] = []
    for level in range(3):
        members = np.flatnonzero(tier == level)
        # one rank-one update per base parameter, at most P
        while len(chosen) < rank and len(members):
            norms = np.linalg.norm(remaining[:, members], axis=0)
            if norms.max() <= tolerance:
                break
            place = int(np.flatnonzero(norms >= preference * norms.max())[0])
            pivot = int(members[place])
            direction = remaining[:, pivot] / norms[place]
            for _ in range(2):  # the second pass removes what rounding left
                remaining = remaining - np.outer(direction, direction @ remaining)
            remaining[:, pivot] = 0.0
            chosen.append(pivot)
    return np.array(chosen, dtype=np.intp)


def linear_text(factors: Array, names: Sequence[str], first: int | None = None, digits: int = 4) -> str:
    """Text such as ``leg_rod.m + 0.5 platform_link.mx - leg_rod.Ixx``.

    Parameters
    ----------
    factors : (P,)
    names : P names
    first : index of the parameter to begin with; otherwise in the order of names
    digits : significant digits of the factors
    """
    order = [int(index) for index in np.flatnonzero(factors)]
    if first in order:
        order = [first, *(index for index in order if index != first)]
    text = ''
    for index in order:
        number = f'{abs(factors[index]):.{digits}g}'
        term = names[index] if number == '1' else f'{number} {names[index]}'
        negative = bool(factors[index] < 0.0)
        text += (f' {"-" if negative else "+"} ' if text else '-' * negative) + term
    return text or '0'
