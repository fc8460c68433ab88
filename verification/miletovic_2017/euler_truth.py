"""Ground truth that the Euler steps of the paper's filter reproduce exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import cross, quaternion_from_matrix, skew
from pkm_description.machine import PlatformMotion


@dataclass(frozen=True)
class EulerTruth:
    """States and inputs that satisfy ``x[k+1] = x[k] + dt f(x[k], u[k])`` exactly.

    Attributes
    ----------
    position : (N, 3) m, of the IMU's point, base axes; the motion's own
    velocity : (N, 3) m/s, platform axes: difference quotient, half a step late
    attitude : (N, 3) vector part of the quaternion; the motion's own
    specific_force, angular_rate : (N, 3) m/s^2, rad/s, platform axes, without bias and noise
    """

    position: Array
    velocity: Array
    attitude: Array
    specific_force: Array
    angular_rate: Array


def euler_truth(motion: PlatformMotion, gravity: Array, imu_position: Array) -> EulerTruth:
    """Build the truth from the poses of a motion at equidistant times; the last two samples are used up.

    Parameters
    ----------
    motion : N + 2 samples, attitudes within half a turn of the base frame
    gravity : (3,) m/s^2, base axes
    imu_position : (3,) m, platform axes
    """
    interval = motion.time[1] - motion.time[0]
    rotation = motion.rotation_base_platform
    position = motion.position + rotation @ imu_position
    quaternion = quaternion_from_matrix(rotation)
    attitude = quaternion[:, :3]
    velocity = _to_platform(rotation[:-1], np.diff(position, axis=0) / interval)
    # Q(q) = (e0 I + [q]x) / 2, Eq. 18
    rate_matrix = 0.5 * (quaternion[:-1, 3, None, None] * np.eye(3) + skew(attitude[:-1]))
    rate = np.linalg.solve(rate_matrix, np.diff(attitude, axis=0)[..., None] / interval)[..., 0]
    force = np.diff(velocity, axis=0) / interval + cross(rate[:-1], velocity[:-1])
    force -= _to_platform(rotation[:-2], np.broadcast_to(gravity, force.shape))
    return EulerTruth(position[:-2], velocity[:-1], attitude[:-2], force, rate[:-1])


def _to_platform(rotation_base_platform: Array, vectors: Array) -> Array:
    turned: Array = np.squeeze(vectors[:, None] @ rotation_base_platform, axis=1)
    return turned
