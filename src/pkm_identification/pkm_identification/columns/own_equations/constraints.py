"""Mechanisms in coordinates of a user's own, held together by constraints that are functions (Rosyid, Eqs. 10 to 15).

With coordinates q (n), constraints c(q) = 0 (m) and driven coordinates (d = n - m), all motion follows from that of the
driven ones: ``B q' = 0`` and ``B q'' + B' q' = 0`` with ``B = dc/dq``, so ``q' = K q_a'`` where the columns of K, one
per driven coordinate, are a basis of the null space of B (natural orthogonal complement).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError, ConvergenceError, ShapeError, SingularPoseError

from pkm_identification.columns.own_equations.differences import Function, jacobian, second_along

#: largest constraint error of a closed mechanism, of the size of its coordinates
CLOSED = 1e-11
#: steps from the start to the wanted positions, and of Newton at each
PATH, NEWTON = 10, 12
#: condition number above which the driven coordinates no longer determine the others
SINGULAR = 1e9


@dataclass(frozen=True)
class OwnMotion:
    """Coordinates (N, n) of a mechanism with their first and second time derivatives."""

    position: Array
    velocity: Array
    acceleration: Array

    def __len__(self) -> int:
        return len(self.position)


@dataclass(frozen=True)
class Constraints:
    """Coordinates and constraints of a mechanism.

    Attributes
    ----------
    coordinates : names of the n coordinates, m or rad
    driven : names of those that have drives, d = n - m of them; their forces are N and N m
    function : constraint errors (N, m) of coordinates (N, n); zero where the mechanism is closed
    given_jacobian : (N, m, n) of coordinates; default: central differences of sixth order
    step : of the differences, m and rad
    """

    coordinates: Sequence[str]
    driven: Sequence[str]
    function: Function
    given_jacobian: Callable[[Array], Array] | None = None
    step: float = 5e-3

    def __post_init__(self) -> None:
        unknown = [name for name in self.driven if name not in self.coordinates]
        if unknown:
            raise ArgumentError(f'driven: {unknown[0]!r} is no coordinate; there are {", ".join(self.coordinates)}')

    @cached_property
    def active(self) -> NDArray[np.intp]:
        """Places of the driven coordinates."""
        return np.array([list(self.coordinates).index(name) for name in self.driven], dtype=np.intp)

    @cached_property
    def passive(self) -> NDArray[np.intp]:
        """Places of the others."""
        return np.setdiff1d(np.arange(len(self.coordinates)), self.active)

    def errors(self, q: Array) -> Array:
        """Constraint errors (N, m)."""
        found = np.asarray(self.function(q), dtype=float)
        wanted = len(q), len(self.passive)
        if found.shape != wanted:
            raise ShapeError('constraints(q)', f'{wanted}: {len(self.coordinates)} coordinates, {len(self.driven)} of '
                             'them driven, need as many constraints as there are others', found.shape)  # fmt: skip
        return found

    def jacobian(self, q: Array) -> Array:
        """Constraint Jacobian B (N, m, n)."""
        if self.given_jacobian is None:
            return jacobian(self.errors, q, self.step)
        return np.asarray(self.given_jacobian(q), dtype=float)

    def drift(self, q: Array, velocity: Array) -> Array:
        """``B' q'`` (N, m)."""
        return second_along(self.errors, q, velocity, self.step)

    def closed(self, driven: Array, start: Array) -> Array:
        """Coordinates (N, n) with driven ones (N, d), by Newton along straight ways from a start.

        Parameters
        ----------
        start : (n,) coordinates near a closed configuration: they choose the assembly mode

        Raises
        ------
        SingularPoseError, ConvergenceError
            Naming the sample.
        """
        q = np.repeat(np.asarray(start, dtype=float)[None], len(driven), axis=0)
        begin = q[:, self.active].copy()
        for part in np.linspace(0.0, 1.0, PATH + 1):
            q[:, self.active] = (1.0 - part) * begin + part * driven
            for _ in range(NEWTON):
                left = self.errors(q)
                if np.abs(left).max() < CLOSED * max(1.0, float(np.abs(q).max())):
                    break
                q[:, self.passive] -= np.linalg.solve(self._dependent(q), left[..., None])[..., 0]
            else:
                worst = int(np.argmax(np.abs(left).max(axis=1)))
                raise ConvergenceError(
                    f'sample {worst}: the constraints do not close ({np.abs(left[worst]).max():.3g} left) on the way '
                    f'from the start to {dict(zip(self.driven, driven[worst].tolist(), strict=True))}; give a start on '
                    'the same assembly mode, or check the constraints'
                )
        # one more step is exact to rounding, for the convergence is quadratic
        q[:, self.passive] -= np.linalg.solve(self._dependent(q), self.errors(q)[..., None])[..., 0]
        return q

    def motion(self, driven: Array, rates: Array, accelerations: Array, start: Array) -> OwnMotion:
        """Motion of all coordinates by positions, rates and accelerations (N, d) of the driven ones."""
        q = self.closed(driven, start)
        velocity = np.einsum('nij,nj->ni', self.transmission(q), rates)
        acceleration = np.zeros_like(velocity)
        acceleration[:, self.active] = accelerations
        right = self.drift(q, velocity) + np.einsum('nij,nj->ni', self.jacobian(q)[..., self.active], accelerations)
        acceleration[:, self.passive] = -np.linalg.solve(self._dependent(q), right[..., None])[..., 0]
        return OwnMotion(q, velocity, acceleration)

    def transmission(self, q: Array) -> Array:
        """K (N, n, d): velocities of all coordinates per unit of those of the driven ones; ``B K = 0``."""
        found = np.zeros((*q.shape, len(self.driven)))
        found[:, self.active, np.arange(len(self.driven))] = 1.0
        found[:, self.passive] = -np.linalg.solve(self._dependent(q), self.jacobian(q)[..., self.active])
        return found

    def multipliers(self, q: Array, forces: Array) -> Array:
        """Multipliers (N, m, ...) that hold the passive coordinates against generalised forces (N, n, ...).

        ``B^T multipliers = forces`` in the passive coordinates, as of ``M q'' + N = Q + B^T lambda`` (Rosyid, Eq. 14).
        """
        flat = forces.reshape(*forces.shape[:2], -1)[:, self.passive]
        found = np.linalg.solve(np.swapaxes(self._dependent(q), 1, 2), flat)
        return np.asarray(found.reshape(len(q), -1, *forces.shape[2:]))

    def _dependent(self, q: Array) -> Array:
        """Jacobian (N, m, m) by the passive coordinates."""
        found = self.jacobian(q)[..., self.passive]
        condition = np.linalg.cond(found)
        if not np.all(condition < SINGULAR):
            worst = int(np.argmax(np.nan_to_num(condition, nan=np.inf)))
            raise SingularPoseError(
                f'sample {worst}: the driven coordinates do not determine the others (condition number '
                f'{condition[worst]:.2g}): a singular pose, or a constraint that says nothing new'
            )
        return found
