"""Motion of the platform from the legs alone, to predict the IMU samples without using the IMU."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.kinematics.rotation import cross, matrix_from_quaternion, quaternion_from_matrix
from pkm_description.machine import Machine, PlatformMotion
from scipy.interpolate import CubicSpline
from scipy.signal import savgol_filter

from pkm_estimation.tuning.streams import SensorStreams, TuningError, longest_stretch, usual_interval

#: s over which poses are smoothed by polynomials of third degree (Savitzky and Golay); and for uses in which noise
#: must not be taken for motion
WINDOW, LONG_WINDOW = 0.15, 0.3
#: usual intervals that a spline may bridge
_BRIDGED = 5.5


def motion_of_legs(machine: Machine, streams: SensorStreams, window: float = WINDOW) -> PlatformMotion:
    """Poses by forward kinematics, smoothed and differentiated by symmetric polynomials: nothing lags.

    Positions are interpolated onto equidistant times by cubic splines, within the longest stretch without gaps.

    Parameters
    ----------
    window : s, longer ones are less noisy but flatten fast motions

    Raises
    ------
    TuningError
        No stretch is long enough.
    KinematicsError
        Some positions have no pose.
    """
    stretch = longest_stretch(streams.leg_time, _BRIDGED)
    time, drives = streams.leg_time[stretch], streams.drive_positions[stretch]
    interval = usual_interval(streams.leg_time)
    points = max(5, 2 * round(0.5 * window / interval) + 1)
    even = time[0] + interval * np.arange(int((time[-1] - time[0]) / interval + 1e-6) + 1)
    if len(even) < 4 * points:
        raise TuningError(f'only {len(even)} leg samples without a gap; at least {4 * points} are needed')
    position, rotation = poses(machine, CubicSpline(time, drives)(even))
    quaternion = quaternion_from_matrix(rotation)
    # one and the same sign all along: q and -q are one attitude
    flips = np.cumprod(np.where(np.sum(quaternion[1:] * quaternion[:-1], axis=1) < 0.0, -1.0, 1.0))
    quaternion[1:] *= flips[:, None]

    def derivative(values: Array, order: int) -> Array:
        smooth: Array = savgol_filter(values, points, 3, deriv=order, delta=interval, axis=0)
        return smooth

    smooth = derivative(quaternion, 0)
    length = np.linalg.norm(smooth, axis=1, keepdims=True)
    rate, second = derivative(quaternion, 1), derivative(quaternion, 2)
    # omega = 2 q' q*, alpha = 2 q'' q* (its scalar part aside), base axes
    inner = slice(points, len(even) - points)  # at the ends the polynomials are one-sided
    return PlatformMotion(
        even[inner],
        derivative(position, 0)[inner],
        matrix_from_quaternion(smooth / length)[inner],
        derivative(position, 1)[inner],
        2.0 * _times_conjugate(rate, quaternion)[inner],
        derivative(position, 2)[inner],
        2.0 * _times_conjugate(second, quaternion)[inner],
    )


def poses(machine: Machine, drives: Array) -> tuple[Array, Array]:
    """Positions (N, 3) and rotations (N, 3, 3) by the positions of the drives (N, L); raises KinematicsError."""
    found = forward_kinematics(machine, drives, tolerance=measured_tolerance(machine)).require()
    return found.position, found.rotation_base_platform


def _times_conjugate(left: Array, right: Array) -> Array:
    """Vector part (N, 3) of ``left right*``, quaternions (N, 4) xyzw."""
    product: Array = (
        right[:, 3:] * left[:, :3] - left[:, 3:] * right[:, :3] - cross(left[:, :3], right[:, :3])
    )
    return product
