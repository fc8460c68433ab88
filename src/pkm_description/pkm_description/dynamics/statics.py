"""Drive forces that hold the machine at rest against gravity (four times faster than inverse dynamics)."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.projection import drive_forces, platform_force
from pkm_description.kinematics.arguments import of_poses, require_platform
from pkm_description.kinematics.chain import ChainPose
from pkm_description.kinematics.leg_motion import close_legs
from pkm_description.kinematics.overall_jacobian import twist_from_leg_rates
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine


@of_poses
def gravity_forces(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Drive forces (N, A) [N, N m] that hold the machine still at poses (N, 3) m, (N, 3, 3) or one, without friction.

    Raises
    ------
    SingularPoseError
        Where no drive forces can hold the platform; names the sample.
    """
    require_platform(machine, 'open_chain_forces')
    legs = close_legs(machine, position, rotation_base_platform)
    parameters, gravity = machine.platform_parameters, machine.gravity
    moment = cross((rotation_base_platform @ parameters[1:4, None])[..., 0], -gravity)
    force = np.broadcast_to(-parameters[0] * gravity, moment.shape)
    generalised = np.concatenate([force, moment], axis=-1) + platform_force(
        legs, _weight_torques(machine, legs.chain)
    )
    return drive_forces(twist_from_leg_rates(machine, legs), generalised)


def _weight_torques(machine: Machine, chain: ChainPose) -> Array:
    """Joint torques (N, L, J) that hold the open legs' weight, summed from the tip to the base."""
    torques = np.empty((*chain.tip.shape[:2], machine.joint_count))
    mass = np.zeros(machine.leg_count)
    first_moment = np.zeros_like(chain.tip)
    for body in reversed(range(machine.joint_count)):
        parameters, origin = machine.leg_parameters[:, body], chain.origins[body]
        mass = mass + parameters[:, 0]
        first_moment = (
            first_moment
            + (chain.rotations[body] @ parameters[:, 1:4, None])[..., 0]
            + parameters[:, :1] * origin
        )
        if machine.joint_kinds[body] == 'revolute':
            holding = cross(first_moment - mass[:, None] * origin, -machine.gravity)
        else:
            holding = mass[:, None] * -machine.gravity
        torques[..., body] = np.sum(chain.axes[body] * holding, axis=-1)
    return torques
