"""Rigid-body regressor: drive forces as a linear function of the inertial parameters."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics.arguments import require_machine_and_motion, require_platform
from pkm_description.kinematics.chain import ChainPose, chain_accelerations
from pkm_description.kinematics.leg_motion import close_legs, leg_rates
from pkm_description.kinematics.overall_jacobian import twist_from_leg_rates
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine, PlatformMotion

#: samples computed at once: enough to hide the cost of a call, few enough for the processor's cache
CHUNK = 512


def wrench_regressor(
    angular_velocity: Array, angular_acceleration: Array, proper_acceleration: Array
) -> Array:
    """Inertial wrench of a body, linear in its ten parameters (Newton-Euler; Heimann & Abdellatif, Eq. 1).

    Parameters
    ----------
    angular_velocity, angular_acceleration : (..., 3), body axes
    proper_acceleration : (..., 3), acceleration of the body frame's origin minus gravity, body axes

    Returns
    -------
    (..., 6, 10) : force, then moment about the frame's origin, body axes; columns m, mx, my, mz, Ixx .. Izz
    """
    wx, wy, wz = (angular_velocity[..., i] for i in range(3))
    px, py, pz = (angular_acceleration[..., i] for i in range(3))
    ax, ay, az = (proper_acceleration[..., i] for i in range(3))
    xx, yy, zz, xy, xz, yz = wx * wx, wy * wy, wz * wz, wx * wy, wx * wz, wy * wz
    a = np.zeros((*angular_velocity.shape[:-1], 6, 10))
    # force: m a + [alpha]x mc + [w]x[w]x mc
    a[..., :3, 0] = proper_acceleration
    a[..., 0, 1], a[..., 0, 2], a[..., 0, 3] = -yy - zz, xy - pz, xz + py
    a[..., 1, 1], a[..., 1, 2], a[..., 1, 3] = xy + pz, -xx - zz, yz - px
    a[..., 2, 1], a[..., 2, 2], a[..., 2, 3] = xz - py, yz + px, -xx - yy
    # moment: -[a]x mc + I alpha + w x (I w)
    a[..., 3, 2], a[..., 3, 3], a[..., 4, 1] = az, -ay, -az
    a[..., 4, 3], a[..., 5, 1], a[..., 5, 2] = ax, ay, -ax
    a[..., 3, 4], a[..., 3, 5], a[..., 3, 6] = px, py - xz, pz + xy
    a[..., 3, 7], a[..., 3, 8], a[..., 3, 9] = -yz, yy - zz, yz
    a[..., 4, 4], a[..., 4, 5], a[..., 4, 6] = xz, px + yz, zz - xx
    a[..., 4, 7], a[..., 4, 8], a[..., 4, 9] = py, pz - xy, -xz
    a[..., 5, 4], a[..., 5, 5], a[..., 5, 6] = -xy, xx - yy, px - yz
    a[..., 5, 7], a[..., 5, 8], a[..., 5, 9] = xy, py + xz, pz
    return a


def rigid_body_regressor(machine: Machine, motion: PlatformMotion, identical_legs: bool = True) -> Array:
    """Regressor (N, A, P): drive forces without friction and rotors = regressor @ ``rigid_body_parameters``.

    Newton-Euler wrenches of every body, taken to the joints of its leg and from there to the drives by
    virtual power (Heimann & Abdellatif, Eq. 1). With identical legs the legs are summed on the way, so
    that the separate columns are never built.

    Parameters
    ----------
    motion : N samples
    identical_legs : as in :func:`pkm_description.dynamics.rigid_body_parameters`

    Raises
    ------
    SingularPoseError
        Where the drives do not determine the platform's motion, or a leg's angles are undefined; names the
        sample.
    """
    require_machine_and_motion(machine, motion)
    require_platform(machine, 'open_chain_regressor')
    legs = 1 if identical_legs else machine.leg_count
    result = np.empty((len(motion), machine.actuated_count, 10 * (1 + legs * machine.joint_count)))
    for start in range(0, len(motion), CHUNK):
        part = slice(start, start + CHUNK)
        try:
            _fill(machine, motion[part], identical_legs, result[part])
        except (
            SingularPoseError
        ):  # the message counts samples within the chunk: find the sample in the whole motion
            twist_from_leg_rates(
                machine, close_legs(machine, motion.position, motion.rotation_base_platform)
            )
            raise
    return result


def _fill(machine: Machine, motion: PlatformMotion, identical_legs: bool, result: Array) -> None:
    """Write the regressor of a chunk of samples into ``result``."""
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    velocities, accelerations, rates = leg_rates(machine, legs, motion)
    second = chain_accelerations(machine, legs.chain, rates, velocities, accelerations)
    torques = chain_torque_regressor(machine, legs.chain, rates.angular, second.angular, second.linear)

    twist_per_rate = twist_from_leg_rates(machine, legs)
    joint_rate_per_leg_rate = legs.joint_map @ twist_per_rate[:, None]
    samples, leg_count, joint_count = velocities.shape
    if identical_legs:
        stacked = joint_rate_per_leg_rate.reshape(samples, leg_count * joint_count, -1)
        result[:, :, 10:] = np.swapaxes(stacked, 1, 2) @ torques.reshape(samples, leg_count * joint_count, -1)
    else:
        separate = np.swapaxes(joint_rate_per_leg_rate, -1, -2) @ torques
        result[:, :, 10:] = np.swapaxes(separate, 1, 2).reshape(samples, machine.actuated_count, -1)

    rotation = motion.rotation_base_platform
    to_platform = np.swapaxes(rotation, 1, 2)
    vectors = np.stack(
        [
            motion.angular_velocity,
            motion.angular_acceleration,
            motion.linear_acceleration - machine.gravity,
        ],
        axis=-1,
    )
    spin, angular, proper = np.moveaxis(to_platform @ vectors, -1, 0)
    wrench = wrench_regressor(spin, angular, proper)
    body_twist = np.concatenate(
        [to_platform @ twist_per_rate[:, :3], to_platform @ twist_per_rate[:, 3:]], axis=1
    )
    result[:, :, :10] = np.swapaxes(body_twist, 1, 2) @ wrench


def chain_torque_regressor(
    machine: Machine,
    chain: ChainPose,
    angular_velocities: list[Array],
    angular_accelerations: list[Array],
    linear_accelerations: list[Array],
) -> Array:
    """Joint torques of the open legs per inertial parameter, (N, L, J, 10 J)."""
    joint_count = machine.joint_count
    torques = np.zeros((*chain.tip.shape[:2], joint_count, 10 * joint_count))
    for body in range(joint_count):
        vectors = [
            angular_velocities[body],
            angular_accelerations[body],
            linear_accelerations[body] - machine.gravity,
        ]
        still = np.zeros_like(chain.tip)
        for joint in range(body + 1):
            axis = chain.axes[joint]
            if machine.joint_kinds[joint] == 'revolute':
                vectors += [cross(axis, chain.origins[body] - chain.origins[joint]), axis]
            else:
                vectors += [axis, still]
        # rows instead of columns: (k, 3) @ R are the vectors in body axes
        in_body = np.stack(vectors, axis=-2) @ chain.rotations[body]
        wrench = wrench_regressor(in_body[..., 0, :], in_body[..., 1, :], in_body[..., 2, :])
        jacobian = in_body[..., 3:, :].reshape(*in_body.shape[:2], body + 1, 6)
        torques[:, :, : body + 1, 10 * body : 10 * body + 10] = jacobian @ wrench
    return torques
