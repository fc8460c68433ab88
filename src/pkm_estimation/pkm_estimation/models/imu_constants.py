"""Applies estimated delay, mounting and position of the IMU to states: motion at the stamp of the legs.

Used by the leg model, users' measurements and the outputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import cross, rotated, rotation_exp

from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import ACCELEROMETER_BIAS, GYROSCOPE_BIAS, VELOCITY


class ImuMotion(NamedTuple):
    """Motion of the IMU's point at N states, at the stamp of the legs.

    Attributes
    ----------
    position : (N, 3) m, axes of the given positions
    rotation : (N, 3, 3), platform axes to those axes
    velocity : (N, 3) m/s, platform axes
    angular_velocity : (N, 3) rad/s, platform axes: the sample less its bias
    specific_force : (N, 3) m/s^2, platform axes: the sample less its bias
    angular_acceleration : (N, 3) or (3,) rad/s^2, platform axes
    place : (N, 3) or (3,) m, of the IMU, platform axes
    """

    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    specific_force: Array
    angular_acceleration: Array
    place: Array


def imu_motion(
    layout: StateLayout,
    states: Array,
    position: Array,
    rotation: Array,
    imu: Array,
    angular_acceleration: Array,
    gravity: Array,
    imu_position: Array,
) -> ImuMotion:
    """Apply mounting and position, and extrapolate over the remaining delay, by which the states lag.

    The position is extrapolated to second order, the attitude with the mean angular velocity of that time (rate plus
    half the angular acceleration times the remaining delay), and the velocity to first order.

    Parameters
    ----------
    layout : where the constants lie
    states : (N, n)
    position, rotation : (N, 3) m, (N, 3, 3), of the IMU's point at the states, in axes of any kind
    imu : (N, 6) or (6,), samples in nominal platform axes
    angular_acceleration : (N, 3) or (3,) rad/s^2 at the samples, nominal platform axes
    gravity : (3,) m/s^2, axes of the positions
    imu_position : (3,) m, nominal place, platform axes
    """
    rate, force = imu[..., 3:] - states[:, GYROSCOPE_BIAS], imu[..., :3] - states[:, ACCELEROMETER_BIAS]
    place, velocity = imu_position, states[:, VELOCITY]
    if layout.imu_position is not None:
        place = place + states[:, layout.imu_position]
    if layout.imu_rotation is not None:
        mounting = rotation_exp(states[:, layout.imu_rotation])
        rate, force = rotated(mounting, rate), rotated(mounting, force)
        angular_acceleration = rotated(mounting, np.broadcast_to(angular_acceleration, rate.shape))
    if layout.imu_delay is not None:
        rest = states[:, layout.imu_delay]
        felt = rotated(rotation.transpose(0, 2, 1), np.broadcast_to(gravity, force.shape))
        acceleration = force + felt
        position = position + rotated(rotation, rest * velocity + 0.5 * rest**2 * acceleration)
        rotation = rotation @ rotation_exp(rest * (rate + 0.5 * rest * angular_acceleration))
        velocity = velocity + rest * (acceleration - cross(rate, velocity))
    return ImuMotion(position, rotation, velocity, rate, force, angular_acceleration, place)
