"""Mechanisms in coordinates of a user's own, held together by constraints that are functions (Rosyid, Eqs. 10 to 15).

With coordinates q (n), constraints c(q) = 0 (m) and driven coordinates (d = n - m), all motion follows from that of the
driven ones: ``B q' = 0`` and ``B q'' + B' q' = 0`` with ``B = dc/dq``, so ``q' = K q_a'`` where the columns of K, one
per driven coordinate, are a basis of the null space of B (natural orthogonal complement).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError, ConvergenceError, KinematicsError, ShapeError, SingularPoseError
from pkm_description.machine import INERTIAL_PARAMETERS

from pkm_identification.columns.term import JointSamples, Term

#: position (N, 3) m and rotation (N, 3, 3) of a body's frame, in a frame that does not move, by coordinates (N, n)
BodyMap = Callable[[Array], tuple[Array, Array]]

#: a multiplier below this part of the largest one is zero: what the differences leave
SILENT = 1e-8
#: places and weights of the first and the second derivative; error step^6 / 140 and step^6 / 560 of the eighth
PLACES = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
FIRST = np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0
SECOND = np.array([2.0, -27.0, 270.0, 270.0, -27.0, 2.0]) / 180.0

Function = Callable[[Array], Array]
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


def jacobian(function: Function, at: Array, step: float) -> Array:
    """Derivatives (N, ..., n) of a function (N, n) to (N, ...) by each coordinate."""
    columns = []
    for place in range(at.shape[1]):
        direction = np.zeros_like(at)
        direction[:, place] = 1.0
        columns.append(_along(function, at, direction, step, FIRST) / step)
    return np.stack(columns, axis=-1)


def second_along(function: Function, at: Array, direction: Array, step: float) -> Array:
    """Second derivative (N, ...) along a direction (N, n), whose length counts twice."""
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    unit = np.divide(direction, length, out=np.zeros_like(direction), where=length > 0.0)
    found = _along(function, at, unit, step, SECOND) / step**2
    return np.asarray(found * (length**2).reshape(-1, *[1] * (found.ndim - 1)))


def _along(function: Function, at: Array, direction: Array, step: float, weights: Array) -> Array:
    middle = np.asarray(function(at), dtype=float)  # what does not change has no derivative at all
    changes = [np.asarray(function(at + step * place * direction), dtype=float) - middle for place in PLACES]
    return np.asarray(sum(weight * change for weight, change in zip(weights, changes, strict=True)))


@dataclass(frozen=True)
class OwnEquations:
    """A mechanism of rigid bodies by functions: how its coordinates hold together, and where its bodies are.

    Ten parameters per body, about the origin of its frame and in its axes, as of
    :data:`pkm_description.machine.INERTIAL_PARAMETERS`; friction and further forces of the drives by the same terms as
    of machine files.

    Attributes
    ----------
    constraints : see the class
    bodies : map of each body by name
    gravity : (3,) m/s^2
    terms : forces of the drives, such as ``OneFactor(OFFSET, equations.constraints.driven)``
    """

    constraints: Constraints
    bodies: Mapping[str, BodyMap]
    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    terms: Sequence[Term] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the P parameters: of the bodies, then of the terms."""
        bodies = [f'{body}.{name}' for body in self.bodies for name in INERTIAL_PARAMETERS]
        return (*bodies, *(name for term in self.terms for name in term.names))

    def observation(self, motion: OwnMotion, lively: OwnMotion | None = None) -> Array:
        """Observation matrix (N, d, P): forces of the drives per unit of each parameter.

        Parameters
        ----------
        lively : less smoothed motion, for the signs of velocities; default: the same
        """
        transmission = self.constraints.transmission(motion.position)
        bodies = np.einsum('nij,nip->njp', transmission, self.generalised(motion))
        samples = self.joint_samples(motion, lively or motion)
        columns = [bodies]
        for term in self.terms:
            own = np.zeros((len(motion), len(self.constraints.driven), len(term.names)))
            own[:, term.column_places, np.arange(len(term.names))] = term.columns(samples)
            columns.append(own)
        return np.concatenate(columns, axis=-1)

    def generalised(self, motion: OwnMotion) -> Array:
        """Generalised forces (N, n, 10 bodies) in all coordinates per unit of each inertial parameter."""
        return np.concatenate([self._of_body(name, body, motion) for name, body in self.bodies.items()], axis=-1)

    def multipliers(self, motion: OwnMotion) -> Array:
        """Multipliers (N, m, 10 bodies) of the constraints per unit of each inertial parameter: reaction forces."""
        return self.constraints.multipliers(motion.position, self.generalised(motion))

    def silent_constraints(self, motion: OwnMotion) -> NDArray[np.intp]:
        """Places of the constraints whose multipliers are zero whatever the bodies: reactions that are not modelled.

        So it is with coordinates that appear in no other constraint and move no body (R2-09).
        """
        size = np.abs(self.multipliers(motion)).max(axis=(0, 2))
        return np.flatnonzero(size <= SILENT * size.max())

    def reactions(self, motion: OwnMotion, parameters: Array, places: Sequence[int]) -> Array:
        """Multipliers (N, R) of some constraints by inertial parameters, e.g. normal forces for friction.

        Raises
        ------
        KinematicsError
            If one of them is identically zero; says what its equations lack.
        """
        silent = [place for place in places if place in self.silent_constraints(motion)]
        if silent:
            raise KinematicsError(
                f'constraint {silent[0]}: its multiplier is identically zero, so it gives no reaction force; a '
                'coordinate that only this constraint holds must move bodies, too, and stand in the loops that pass it'
            )
        return np.asarray(self.multipliers(motion)[:, list(places)] @ parameters[: 10 * len(self.bodies)])

    def joint_samples(self, motion: OwnMotion, lively: OwnMotion) -> JointSamples:
        """What the drives do; efforts and loads, which some terms ask for, are not known."""
        unknown = [term.kind for term in self.terms if term.from_model or term.needs_loads]
        if unknown:
            raise ArgumentError(f'term {unknown[0]}: needs forces that own equations do not give')
        active = self.constraints.active
        signs = np.ones((len(motion), len(active)))
        return JointSamples(
            motion.position[:, active], motion.velocity[:, active], motion.acceleration[:, active],
            lively.velocity[:, active], signs,
        )  # fmt: skip

    def _of_body(self, name: str, body: BodyMap, motion: OwnMotion) -> Array:
        """Generalised forces (N, n, 10) of one body: ``tr(dT/dq_i J (T'' - G)')`` (Uicker 1965).

        T (3, 4) is rotation and position of its frame, J its pseudo-inertia, G gravity in the column of the position.
        """
        q, step = motion.position, self.constraints.step

        def place(at: Array) -> Array:
            position, rotation = body(at)
            return np.concatenate([rotation, np.asarray(position)[..., None]], axis=2)

        rotation = place(q)[..., :3]
        if np.abs(rotation @ np.swapaxes(rotation, 1, 2) - np.eye(3)).max() > 1e-9:
            raise ArgumentError(f'bodies: the rotation of {name} is not orthogonal')
        slopes = jacobian(place, q, step)
        second = second_along(place, q, motion.velocity, step) + np.einsum('nabi,ni->nab', slopes, motion.acceleration)
        second[..., 3] -= self.gravity
        return np.asarray(np.einsum('nabi,kbc,nac->nik', slopes, _pseudo_inertias(), second, optimize=True))


def _pseudo_inertias() -> Array:
    """Pseudo-inertias (10, 4, 4) of a body per unit of each of its parameters."""
    found = np.zeros((10, 4, 4))
    found[0, 3, 3] = 1.0
    found[(1, 2, 3), (0, 1, 2), 3] = found[(1, 2, 3), 3, (0, 1, 2)] = 1.0
    for place, (i, j) in enumerate(zip(*np.triu_indices(3), strict=True), start=4):
        found[place, i, j] = found[place, j, i] = -1.0
        if i == j:
            found[place, :3, :3] += 0.5 * np.eye(3)
    return found
