"""A motion a short while before and after given states: what finite differences need."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.motion import PlatformMotion

Array = NDArray[np.float64]


def shifted(motion: PlatformMotion, step: float) -> PlatformMotion:
    """Continue every state of a free platform for ``step`` s, with constant acceleration and angular acceleration.

    Right to the second order: central differences of it have errors of the order of the squared step.
    """
    turn = step * motion.angular_velocity + 0.5 * step**2 * motion.angular_acceleration
    return dataclasses.replace(
        motion,
        time=motion.time + step,
        position=motion.position + step * motion.linear_velocity + 0.5 * step**2 * motion.linear_acceleration,
        rotation_base_platform=rotation_exp(turn) @ motion.rotation_base_platform,
        linear_velocity=motion.linear_velocity + step * motion.linear_acceleration,
        angular_velocity=motion.angular_velocity + step * motion.angular_acceleration,
    )


def derivative(after: Array, before: Array, step: float) -> Array:
    """Central difference of values at ``+step`` and ``-step``."""
    return (after - before) / (2.0 * step)


def smooth_derivative(function: Callable[[float], Array], step: float) -> Array:
    """Derivative at 0 of a smooth function, from five points: errors of the order of ``step**4``."""
    near, far = function(step) - function(-step), function(2.0 * step) - function(-2.0 * step)
    return (8.0 * near - far) / (12.0 * step)
