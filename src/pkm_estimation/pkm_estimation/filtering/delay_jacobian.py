"""Jacobian of the motion's extrapolation over the remaining IMU delay (:mod:`pkm_estimation.models.imu_constants`)."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import cross, rotated, rotation_exp, skew

from pkm_estimation.models import ACCELEROMETER_BIAS, ATTITUDE, GYROSCOPE_BIAS, VELOCITY
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import ImuMotion


def moved_on_jacobian(
    layout: StateLayout, states: Array, by_q: Array, rotation: Array, gravity: Array, moved: ImuMotion, base_arm: Array
) -> Array:
    """Contribution of the remaining delay to the Jacobian (N, 12, n) of position, rotation and velocity by the states.

    Parameters
    ----------
    layout : with the delay as a state
    states : (N, n)
    by_q : (N, 3, 3) rotation about base axes per change of the attitude's states
    rotation : (N, 3, 3) before the extrapolation
    gravity : (3,) m/s^2, base axes
    moved : the motion after the extrapolation
    base_arm : (N, 3) m, from the point to the IMU, base axes, after the extrapolation
    """
    count, size = states.shape
    velocity, rate, force = states[:, VELOCITY], moved.angular_velocity, moved.specific_force
    turning = np.broadcast_to(moved.angular_acceleration, rate.shape)
    rest = states[:, layout.imu_delay]
    once = rest[:, :, None]
    half_square = 0.5 * once**2

    # samples less biases, turned by the mounting
    mounting = np.eye(3)
    by_rate, by_force, by_turning = (np.zeros((count, 3, size)) for _ in range(3))
    if layout.imu_rotation is not None:
        vector = states[:, layout.imu_rotation]
        mounting, left = rotation_exp(vector), turn_jacobian(vector)
        for change, value in ((by_rate, rate), (by_force, force), (by_turning, turning)):
            change[:, :, layout.imu_rotation] = -skew(value) @ left
    by_rate[:, :, GYROSCOPE_BIAS] = by_force[:, :, ACCELEROMETER_BIAS] = -mounting

    result = np.zeros((count, 12, size))
    to_platform = rotation.transpose(0, 2, 1)
    acceleration = force + rotated(to_platform, gravity)
    # attitude: R exp(turn)
    by_turn = once * by_rate + half_square * by_turning
    by_turn[:, :, layout.imu_delay] += (rate + rest * turning)[:, :, None]
    result[:, 3:6] = rotation @ turn_jacobian(rest * (rate + 0.5 * rest * turning)) @ by_turn
    # position: R (rest V + rest^2 / 2 f) + rest^2 / 2 g, and the arm turns along
    way = rotated(rotation, rest * velocity + 0.5 * rest**2 * force)
    result[:, 0:3] = skew(base_arm) @ result[:, 3:6] + rotation @ (half_square * by_force)
    result[:, 0:3, ATTITUDE] -= skew(way) @ by_q
    result[:, 0:3, VELOCITY] += once * rotation
    result[:, 0:3, layout.imu_delay] += rotated(rotation, velocity + rest * acceleration)[:, :, None]
    # velocity: V + rest (f + R^T g - omega x V)
    result[:, 6:9] = once * (by_force + skew(velocity) @ by_rate)
    result[:, 6:9, ATTITUDE] += once * (to_platform @ skew(gravity) @ by_q)
    result[:, 6:9, VELOCITY] -= once * skew(rate)
    result[:, 6:9, layout.imu_delay] += (acceleration - cross(rate, velocity))[:, :, None]
    return result


def turn_jacobian(vector: Array) -> Array:
    """Left Jacobian (N, 3, 3) of rotation vectors (N, 3): ``exp(v + dv) = exp(J dv) exp(v)`` to first order."""
    square = np.sum(vector * vector, axis=-1)[:, None, None]
    angle = np.sqrt(square)
    small = angle < 1e-3
    divisor = np.where(small, 1.0, angle)
    # by series where the quotients lose their digits
    first = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    second = np.where(small, 1.0 / 6.0 - square / 120.0, (angle - np.sin(angle)) / divisor**3)
    generator = skew(vector)
    jacobian: Array = np.eye(3) + first * generator + second * (generator @ generator)
    return jacobian
