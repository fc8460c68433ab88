"""Delay of the IMU relative to the legs, by the motion that the legs show, whatever way the IMU is mounted."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.kinematics.rotation import cross, matrix_from_quaternion, quaternion_from_matrix
from pkm_description.machine import Machine, PlatformMotion
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar
from scipy.signal import savgol_filter

from pkm_estimation.sensors.conditions import imu_truth
from pkm_estimation.tuning.streams import SensorStreams, TuningError, longest_stretch, usual_interval

#: s, delays beyond this are not looked for: periodic motions would fit again a period later
MAXIMUM_DELAY = 0.25
#: s, a delay that is less certain is none, and parts of the recording that tell how certain it is
_LEAST_CERTAIN, _PARTS = 5e-3, 10
#: s over which poses are smoothed by polynomials of third degree (Savitzky and Golay): noise is no motion
_WINDOW = 0.3
#: usual intervals that a spline may bridge
_BRIDGED = 5.5
#: part of the power of accelerometer or gyroscope that the legs must explain
_EXPLAINED = 0.8


def estimate_delay(machine: Machine, streams: SensorStreams) -> tuple[float, float]:
    """Delay of the IMU's stamps and its standard deviation [s]; positive: the IMU is late.

    Least squares ``u(t) = A u_legs(t - delay) + b``, of each sensor with a free linear map A of the specific force or
    angular rate that the legs show: mounting, scale and bias make no difference. Its deviation is that of ten parts of
    the recording, so that coloured errors and a delay that fluctuates are in it.

    Raises
    ------
    TuningError
        The IMU does not show the motion of the legs, or the delay lies beyond :data:`MAXIMUM_DELAY`.
    """
    motion = motion_of_legs(machine, streams)
    truth = imu_truth(motion, machine.gravity, machine.imu.position, machine.imu.rotation_platform_imu)
    expected = CubicSpline(motion.time, np.hstack(truth))
    inside = (streams.imu_time > motion.time[0] + MAXIMUM_DELAY) & (streams.imu_time < motion.time[-1] - MAXIMUM_DELAY)
    time, measured = streams.imu_time[inside], streams.imu[inside]
    if len(time) < 100:
        raise TuningError(f'IMU and legs have only {len(time)} samples in common; a delay needs at least 100')
    # in units of what changes from sample to sample, by which channels are weighed
    measured = (measured - measured.mean(axis=0)) / np.maximum(np.diff(measured, axis=0).std(axis=0), 1e-12)

    def mapped(delay: float) -> tuple[Array, Array]:
        """What is left (N, 6), and its slope by the delay."""
        wanted, slope = (spline(time - delay) for spline in (expected, expected.derivative()))
        wanted = wanted - wanted.mean(axis=0)
        left, by_delay = measured.copy(), np.empty_like(measured)
        for axes in (slice(0, 3), slice(3, 6)):
            gains = np.linalg.lstsq(wanted[:, axes], measured[:, axes], rcond=None)[0]
            left[:, axes] -= wanted[:, axes] @ gains
            by_delay[:, axes] = slope[:, axes] @ gains
        return left, by_delay

    def squares(delay: float) -> float:
        return float(np.sum(mapped(delay)[0] ** 2))

    step = usual_interval(motion.time)
    lags = np.arange(-MAXIMUM_DELAY, MAXIMUM_DELAY + step, step)
    best = int(np.argmin([squares(lag) for lag in lags.tolist()]))
    bounds = lags[max(0, best - 1)], lags[min(len(lags) - 1, best + 1)]
    delay = float(minimize_scalar(squares, bounds=bounds, method='bounded', options={'xatol': 1e-6}).x)
    left, slope = mapped(delay)
    parts = [np.sum(slope[rows] * left[rows]) / max(float(np.sum(slope[rows] ** 2)), 1e-300)
             for rows in np.array_split(np.arange(len(time)), _PARTS)]  # fmt: skip
    std = float(np.std(parts, ddof=1)) / _PARTS**0.5
    explained = 1.0 - min(
        np.sum(left[:, axes] ** 2) / np.sum(measured[:, axes] ** 2) for axes in (slice(0, 3), slice(3, 6))
    )
    if explained < _EXPLAINED or std > _LEAST_CERTAIN or best in (0, len(lags) - 1):
        raise TuningError(
            f'the IMU does not show the motion of the legs at any delay up to {MAXIMUM_DELAY:g} s (at the likeliest, '
            f'{1e3 * delay:.3g} +- {1e3 * std:.2g} ms, it explains {explained:.0%} of a sensor\'s power): record more '
            'motion; or the delay is larger'
        )
    return delay, std


def motion_of_legs(machine: Machine, streams: SensorStreams, window: float = _WINDOW) -> PlatformMotion:
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
    drives = CubicSpline(time, drives)(even)
    found = forward_kinematics(machine, drives, tolerance=measured_tolerance(machine)).require()
    quaternion = quaternion_from_matrix(found.rotation_base_platform)
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
        derivative(found.position, 0)[inner],
        matrix_from_quaternion(smooth / length)[inner],
        derivative(found.position, 1)[inner],
        2.0 * _times_conjugate(rate, quaternion)[inner],
        derivative(found.position, 2)[inner],
        2.0 * _times_conjugate(second, quaternion)[inner],
    )


def _times_conjugate(left: Array, right: Array) -> Array:
    """Vector part (N, 3) of ``left right*``, quaternions (N, 4) xyzw."""
    product: Array = (
        right[:, 3:] * left[:, :3] - left[:, 3:] * right[:, :3] - cross(left[:, :3], right[:, :3])
    )
    return product
