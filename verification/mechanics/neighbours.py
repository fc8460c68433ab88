"""A motion shortly before and after given states, for finite differences; derivatives that are checked by them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import joint_motion, joint_positions, motion_from_drives
from pkm_description.kinematics.arguments import holds_platform
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.fourier import FourierCoordinates

from verification.check import Check, agree

#: s, of finite differences; near singular poses a longer one leaves what the legs reach
STEP = 5e-5


def shifted(machine: Machine, motion: PlatformMotion, step: float) -> PlatformMotion:
    """Continue every state for ``step`` s.

    Free and planar platforms with constant acceleration and angular acceleration, platforms that their legs hold with
    constant accelerations of the drives: right to the second order, so that derivatives at 0 are those of the motion.
    """
    if holds_platform(machine):
        legs = joint_motion(machine, motion)
        position, rate, acceleration = (
            values[..., machine.drive_columns] for values in (legs.positions, legs.velocities, legs.accelerations)
        )
        moved = position + step * rate + 0.5 * step**2 * acceleration
        return motion_from_drives(machine, motion.time + step, moved, rate + step * acceleration, acceleration)
    turn = step * motion.angular_velocity + 0.5 * step**2 * motion.angular_acceleration
    return dataclasses.replace(
        motion,
        time=motion.time + step,
        position=motion.position + step * motion.linear_velocity + 0.5 * step**2 * motion.linear_acceleration,
        rotation_base_platform=rotation_exp(turn) @ motion.rotation_base_platform,
        linear_velocity=motion.linear_velocity + step * motion.linear_acceleration,
        angular_velocity=motion.angular_velocity + step * motion.angular_acceleration,
    )


def smooth_derivative(function: Callable[[float], Array], step: float) -> Array:
    """Derivative at 0 of a smooth function, from five points: errors of the order of ``step**4``."""
    near, far = function(step) - function(-step), function(2.0 * step) - function(-2.0 * step)
    return (8.0 * near - far) / (12.0 * step)


def numeric_joint_map(machine: Machine, motion: PlatformMotion, step: float = 1e-3) -> Array:
    """Rates of all joints per twist of a free platform (N, J, 6), from differences of joint positions."""
    columns = []
    for unit in np.eye(6):

        def moved(by: float, unit: Array = unit) -> Array:
            turn = rotation_exp(np.broadcast_to(by * unit[3:], motion.position.shape))
            position = motion.position + by * unit[:3]
            return joint_positions(machine, position, turn @ motion.rotation_base_platform)

        columns.append(smooth_derivative(moved, step))
    return np.stack(columns, axis=-1)


def derivative_checks(
    id: str, series: FourierCoordinates, names: tuple[str, str], limit: float, samples: int = 300
) -> Iterator[Check]:
    """Analytic derivatives of a periodic series, called so, against finite differences."""
    time = np.linspace(0.0, series.period, samples)
    for order, what in enumerate(names):

        def values(step: float, order: int = order) -> Array:
            return series.periodic(time + step)[order]

        numeric = smooth_derivative(values, 1e-3)
        yield agree(id, f'analytic {what} against finite differences', limit, numeric, series.periodic(time)[order + 1])
