"""Positions and velocities of all leg joints from the state of the platform, for joint states."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics.arguments import of_samples, poses, require_machine
from pkm_description.kinematics.leg_lengths import leg_vectors
from pkm_description.kinematics.leg_motion import joint_motion
from pkm_description.kinematics.leg_positions import closed_form_positions, closed_form_velocities
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine, PlatformMotion


def joint_rates(
    machine: Machine,
    position: Array,
    rotation_base_platform: Array,
    linear_velocity: Array,
    angular_velocity: Array,
) -> tuple[Array, Array]:
    """Positions and velocities (N, L, J) of all leg joints; for U-P legs a fraction of the time of ``joint_motion``.

    Parameters
    ----------
    position : (N, 3) m; or one sample without the first axis, like all others, which then the results lack, too
    rotation_base_platform : (N, 3, 3)
    linear_velocity : (N, 3) m/s, of the platform origin, base axes
    angular_velocity : (N, 3) rad/s, base axes

    Raises
    ------
    KinematicsError
        As :func:`pkm_description.kinematics.leg_motion`.
    ShapeError
        Another shape, or another number of samples than of poses.
    """
    require_machine(machine)
    position, rotation_base_platform, single = poses(position, rotation_base_platform)
    count = len(position)
    linear_velocity = of_samples('linear_velocity', linear_velocity, count, 3)
    angular_velocity = of_samples('angular_velocity', angular_velocity, count, 3)
    positions, velocities = _rates(machine, position, rotation_base_platform, linear_velocity, angular_velocity)
    return (positions[0], velocities[0]) if single else (positions, velocities)


def _rates(
    machine: Machine, position: Array, rotation_base_platform: Array, linear_velocity: Array, angular_velocity: Array
) -> tuple[Array, Array]:
    """As :func:`joint_rates`, of N samples."""
    if not machine.has_closed_form:
        still = np.zeros_like(position)
        motion = PlatformMotion(
            np.zeros(len(position)), position, rotation_base_platform, linear_velocity, angular_velocity, still, still
        )
        legs = joint_motion(machine, motion)
        return legs.positions, legs.velocities
    vectors, levers = leg_vectors(machine, position, rotation_base_platform)
    lengths = np.sqrt(np.sum(vectors * vectors, axis=-1))
    positions = closed_form_positions(machine, vectors, lengths)
    tips = linear_velocity[:, None] + cross(angular_velocity[:, None], levers)
    return positions, closed_form_velocities(machine, vectors, lengths, tips)
