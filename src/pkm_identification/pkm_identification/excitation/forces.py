"""Drive forces as linear functions of parameters along a motion, and their exact derivatives by the motion.

A column of the observation matrix is the force of a machine that has one unit parameter and no others; a combination of
columns is the force of a machine with these parameters, whatever their signs. So the derivatives of the inverse
dynamics, which are exact, differentiate the observation matrix, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import friction_regressor, inverse_dynamics, rigid_body_regressor
from pkm_description.dynamics.body_blocks import body_blocks
from pkm_description.dynamics.derivatives import inverse_dynamics_derivatives
from pkm_description.dynamics.friction import joint_friction_law
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, reduce_parameters
from pkm_description.dynamics.parameters import rotor_regressor
from pkm_description.friction_laws.coulomb import NO_FRICTION
from pkm_description.friction_laws.law import FrictionLaw
from pkm_description.kinematics.joint_motion import JointMotion, joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Joint, JointFriction, Machine, PlatformMotion
from pkm_description.machine.machine import with_friction

from pkm_identification.columns.observation import ObservationModel
from pkm_identification.excitation.coordinates import MotionCoordinates

#: random states for the reduction to base parameters, and the norm of a column that is rounding of zero
_STATES, _ABSENCE = 150, 1e-12

#: a Jacobian of so many parameter vectors per drive is no slower for all samples at once than sample by sample
_FEW = 1.5


def design_machine(machine: Machine) -> Machine:
    """The machine without what has no columns: offsets, and laws by load, which become viscous and Coulomb friction."""

    def linear(joint: Joint) -> JointFriction:
        own = joint.friction
        if own.law.needs_load:
            return JointFriction.viscous_coulomb(own.viscous, own.coulomb)
        return replace(own, law=replace(own.law, offset=0.0))

    changed = any(joint.friction.law.needs_load or joint.friction.law.offset for joint in machine.joints)
    return with_friction(machine, linear) if changed else machine


class LinearForces:
    """Observation matrix of the base parameters along motions, and its derivatives.

    Parameters
    ----------
    coordinates : of the motions; their machine's friction must not depend on loads, see :func:`design_machine`
    identical_legs, friction, fixed : as of :class:`~pkm_identification.columns.observation.ObservationModel`
    eliminated : patterns of parameters that are regrouped into others where they can be
    weights : (A,) factors of the drives' rows
    sign_width : m/s or rad/s of a tanh in place of the sign of Coulomb friction, so that derivatives exist

    Attributes
    ----------
    base : base parameters of the machine
    """

    def __init__(
        self, coordinates: MotionCoordinates, identical_legs: bool, friction: str, fixed: tuple[str, ...],
        eliminated: tuple[str, ...], weights: Array, sign_width: float,
    ) -> None:  # fmt: skip
        machine = coordinates.machine
        self.coordinates, self.machine = coordinates, machine
        self.model = ObservationModel(machine, identical_legs, friction, fixed)
        self.base = self._reduced(eliminated)
        self.columns = self.model.free[self.base.independent]
        self.weights, self.sign_width = weights, sign_width
        self._identical_legs = identical_legs
        self._joints = 'all' if friction == 'all' else 'actuated'
        self._rubbing = friction != 'none'
        self._block, count = body_blocks(machine, identical_legs)
        self._bodies = 10 * count
        self._places = [
            (place, column)
            for place, joint in enumerate(machine.joints)
            if self._rubbing and (joint.actuated or self._joints == 'all')
            for column in range(len(joint_friction_law(joint).linear_parameter_names))
        ]
        self._unit = _machine_of_own_parameters(machine)

    def _reduced(self, eliminated: tuple[str, ...]) -> BaseParameters:
        if not eliminated:
            return self.model.base_parameters()
        matrix, _ = self.model.regressor(random_states(self.machine, _STATES))
        rows, names = matrix.reshape(-1, len(self.model.names)), self.model.names
        return reduce_parameters(rows, names, eliminated=eliminated, absence=_ABSENCE)

    def matrix(self, motion: PlatformMotion, joints: JointMotion | None = None, smooth: bool = True) -> Array:
        """Weighted observation matrix (N, A, B) of the base parameters; ``smooth=False``: with the sign itself."""
        matrix = rigid_body_regressor(self.machine, motion, identical_legs=self._identical_legs)
        joints = joints or joint_motion(self.machine, motion)
        if self._rubbing:
            width = self.sign_width if smooth else 0.0
            friction = friction_regressor(
                self.machine, joints, 'all' if self._joints == 'all' else 'actuated', sign_smoothing=width
            )
            matrix = np.concatenate([matrix, friction], axis=-1)
        if self.machine.rotor_inertia.any():
            matrix = np.concatenate([matrix, rotor_regressor(self.machine, joints)], axis=-1)
        return np.asarray(matrix[..., self.columns] * self.weights[:, None])

    def adjoint(self, motion: PlatformMotion, left: Array, right: Array) -> Array:
        """Derivatives (N, 3, C) of ``sum_k left_k . (matrix @ right_k)`` by kernel coordinates, rates, accelerations.

        Parameters
        ----------
        left : (K, N, A)
        right : (K, B)
        """
        weighted = left * self.weights
        drives = self.machine.actuated_count
        if len(right) <= _FEW * drives:
            return np.asarray(sum(
                np.einsum('na,npac->npc', own, self._derivatives(motion, parameters))
                for own, parameters in zip(weighted, right, strict=True)
            ))  # fmt: skip
        # many vectors: what each drive of each sample multiplies is one vector, so as many derivatives as rows
        rows = np.einsum('kna,kb->nab', weighted, right)
        total = np.zeros((len(motion), 3, len(self.coordinates)))
        for sample in range(len(motion)):
            one = motion[sample : sample + 1]
            for drive in range(drives):
                total[sample] += self._derivatives(one, rows[sample, drive])[0, :, drive]
        return total

    def _derivatives(self, motion: PlatformMotion, parameters: Array) -> Array:
        """Derivatives (N, 3, A, C) of the forces of base parameters (B,)."""
        full = np.zeros(len(self.model.all_names))
        full[self.columns] = parameters
        model = self._unit.model
        blocks = full[: self._bodies].reshape(-1, 10)
        model.parameters[self._block >= 0] = blocks[self._block[self._block >= 0]]
        friction, rotors = np.split(full[self._bodies :], [len(self._places)])
        for (place, column), value in zip(self._places, friction, strict=True):
            model.friction_linear[place, column] = value
        model.rotor_inertia[self.machine.drive_columns] = rotors if len(rotors) else 0.0
        return self._of(self._unit, motion)

    def forces(self, machine: Machine, motion: PlatformMotion) -> Array:
        """Drive forces (N, A) of a machine, with signs as smooth as those of :meth:`force_derivatives`."""
        return inverse_dynamics(machine, motion, sign_smoothing=self.sign_width)

    def force_derivatives(self, motion: PlatformMotion) -> Array:
        """Derivatives (N, A, 3, C) of the machine's own drive forces by kernel coordinates, rates, accelerations."""
        return np.swapaxes(self._of(self.machine, motion), 1, 2)

    def acceleration_derivatives(self, motion: PlatformMotion) -> Array:
        """Derivatives (N, A, 3, C) of the drives' accelerations, of machines with one drive per degree of freedom.

        A machine without mass whose drives carry rotors of 1 kg (1 kg m^2) needs just these forces.
        """
        model = self._unit.model
        model.parameters[:], model.friction_linear[:] = 0.0, 0.0
        model.rotor_inertia[self.machine.drive_columns] = 1.0
        found = np.swapaxes(self._of(self._unit, motion), 1, 2)
        model.rotor_inertia[:] = 0.0
        return found

    def _of(self, machine: Machine, motion: PlatformMotion) -> Array:
        found = inverse_dynamics_derivatives(machine, motion, self.coordinates.kernel, True, self.sign_width)
        return np.stack([found.by_position, found.by_velocity, found.by_acceleration], axis=1)


def _machine_of_own_parameters(machine: Machine) -> Machine:
    """A machine of the same geometry whose dynamic parameters are arrays of its own, all zero, to be written to.

    Negative masses and friction mean nothing to a machine file, but a force is linear in them.
    """
    own = with_friction(machine, lambda joint: replace(joint.friction, law=_without_loads(joint.friction.law)))
    model = own.model._replace(
        parameters=np.zeros_like(own.model.parameters), rotor_inertia=np.zeros_like(own.model.rotor_inertia),
        friction_linear=np.zeros_like(own.model.friction_linear),
    )  # fmt: skip
    own.__dict__['model'] = model  # in place of the cached property
    return own


def _without_loads(law: FrictionLaw) -> FrictionLaw:
    return NO_FRICTION if law.needs_load else law
