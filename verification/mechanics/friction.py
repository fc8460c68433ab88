"""Friction of any law in all joints: the drives supply the power that the joints lose."""

from __future__ import annotations

import dataclasses

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    friction_loads,
    friction_parameters,
    friction_regressor,
    inverse_dynamics,
)
from pkm_description.friction_laws import FrictionLaw, friction_law
from pkm_description.friction_laws.laws import friction_law_class
from pkm_description.kinematics import joint_motion
from pkm_description.machine import JointFriction, Machine, PlatformMotion
from pkm_description.machine.machine import with_friction

from verification.check import Check, at_most, relative_error

#: N, N s/m, m/s ...: one value for every parameter that a law can have
TYPICAL = {
    'coulomb_coefficient': 0.15, 'static_coefficient': 0.3, 'additional_load': 50.0, 'exponent': 0.7, 'slope': 40.0,
    'stribeck_velocity': 0.1, 'static_velocity': 0.002, 'width': 0.002, 'viscous': 80.0, 'viscous_positive': 80.0,
    'viscous_negative': 50.0, 'coulomb': 30.0, 'coulomb_positive': 30.0, 'coulomb_negative': 20.0, 'static': 45.0,
    'static_positive': 45.0, 'static_negative': 38.0, 'saturation': 12.0,
}  # fmt: skip


def typical_law(name: str, size: float = 1.0) -> FrictionLaw:
    """A law with :data:`TYPICAL` parameters, the linear ones times ``size``."""
    kind = friction_law_class(name)
    names = (*kind.parameter_names('linear'), *kind.parameter_names('nonlinear'))
    law = friction_law({'law': name} | {key: TYPICAL[key] for key in names})
    return law.with_linear_parameters(size * law.linear_parameters())


def rubbing(machine: Machine, name: str) -> Machine:
    """The machine with one law in all joints, a hundred times weaker in those that turn."""
    sliding, turning = typical_law(name), typical_law(name, 0.01)
    return with_friction(machine, lambda joint: JointFriction(law=sliding if joint.kind == 'prismatic' else turning))


def power_check(id: str, machine: Machine, name: str, motion: PlatformMotion) -> Check:
    """A law in all joints: power at the drives = power lost in the joints; regressor times parameters = friction."""
    rough = rubbing(machine, name)
    joints, loads = joint_motion(rough, motion), friction_loads(rough, motion)
    share = inverse_dynamics(rough, motion) - inverse_dynamics(rough, motion, friction=False)
    lost = np.zeros(len(share))
    for place, joint in enumerate(rough.joints):
        lost += joint.friction.law.dissipated_power(joints.velocities[:, place], loads[:, place])
    power = np.sum(share * joints.velocities[..., rough.drive_columns], axis=1)
    columns = friction_regressor(rough, joints, 'all', loads=loads) @ friction_parameters(rough, 'all')
    errors = [relative_error(power, lost), relative_error(columns, share)]
    what = f'{name} in all joints: power at the drives = power lost, regressor times parameters = friction, relative'
    return at_most(id, what, 1e-9, errors)


def scaled(motion: PlatformMotion, factor: Array) -> PlatformMotion:
    """The same states of a free platform with velocities times (N,)."""
    size = factor[:, None]
    return dataclasses.replace(
        motion,
        linear_velocity=size * motion.linear_velocity,
        angular_velocity=size * motion.angular_velocity,
    )
