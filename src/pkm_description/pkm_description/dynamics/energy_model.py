"""The energy (integral) model: energies linear in the inertial parameters, and the work of the drives.

One scalar equation per step, without accelerations: the change of the machine's energy is the work of the drives
less friction (Oh 2003, Eqs. 2.56 and 2.57, after Bhattacharya, Hatwal & Ghosh).
"""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics.arguments import require_machine_and_motion
from pkm_description.kinematics.chain import chain_velocities
from pkm_description.kinematics.leg_motion import close_legs
from pkm_description.machine import Machine, PlatformMotion


def body_energy_regressor(rotation: Array, velocity: Array, spin: Array, origin: Array, gravity: Array) -> Array:
    """Energy of a body, kinetic and potential, as a linear function of its ten inertial parameters.

    Parameters
    ----------
    rotation : (..., 3, 3), body axes to base axes
    velocity, spin : (..., 3) of the body frame, base axes
    origin : (..., 3) m, of the body frame
    gravity : (3,) m/s^2

    Returns
    -------
    (..., 10) J per parameter m, mx, my, mz, Ixx .. Izz
    """
    # rows times the rotation are vectors in body axes
    in_body = np.stack(np.broadcast_arrays(velocity, spin, gravity), axis=-2) @ rotation
    v, w, g = in_body[..., 0, :], in_body[..., 1, :], in_body[..., 2, :]
    result = np.empty((*v.shape[:-1], 10))
    result[..., 0] = 0.5 * np.sum(velocity * velocity, axis=-1) - origin @ gravity
    # v . (w x c) = c . (v x w)
    result[..., 1:4] = np.cross(v, w) - g
    result[..., 4], result[..., 7], result[..., 9] = (0.5 * w[..., i] ** 2 for i in range(3))
    result[..., 5], result[..., 6] = w[..., 0] * w[..., 1], w[..., 0] * w[..., 2]
    result[..., 8] = w[..., 1] * w[..., 2]
    return result


def energy_regressor(machine: Machine, motion: PlatformMotion, identical_legs: bool = True) -> Array:
    """Regressor (N, P): kinetic plus potential energy [J] without rotors = regressor @ ``rigid_body_parameters``.

    Parameters
    ----------
    motion : N samples; accelerations do not matter
    identical_legs : as in :func:`pkm_description.dynamics.rigid_body_parameters`
    """
    require_machine_and_motion(machine, motion)
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    velocities = (legs.joint_map @ motion.twist[:, None, :, None])[..., 0]
    rates = chain_velocities(machine, legs.chain, velocities)
    platform = body_energy_regressor(
        motion.rotation_base_platform, motion.linear_velocity, motion.angular_velocity, motion.position,
        machine.gravity,
    )  # fmt: skip
    bodies = np.stack(
        [
            body_energy_regressor(rotation, velocity, spin, origin, machine.gravity)
            for rotation, velocity, spin, origin in zip(
                legs.chain.rotations, rates.linear, rates.angular, legs.chain.origins, strict=True
            )
        ],
        axis=2,
    )
    columns = bodies.sum(axis=1) if identical_legs else bodies
    return np.concatenate([platform, columns.reshape(len(motion), -1)], axis=1)


def energy_equations(
    machine: Machine, motion: PlatformMotion, drive_positions: Array, forces: Array, identical_legs: bool = True
) -> tuple[Array, Array]:
    """Equations of the integral model between neighbouring samples of one motion.

    Parameters
    ----------
    motion : N samples, close together
    drive_positions : (N, A) m or rad
    forces : (N, A), of the drives less friction and rotors: their work goes into the rigid bodies

    Returns
    -------
    differences : (N - 1, P), ``differences @ parameters = work``
    work : (N - 1,) J, by the trapezoidal rule (the left end alone, as printed, is a hundred times worse)
    """
    regressor = energy_regressor(machine, motion, identical_legs)
    work = np.sum(0.5 * (forces[1:] + forces[:-1]) * np.diff(drive_positions, axis=0), axis=1)
    return np.diff(regressor, axis=0), work
