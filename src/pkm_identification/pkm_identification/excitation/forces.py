"""Drive forces along a motion as linear functions of the base parameters, with signs that are smooth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import friction_regressor, inverse_dynamics, rigid_body_regressor
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, reduce_parameters
from pkm_description.dynamics.parameters import rotor_regressor
from pkm_description.kinematics.joint_motion import JointMotion, joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Joint, JointFriction, Machine, PlatformMotion
from pkm_description.machine.machine import with_friction

from pkm_identification.columns.observation import ObservationModel
from pkm_identification.excitation.coordinates import MotionCoordinates

#: random states for the reduction to base parameters, and the norm of a column that is rounding of zero
_STATES, _ABSENCE = 150, 1e-12


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
    """Observation matrix of the base parameters along motions.

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

    def forces(self, machine: Machine, motion: PlatformMotion) -> Array:
        """Drive forces (N, A) of a machine, with signs as smooth as those of :meth:`matrix`."""
        return inverse_dynamics(machine, motion, sign_smoothing=self.sign_width)
