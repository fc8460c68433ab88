"""Observation matrix of a mechanism in coordinates of a user's own (Jourdain's principle on Newton and Euler)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError, KinematicsError
from pkm_description.machine import INERTIAL_PARAMETERS

from pkm_identification.columns.own_equations.constraints import Constraints, OwnMotion
from pkm_identification.columns.own_equations.differences import jacobian, second_along
from pkm_identification.columns.term import JointSamples, Term

#: position (N, 3) m and rotation (N, 3, 3) of a body's frame, in a frame that does not move, by coordinates (N, n)
BodyMap = Callable[[Array], tuple[Array, Array]]

#: a multiplier below this part of the largest one is zero: what the differences leave
SILENT = 1e-8


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
        """Generalised forces (N, n, 10) of one body."""
        q, step = motion.position, self.constraints.step

        def place(at: Array) -> Array:  # position and the nine entries of the rotation
            position, rotation = body(at)
            return np.concatenate([position, np.asarray(rotation).reshape(len(at), 9)], axis=1)

        rotation = place(q)[:, 3:].reshape(-1, 3, 3)
        if np.abs(rotation @ np.swapaxes(rotation, 1, 2) - np.eye(3)).max() > 1e-9:
            raise ArgumentError(f'bodies: the rotation of {name} is not orthogonal')
        slopes = jacobian(place, q, step)
        second = second_along(place, q, motion.velocity, step)
        first = np.einsum('npi,ni->np', slopes, motion.velocity)
        second = second + np.einsum('npi,ni->np', slopes, motion.acceleration)
        inverse = np.swapaxes(rotation, 1, 2)
        turns = slopes[:, 3:].reshape(len(q), 3, 3, -1)
        about = np.einsum('nabi,ncb->naci', turns, rotation)  # d/dq_i R, times R^T: a cross product
        angular = np.stack([about[:, 2, 1], about[:, 0, 2], about[:, 1, 0]], axis=1)
        spin = _vector(first[:, 3:].reshape(-1, 3, 3) @ inverse)
        turning = second[:, 3:].reshape(-1, 3, 3) @ inverse - _cross(spin) @ _cross(spin)
        local = [np.einsum('nab,na->nb', rotation, vector) for vector in (
            second[:, :3] - np.asarray(self.gravity), spin, _vector(turning))]  # fmt: skip
        wrench = body_wrench(*local)
        pulls = np.einsum('nab,nai->nbi', rotation, slopes[:, :3]), np.einsum('nab,nai->nbi', rotation, angular)
        return np.asarray(
            np.einsum('nai,nap->nip', pulls[0], wrench[:, :3]) + np.einsum('nai,nap->nip', pulls[1], wrench[:, 3:])
        )


def body_wrench(acceleration: Array, spin: Array, turning: Array) -> Array:
    """Force and moment (N, 6, 10) at a body's frame per unit of its parameters, all in its axes.

    Parameters
    ----------
    acceleration : (N, 3) m/s^2 of the frame's origin, without gravity
    spin, turning : (N, 3) angular velocity and acceleration, rad/s and rad/s^2
    """
    found = np.zeros((len(spin), 6, 10))
    found[:, :3, 0] = acceleration
    found[:, :3, 1:4] = _cross(turning) + _cross(spin) @ _cross(spin)
    found[:, 3:, 1:4] = -_cross(acceleration)
    found[:, 3:, 4:] = _inertia_times(turning) + _cross(spin) @ _inertia_times(spin)
    return found


def _inertia_times(vector: Array) -> Array:
    """``L(w)`` (N, 3, 6) with ``L(w) (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) = I w``."""
    x, y, z = vector.T
    none = np.zeros_like(x)
    rows = [[x, y, z, none, none, none], [none, x, none, y, z, none], [none, none, x, none, y, z]]
    return np.moveaxis(np.array(rows), 2, 0)


def _cross(vector: Array) -> Array:
    x, y, z = vector.T
    none = np.zeros_like(x)
    return np.moveaxis(np.array([[none, -z, y], [z, none, -x], [-y, x, none]]), 2, 0)


def _vector(cross: Array) -> Array:
    return np.stack([cross[:, 2, 1], cross[:, 0, 2], cross[:, 1, 0]], axis=1)
