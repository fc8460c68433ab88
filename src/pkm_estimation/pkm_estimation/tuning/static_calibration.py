"""Noise and biases from a recording that stands still (Miletovic et al. 2017, section 4.2, Tables 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.loading import write_overlay
from pkm_description.machine import Machine, Pose
from scipy.special import chdtri

from pkm_estimation.tuning.streams import SensorStreams, TuningError, usual_interval

#: s, slower changes are not noise but drift
BLOCK = 1.0
#: noise above so many steps of a sensor blurs them: its mean errs by less than a hundredth of a step
_BLURRED = 0.5
#: lags whose autocorrelations are looked at
_LAGS = 20
#: s over which samples are averaged before they are compared
WINDOW = 0.1
#: standard deviations of such an average that noise is allowed
_NOISE_REACH = 8.0
IMU_CHANNELS = tuple(f'{sensor} {axis}' for sensor in ('accelerometer', 'gyroscope') for axis in 'xyz')

#: how far averages over a tenth of a second may be from their median, beside noise: m (or rad), m/s^2, rad/s
LEG_TOLERANCE, FORCE_TOLERANCE, RATE_TOLERANCE = 5e-5, 2e-2, 2e-3
#: s, shorter recordings do not tell the noise to a few percent
LEAST_DURATION = 10.0
#: m, leg offsets after calibration ("no more than a few tenths of a millimetre", Miletovic 2017, section 5.2)
LEG_OFFSET_STD = 3e-4
#: a recording's rate that differs by more than this part from the machine file's goes into the overlay
_RATE_DIFFERENCE = 0.01


@dataclass(frozen=True)
class StaticCalibration:
    """What a standstill tells about the sensors.

    Attributes
    ----------
    legs : positions of the drives, in the machine's order
    imu : six channels, IMU axes
    bias, bias_std : (6,) IMU axes; the deviation is that of the averages, of legs and IMU
    bias_systematic : (6,) what leg offsets of a given standard deviation make of it, through the attitude
    pose : of the platform, from the mean positions
    leg_rate, imu_rate : Hz
    duration : s
    """

    legs: ChannelNoise
    imu: ChannelNoise
    bias: Array
    bias_std: Array
    bias_systematic: Array
    pose: Pose
    leg_rate: float
    imu_rate: float
    duration: float


def require_standstill(machine: Machine, streams: SensorStreams) -> None:
    """Raise :class:`TuningError` if something moves; it says what, when and how far.

    Averages over a tenth of a second must stay within a tolerance and eight of their own standard deviations of their
    median. The noise is told by neighbouring samples' differences (their median, so that a platform that stands for
    most of the time may move in the rest). Legs decide, and the IMU, too: what carries the machine may move.
    """
    names = machine.actuated_joint_names
    for time, values, tolerance, labels, unit in (
        (streams.leg_time, streams.drive_positions, LEG_TOLERANCE, names, 'm'),
        (streams.imu_time, streams.imu[:, 3:], RATE_TOLERANCE, IMU_CHANNELS[3:], 'rad/s'),
        (streams.imu_time, streams.imu[:, :3], FORCE_TOLERANCE, IMU_CHANNELS[:3], 'm/s^2'),
    ):
        length = min(len(values), max(1, round(WINDOW / usual_interval(time))))
        count = len(values) // length
        averages = values[: count * length].reshape(count, length, -1).mean(axis=1)
        # the median of |difference| of white noise is 0.6745 sqrt(2) standard deviations
        noise = np.median(np.abs(np.diff(values, axis=0)), axis=0) / 0.9539
        allowed = tolerance + _NOISE_REACH * noise / np.sqrt(length)
        away = np.abs(averages - np.median(averages, axis=0))
        if (away <= allowed).all():
            continue
        channel = int(np.argmax((away / allowed).max(axis=0)))
        own, limit = away[:, channel], allowed[channel]
        worst, first = time[length * np.array([np.argmax(own), np.argmax(own > limit)])]
        raise TuningError(
            f'the recording does not stand still: {labels[channel]} is {own.max():.3g} {unit} from its median at '
            f'{worst:.2f} s ({limit:.2g} {unit} allowed, first exceeded at {first:.2f} s). Noise and bias need a '
            'platform at rest: take another recording, or the part of this one where it rests (--begin, --end)'
        )


def calibrate_static(
    machine: Machine, streams: SensorStreams, leg_offset_std: float = LEG_OFFSET_STD
) -> StaticCalibration:
    """Noise of all sensors, and biases of the IMU, from a standstill.

    The accelerometer's bias is its mean less gravity as felt at the attitude that forward kinematics finds from the
    mean positions. The gyroscope's is its mean (the earth's 7e-5 rad/s are in it, as in the filter's).

    Raises
    ------
    TuningError
        The recording moves, or is too short.
    KinematicsError
        The positions have no pose.
    """
    duration = float(min(np.ptp(streams.leg_time), np.ptp(streams.imu_time)))
    if duration < LEAST_DURATION:
        raise TuningError(f'{duration:.1f} s are too short; at least {LEAST_DURATION:g} s of standstill are needed')
    require_standstill(machine, streams)
    intervals = usual_interval(streams.leg_time), usual_interval(streams.imu_time)
    if max(intervals) > 0.5 * BLOCK:
        raise TuningError(f'sensors need more than two samples per second, not one every {max(intervals):.2f} s')
    both = streams.drive_positions, streams.imu
    for values, interval, sensor in zip(both, intervals, ('legs', 'IMU'), strict=True):
        if len(values) * interval < 0.5 * LEAST_DURATION + BLOCK:
            raise TuningError(
                f'{len(values)} samples of the {sensor} in {duration:.1f} s, most of them {1e3 * interval:.3g} ms '
                'apart, are too few: most got lost, or came in bursts'
            )
    legs, imu = channel_noise(streams.drive_positions, intervals[0]), channel_noise(streams.imu, intervals[1])
    felt, slope, pose = _felt_gravity(machine, legs.mean)
    return StaticCalibration(
        legs=legs,
        imu=imu,
        bias=imu.mean - np.concatenate([felt, np.zeros(3)]),
        bias_std=np.hypot(imu.mean_std, np.linalg.norm(slope * legs.mean_std, axis=1)),
        bias_systematic=np.linalg.norm(slope * leg_offset_std, axis=1),
        pose=pose,
        leg_rate=1.0 / intervals[0],
        imu_rate=1.0 / intervals[1],
        duration=duration,
    )


def write_sensor_overlay(
    path: Path, machine: Machine, calibration: StaticCalibration, date: str, data: str
) -> Path:
    """Write the ``sensors`` section's new numbers as an overlay for the machine file.

    A channel that reads the same number all the time keeps the file's noise: its own is below the resolution.
    """
    legs, imu = calibration.legs, calibration.imu
    noise = np.concatenate([machine.imu.accelerometer_noise, machine.imu.gyroscope_noise])
    imu_noise = np.where(imu.noise > 0.0, imu.noise, noise)
    values: dict[str, object] = {
        'sensors.imu.accelerometer.noise': imu_noise[:3],
        'sensors.imu.accelerometer.bias': calibration.bias[:3],
        'sensors.imu.gyroscope.noise': imu_noise[3:],
        'sensors.imu.gyroscope.bias': calibration.bias[3:],
        'sensors.legs.position_noise': np.where(legs.noise > 0.0, legs.noise, machine.leg_sensors.position_noise),
    }
    for key, rate, known in (
        ('sensors.imu.rate', calibration.imu_rate, machine.imu.rate),
        ('sensors.legs.rate', calibration.leg_rate, machine.leg_sensors.rate),
    ):
        if abs(rate / known - 1.0) > _RATE_DIFFERENCE:
            values[key] = round(rate, 3)  # the noise is that of one sample at this rate
    deviations: dict[str, float] = {}
    bias_std = np.hypot(calibration.bias_std, calibration.bias_systematic)
    for offset, sensor in ((0, 'accelerometer'), (3, 'gyroscope')):
        for axis in range(3):
            deviations[f'sensors.imu.{sensor}.noise.{"xyz"[axis]}'] = imu.noise_std[offset + axis]
            deviations[f'sensors.imu.{sensor}.bias.{"xyz"[axis]}'] = bias_std[offset + axis]
    for name, std in zip(machine.drive_labels, legs.noise_std, strict=True):
        deviations[f'sensors.legs.position_noise.{name}'] = std
    return write_overlay(
        path,
        machine.name,
        values,
        date=date,
        data=data,
        method=f'standstill of {calibration.duration:.1f} s: means, deviations within {BLOCK:g} s, attitude by forward '
        'kinematics',
        standard_deviations=deviations,
    )


def static_report(machine: Machine, calibration: StaticCalibration, leg_offset_std: float) -> list[str]:
    """Report as lines of text: every channel with its uncertainty, and the value in the machine file."""
    imu = calibration.imu
    known_noise = np.concatenate([machine.imu.accelerometer_noise, machine.imu.gyroscope_noise])
    known_bias = np.concatenate([machine.imu.accelerometer_bias, machine.imu.gyroscope_bias])
    lines = [
        f'standstill of {calibration.duration:.1f} s, IMU {calibration.imu_rate:.1f} Hz, legs '
        f'{calibration.leg_rate:.1f} Hz',
        f'{"noise of one sample":24s} {"measured":>11s}   {"95 % interval":^23s} {"file":>10s} {"ratio":>6s}',
    ]
    sides = (
        (IMU_CHANNELS, imu, known_noise),
        (machine.actuated_joint_names, calibration.legs, machine.leg_sensors.position_noise),
    )
    rows = [
        row for names, side, known in sides for row in zip(
            names, side.noise, side.noise_interval, known, side.autocorrelation, side.coarse_step, strict=True)
    ]  # fmt: skip
    for name, noise, (low, high), known, correlation, step in rows:
        ratio = f'{noise / known:6.2f}' if known > 0.0 else f'{"-":>6s}'
        remark = f'  not white: autocorrelation {correlation:.2f}' if abs(correlation) > 0.2 else ''
        if noise == 0.0:
            remark = '  reads one number only; the file\'s noise stays, and how well the mean is known cannot be told'
        elif np.isfinite(step):
            remark = f'  coarse: reads in steps of {step:.3g}; noise and mean are no better than step / sqrt(12)'
        lines.append(f'{name:24s} {noise:11.4e}   {low:10.4e} .. {high:9.4e} {known:10.3e} {ratio}{remark}')
    lines.append(f'{"bias":24s} {"measured":>11s}   {"averages":>10s} {"attitude":>10s} {"file":>12s}   (std)')
    for name, bias, std, systematic, known in zip(
        IMU_CHANNELS, calibration.bias, calibration.bias_std, calibration.bias_systematic, known_bias, strict=True
    ):
        lines.append(f'{name:24s} {bias:+11.4e}   {std:10.1e} {systematic:10.1e} {known:+12.4e}')
    lines.append(
        f'(attitude: what leg offsets of {leg_offset_std * 1e3:g} mm do to gravity as felt; mounting of the IMU '
        'and local gravity are taken from the machine file)'
    )
    return lines


def _felt_gravity(machine: Machine, positions: Array) -> tuple[Array, Array, Pose]:
    """Specific force (3,) at rest in IMU axes, its change (6, L) by the positions (gyroscope: zero), the pose."""
    step = 1e-6
    count = len(positions)
    tried = np.vstack([positions, positions + step * np.eye(count), positions - step * np.eye(count)])
    found = forward_kinematics(machine, tried, tolerance=measured_tolerance(machine)).require()
    position, rotation = found.position, found.rotation_base_platform
    felt = -machine.gravity @ rotation @ machine.imu.rotation_platform_imu
    slope = np.zeros((6, count))
    slope[:3] = (felt[1 : count + 1] - felt[count + 1 :]).T / (2.0 * step)
    return felt[0], slope, Pose(position[0], rotation[0])


@dataclass(frozen=True)
class ChannelNoise:
    """C channels.

    Attributes
    ----------
    mean : (C,)
    mean_std : (C,) standard deviation of the mean; slow drift makes it larger than white noise alone would
    noise : (C,) standard deviation of one sample around its block of a second; exactly zero where all samples are equal
    noise_std : (C,) standard deviation of that
    noise_interval : (C, 2) its 95 % confidence interval
    autocorrelation : (C,) of neighbouring samples; white noise has zero
    coarse_step : (C,) between readings, where noise is too small to blur it; infinite if there is only one reading, NaN
        where noise blurs it
    """

    mean: Array
    mean_std: Array
    noise: Array
    noise_std: Array
    noise_interval: Array
    autocorrelation: Array
    coarse_step: Array


def channel_noise(values: Array, interval: float) -> ChannelNoise:
    """Estimate mean and noise of (N, C) samples, ``interval`` s apart.

    The noise is pooled from deviations within blocks of a second, so that drift does not count. Its uncertainty is that
    of a variance with ``N - blocks`` degrees of freedom, fewer for heavy tails and coloured noise. The mean's
    uncertainty is the larger one of white noise and the scatter of the blocks' means. A sensor whose noise does not
    blur its steps errs by a constant, too, when at rest, of a step / sqrt(12), and no sample of it is better than that.
    """
    length = max(2, round(BLOCK / interval))
    count = len(values) // length
    if count < 5:
        raise ValueError(f'{len(values)} samples are fewer than five blocks of {length}')
    first = values[0]
    values = values - first  # equal readings become zero without rounding
    blocks = values[: count * length].reshape(count, length, -1)
    means = blocks.mean(axis=1)
    residual = (blocks - means[:, None]).reshape(count * length, -1)
    # each block has lost one degree of freedom to its mean
    dof = np.full(values.shape[1], float(count * (length - 1)))
    squares = np.sum(residual**2, axis=0)
    variance = squares / dof
    safe = np.where(variance > 0.0, variance, 1.0)
    kurtosis = np.mean(residual**4, axis=0) / safe**2 - 3.0
    correlations = np.stack(
        [np.sum(residual[lag:] * residual[:-lag], axis=0) / (safe * len(residual)) for lag in range(1, _LAGS + 1)]
    )
    # residuals of a block sum to zero, so those of white noise correlate by -1 / length, in pairs of one block
    pairs = np.maximum(0, length - np.arange(1, _LAGS + 1)) / length
    correlations = correlations + pairs[:, None] / length
    dof = dof / ((1.0 + 0.5 * np.maximum(kurtosis, 0.0)) * (1.0 + 2.0 * np.sum(correlations**2, axis=0)))
    noise = np.sqrt(variance)
    white, scatter = noise / np.sqrt(len(values)), means.std(axis=0, ddof=1) / np.sqrt(count)
    mean, mean_std = first + values.mean(axis=0), np.maximum(white, scatter)
    steps = np.array([_smallest_step(column) for column in values.T])
    coarse = noise < _BLURRED * steps
    rounding = np.where(coarse & np.isfinite(steps), steps, 0.0) / np.sqrt(12.0)
    noise, mean_std = np.maximum(noise, rounding), np.hypot(mean_std, rounding)
    return ChannelNoise(
        mean=mean,
        mean_std=mean_std,
        noise=noise,
        noise_std=noise / np.sqrt(2.0 * dof),
        noise_interval=noise[:, None]
        * np.sqrt(dof[:, None] / np.stack([chdtri(dof, 0.025), chdtri(dof, 0.975)], axis=1)),
        autocorrelation=correlations[0],
        coarse_step=np.where(coarse, steps, np.nan),
    )


def _smallest_step(readings: Array) -> float:
    """Smallest difference between two different readings (N,), infinite if there is one only."""
    different = np.unique(readings)
    steps = np.diff(different)
    # steps of floating-point rounding are none
    steps = steps[steps > 1e-9 * np.ptp(different)]
    return float(steps.min()) if len(steps) else np.inf
