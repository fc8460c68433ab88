"""Delay of the IMU relative to the legs, from angular rate and specific force of the forward kinematics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Machine, PlatformMotion
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.stats import chi2

from pkm_estimation.sensors.conditions import imu_truth
from pkm_estimation.tuning.static_calibration import IMU_CHANNELS
from pkm_estimation.tuning.streams import (
    LONG_WINDOW,
    WINDOW,
    SensorStreams,
    TuningError,
    motion_of_legs,
    usual_interval,
)

#: s, delays beyond this are not looked for: periodic motions would fit again a period later
MAXIMUM_DELAY = 0.25
#: correlation below which a channel does not show the motion
LEAST_CORRELATION = 0.9
#: s, a channel whose delay is less certain does not count
LEAST_CERTAIN = 5e-3
#: parts of the recording whose delays are compared
PARTS = 10
_ITERATIONS = 4
#: probability with which channels of one and the same delay pass for such
_AGREEMENT = 0.999


@dataclass(frozen=True)
class DelayEstimate:
    """How late the IMU's stamps are, compared with the legs'; positive: the IMU is late.

    Attributes
    ----------
    delay, std : s, of all channels that show the motion
    channel_delay, channel_std : (6,) s, each by itself; NaN where the channel does not show it
    correlation : (6,) highest correlation of each channel
    scatter : s, standard deviation of the delay from part to part of the recording, beyond what noise explains
    agree : True if the channels' delays differ by no more than their deviations explain
    """

    delay: float
    std: float
    channel_delay: Array
    channel_std: Array
    correlation: Array
    scatter: float
    agree: bool


def estimate_delay(
    machine: Machine, streams: SensorStreams, maximum: float = MAXIMUM_DELAY
) -> DelayEstimate:
    """Estimate the delay of each IMU channel and of all together.

    The highest cross-correlation (its peak by a parabola) starts least squares: ``u(t) = A u_legs(t - delay) + b``, a
    spline through the legs' values. These are smooth, the IMU's are not: interpolated noise is smaller between samples
    than on them, which would draw the answer to the middle. The uncertainty comes from parts of the recording, each
    with its own delay, so that coloured errors and a delay that fluctuates are in it.

    Parameters
    ----------
    maximum : s, largest delay looked for, either way

    Raises
    ------
    TuningError
        No channel shows the motion; or the delay lies beyond ``maximum``.
    """
    motion, smoother = (motion_of_legs(machine, streams, window) for window in (WINDOW, LONG_WINDOW))
    begin, end = smoother.time[0] + maximum, smoother.time[-1] - maximum
    inside = (streams.imu_time > begin) & (streams.imu_time < end)
    time, measured = streams.imu_time[inside], streams.imu[inside]
    if len(time) < 100:
        raise TuningError(f'IMU and legs have only {len(time)} samples in common; a delay needs at least 100')
    spline, slope = _expected(machine, motion), _expected(machine, smoother).derivative()
    interval = usual_interval(motion.time)
    coarse, correlation = _coarse_delay(spline, time, measured, interval, maximum)
    parts = np.array_split(np.arange(len(time)), PARTS)
    delays, deviations, scatters = np.full(6, np.nan), np.full(6, np.nan), np.full(6, np.nan)
    for channel in range(6):  # each has a delay of its own, and with it other times at which the spline is read
        if correlation[channel] < LEAST_CORRELATION or abs(coarse[channel]) > maximum - 2.0 * interval:
            continue
        delay, white, parted = _refined(spline, slope, time, measured[:, channel], channel, coarse[channel], parts)
        spread = float(parted.std(ddof=1))
        std = max(white, spread / np.sqrt(PARTS))
        if std <= LEAST_CERTAIN:
            delays[channel], deviations[channel] = delay, std
            scatters[channel] = np.sqrt(max(0.0, spread**2 - PARTS * white**2))
    return _combined(delays, deviations, correlation, scatters)


def delay_report(estimate: DelayEstimate) -> list[str]:
    """Report as lines of text, with the setting for the estimator."""
    lines = ['delay of the IMU behind the legs, by channel (measured against forward kinematics)']
    for channel, name in enumerate(IMU_CHANNELS):
        correlation = f'correlation {estimate.correlation[channel]:6.3f}'
        if np.isfinite(estimate.channel_delay[channel]):
            value, std = 1e3 * estimate.channel_delay[channel], 1e3 * estimate.channel_std[channel]
            lines.append(f'{name:18s} {value:8.2f} +- {std:.2f} ms   {correlation}')
        else:
            lines.append(f'{name:18s} {"-":>8s}              {correlation}: does not show the motion well enough')
    lines.append(
        f'all channels: {1e3 * estimate.delay:.2f} +- {1e3 * estimate.std:.2f} ms; from part to part of the '
        f'recording it varies by {1e3 * estimate.scatter:.2f} ms'
    )
    if not estimate.agree:
        lines.append(
            'the channels differ by more than their std: each has its own delay, or the IMU position differs from that '
            'of the machine file'
        )
    lines.append(f'imu_delay: {estimate.delay:.4f}')
    return lines


def _expected(machine: Machine, motion: PlatformMotion) -> CubicSpline:
    """What the IMU should have measured along a motion, specific force and angular rate."""
    truth = imu_truth(motion, machine.gravity, machine.imu.position, machine.imu.rotation_platform_imu)
    return CubicSpline(motion.time, np.hstack(truth))


def _coarse_delay(
    expected: CubicSpline, time: Array, measured: Array, interval: float, maximum: float
) -> tuple[Array, Array]:
    """Delay (6,) s of the highest correlation, its peak by a parabola, and that correlation (6,)."""
    steps = int(maximum / interval)
    lags = interval * np.arange(-steps, steps + 1)
    samples = measured - measured.mean(axis=0)
    correlations = np.empty((len(lags), measured.shape[1]))
    for row, lag in enumerate(lags):  # a few dozen passes over arrays; all at once would need much memory
        wanted = expected(time - lag)
        wanted -= wanted.mean(axis=0)
        norms = np.sqrt(np.sum(samples**2, axis=0) * np.sum(wanted**2, axis=0))
        correlations[row] = np.sum(samples * wanted, axis=0) / np.maximum(norms, 1e-300)
    highest = np.clip(np.argmax(correlations, axis=0), 1, len(lags) - 2)
    before, peak, after = (
        np.take_along_axis(correlations, (highest + shift)[None], axis=0)[0] for shift in (-1, 0, 1)
    )
    bend = before - 2.0 * peak + after
    shift = np.where(bend < 0.0, 0.5 * (before - after) / np.where(bend < 0.0, bend, 1.0), 0.0)
    return lags[highest] + interval * np.clip(shift, -1.0, 1.0), peak


def _refined(
    expected: CubicSpline,
    slope: CubicSpline,
    time: Array,
    measured: Array,
    channel: int,
    begin: float,
    parts: list[NDArray[np.intp]],
) -> tuple[float, float, Array]:
    """Least squares for delay, gains and bias: delay, its deviation for white errors, and the delays (P,) of parts.

    All three axes of the sensor take part: on a mounting that is not the machine file's each channel feels them all,
    and what comes from another one would look like a delay (of a circle: wholly). ``slope`` is that of a smoother
    motion: the legs' noise in it would pass for steepness, and the delay for better known than it is.
    """
    delay = begin
    axes = slice(channel - channel % 3, channel - channel % 3 + 3)
    for iteration in range(_ITERATIONS):
        at = time - delay
        rows = np.column_stack([expected(at)[:, axes], np.ones_like(at)])
        gains = np.linalg.lstsq(rows, measured, rcond=None)[0]
        # the rest of the delay by its own slope: measured = (expected - rest * slope) gains + bias
        rate = -slope(at)[:, axes] @ gains[:3]
        rate -= rows @ np.linalg.lstsq(rows, rate, rcond=None)[0]
        residual = measured - rows @ gains
        rest = float(rate @ residual / (rate @ rate))
        if iteration < _ITERATIONS - 1:
            delay += rest
    error = residual - rest * rate
    white = float(np.sqrt(error @ error / (len(time) - 5) / (rate @ rate)))
    # the parts share gains and bias, which a short part could not tell from a delay
    parted = [delay + (rate[p] @ residual[p]) / max(float(rate[p] @ rate[p]), 1e-300) for p in parts]
    return delay, white, np.array(parted)


def _combined(delays: Array, deviations: Array, correlation: Array, scatters: Array) -> DelayEstimate:
    """All channels together; where they disagree, each counts as one draw from how delays vary (random effects)."""
    shown = np.isfinite(delays)
    count = int(np.count_nonzero(shown))
    if count == 0:
        best = int(np.argmax(correlation))
        if correlation[best] >= LEAST_CORRELATION:
            raise TuningError(
                f'{IMU_CHANNELS[best]} correlates with the motion of the legs ({correlation[best]:.2f}), but its delay '
                f'is larger than searched, or its standard deviation is above {1e3 * LEAST_CERTAIN:g} ms. A '
                'delay needs faster or more motion, or faster sensors'
            )
        raise TuningError(
            f'no IMU channel correlates with the motion of the legs (the best, {IMU_CHANNELS[best]}, by '
            f'{correlation[best]:.2f}): record more motion; or the delay is larger than searched, or '
            'the IMU is mounted otherwise than the machine file says'
        )
    values, weights = delays[shown], 1.0 / deviations[shown] ** 2
    squares = float(np.sum(weights * (values - np.sum(weights * values) / np.sum(weights)) ** 2))
    agree = squares <= chi2.ppf(_AGREEMENT, max(1, count - 1))
    if not agree:
        weights = _with_variance_between(values, weights)
    delay, std = float(np.sum(weights * values) / np.sum(weights)), float(1.0 / np.sqrt(np.sum(weights)))
    return DelayEstimate(
        delay, std, delays, deviations, correlation, float(np.nanmedian(scatters)), bool(agree)
    )


def _with_variance_between(values: Array, weights: Array) -> Array:
    """Weights that explain the scatter of values by a variance between channels (Paule and Mandel 1982)."""

    def excess(between: float) -> float:
        inflated = 1.0 / (1.0 / weights + between)
        mean = np.sum(inflated * values) / np.sum(inflated)
        return float(np.sum(inflated * (values - mean) ** 2)) - (len(values) - 1)

    between = brentq(excess, 0.0, float(np.ptp(values)) ** 2)
    explained: Array = 1.0 / (1.0 / weights + between)
    return explained
