"""Applies estimated delay, mounting and position of the IMU to states: motion at the stamp of the legs.

Used by the leg model, users' measurements and the outputs.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import cross, rotated, rotation_exp

from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import ImuMotion


def with_constants(layout: StateLayout, states: Array, motion: ImuMotion, gravity: Array) -> ImuMotion:
    """Apply mounting and position, and extrapolate over the remaining delay, by which the states lag.

    The position is extrapolated to second order, the attitude with the mean angular velocity of that time (rate plus
    half the angular acceleration times the remaining delay), and the velocity to first order.

    Parameters
    ----------
    layout : where the constants lie
    states : (N, n)
    motion : at the states, with nominal mounting and place
    gravity : (3,) m/s^2, axes of the positions
    """
    position, rotation, velocity, rate, force, angular_acceleration, place = motion
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
