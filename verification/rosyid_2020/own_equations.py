"""Mechanisms in coordinates held together by constraints that are functions (R2-03, R2-09; Rosyid, Eqs. 10 to 15).

With coordinates q (n), constraints c(q) = 0 (m) and driven coordinates (d = n - m), all motion follows from that of the
driven ones: ``B q' = 0`` and ``B q'' + B' q' = 0`` with ``B = dc/dq``, so ``q' = K q_a'`` where the columns of K, one
per driven coordinate, are a basis of the null space of B (natural orthogonal complement). Nothing of the library's
kinematics and dynamics is used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import rigid_body_parameter_names, rigid_body_regressor
from pkm_description.errors import ConvergenceError, KinematicsError, SingularPoseError
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import INERTIAL_PARAMETERS, Machine, PlatformMotion
from pkm_description.machine.machine import with_gravity

from verification.check import Check, at_most, equal, refused, relative_error
from verification.rosyid_2020.dynamics import PlanarDynamics
from verification.rosyid_2020.model import ACTIVE, PlanarGeometry, PlanarSamples
from verification.rosyid_2020.table import embedding

#: names of the paper's twelve coordinates
NAMES = ('x1', 'x2', 'x3', 'y1', 'y2', 'y3', 'a1', 'a2', 'a3', 'x', 'y', 'theta')
#: m/s^2, down in the plane of motion
_GRAVITY = (0.0, -9.81, 0.0)

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
        return np.asarray(self.function(q), dtype=float)

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
    :data:`pkm_description.machine.INERTIAL_PARAMETERS`.

    Attributes
    ----------
    constraints : see the class
    bodies : map of each body by name
    gravity : (3,) m/s^2
    """

    constraints: Constraints
    bodies: Mapping[str, BodyMap]
    gravity: Sequence[float]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the P parameters."""
        return tuple(f'{body}.{name}' for body in self.bodies for name in INERTIAL_PARAMETERS)

    def observation(self, motion: OwnMotion) -> Array:
        """Observation matrix (N, d, P): forces of the drives per unit of each parameter."""
        transmission = self.constraints.transmission(motion.position)
        return np.einsum('nij,nip->njp', transmission, self.generalised(motion))

    def generalised(self, motion: OwnMotion) -> Array:
        """Generalised forces (N, n, 10 bodies) in all coordinates per unit of each inertial parameter."""
        return np.concatenate([self._of_body(body, motion) for body in self.bodies.values()], axis=-1)

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
        return np.asarray(self.multipliers(motion)[:, list(places)] @ parameters)

    def _of_body(self, body: BodyMap, motion: OwnMotion) -> Array:
        """Generalised forces (N, n, 10) of one body: ``tr(dT/dq_i J (T'' - G)')`` (Uicker 1965).

        T (3, 4) is rotation and position of its frame, J its pseudo-inertia, G gravity in the column of the position.
        """
        q, step = motion.position, self.constraints.step

        def place(at: Array) -> Array:
            position, rotation = body(at)
            return np.concatenate([rotation, np.asarray(position)[..., None]], axis=2)

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


def equations_of(geometry: PlanarGeometry, machine: Machine, analytic: bool) -> OwnEquations:
    """The paper's 3-PRR as a user writes it; bodies and their frames are those of the machine file.

    Parameters
    ----------
    analytic : give the paper's constraint Jacobian, too; else the library differentiates
    """
    constraints = Constraints(NAMES, NAMES[:3], geometry.closure, geometry.jacobian if analytic else None)
    bodies: dict[str, BodyMap] = {machine.platform.name: lambda q: _planar(q[:, 9], q[:, 10], q[:, 11])}
    for leg, joints in enumerate(one.joints for one in machine.legs):

        def slider(q: Array, leg: int = leg) -> tuple[Array, Array]:
            return _planar(q[:, leg], _across(geometry, q, leg), np.zeros(len(q)))

        def rod(q: Array, leg: int = leg) -> tuple[Array, Array]:
            return _planar(q[:, leg], _across(geometry, q, leg), q[:, 6 + leg])

        bodies[joints[0].body.name], bodies[joints[1].body.name] = slider, rod
    return OwnEquations(constraints, bodies, _GRAVITY)


def own_equation_checks(
    machine: Machine, geometry: PlanarGeometry, samples: PlanarSamples, motion: PlatformMotion
) -> Iterator[Check]:
    """Closure, motion and observation matrix of the user's functions; silent guides.

    Parameters
    ----------
    motion : the same states as the library has them
    """
    machine = with_gravity(machine, np.array(_GRAVITY))
    q, velocity, acceleration = samples.q, samples.velocity, samples.acceleration
    names = rigid_body_parameter_names(machine, identical_legs=False)
    library = rigid_body_regressor(machine, motion, identical_legs=False)
    for analytic, how in ((True, "the paper's Jacobian"), (False, 'differences')):
        own = equations_of(geometry, machine, analytic)
        found = own.constraints.motion(q[:, ACTIVE], velocity[:, ACTIVE], acceleration[:, ACTIVE], q[0])
        yield at_most('R2-03', f'closure of constraints as functions, {how}', 1e-10, found.position - q)
        error = relative_error(found.acceleration, acceleration)
        yield at_most('R2-03', f'accelerations of all coordinates, {how}, relative', 1e-9, error)
        places = [own.names.index(name) for name in names]
        error = relative_error(own.observation(found)[..., places], library)
        what = f"observation matrix in own coordinates = the machine file's, {how}, relative"
        yield at_most('R2-03', what, 1e-9, error)

    parameters = np.random.default_rng(0).uniform(1.0, 2.0, 16)
    inertial = (embedding(list(own.names), machine)) @ parameters
    _, multipliers = PlanarDynamics(geometry, parameters, np.array(_GRAVITY[:2])).inverse_by_partition(
        q, velocity, acceleration[:, ACTIVE]
    )
    error = relative_error(own.reactions(found, inertial, range(3)), multipliers[:, :3])
    yield at_most('R2-09', "guide forces of the functions = the paper's multipliers, relative", 1e-9, error)
    silent = own.silent_constraints(found).tolist()
    yield equal('R2-09', 'constraints of the corrected form that are silent', [], silent)
    printed = equations_of(dataclasses.replace(geometry, printed=True), machine, analytic=False)
    silent = printed.silent_constraints(found).tolist()
    yield equal('R2-09', 'constraints of the printed form that are silent', [0, 1, 2], silent)
    what = 'guide forces of the printed form, as functions'
    yield refused('R2-09', what, KinematicsError, printed.reactions, found, inertial, [0])


def _across(geometry: PlanarGeometry, q: Array, leg: int) -> Array:
    """Height of a slider; the printed energies do not know it."""
    return np.zeros(len(q)) if geometry.printed else q[:, 3 + leg]


def _planar(x: Array, y: Array, angle: Array) -> tuple[Array, Array]:
    none = np.zeros_like(x)
    return np.stack([x, y, none], axis=1), rotation_exp(np.stack([none, none, angle], axis=1))
