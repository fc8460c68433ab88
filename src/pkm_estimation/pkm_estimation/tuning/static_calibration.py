"""Noise and biases from a recording that stands still (Miletovic et al. 2017, section 4.2, Tables 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.loading import write_overlay
from pkm_description.machine import Machine, Pose

from pkm_estimation.tuning.channel_noise import BLOCK, ChannelNoise, channel_noise
from pkm_estimation.tuning.leg_motion import poses
from pkm_estimation.tuning.standstill import find_movement
from pkm_estimation.tuning.streams import SensorStreams, TuningError, usual_interval

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

    @property
    def bias_total(self) -> Array:
        """Standard deviations (6,) of the biases from both causes."""
        total: Array = np.hypot(self.bias_std, self.bias_systematic)
        return total


def require_standstill(machine: Machine, streams: SensorStreams) -> None:
    """Raise :class:`TuningError` if something moves; it says what, when and how far.

    Legs decide, and the IMU, too: what carries the machine may move.
    """
    names = machine.actuated_joint_names
    for time, values, tolerance, labels, unit in (
        (streams.leg_time, streams.drive_positions, LEG_TOLERANCE, names, 'm'),
        (streams.imu_time, streams.imu[:, 3:], RATE_TOLERANCE, IMU_CHANNELS[3:], 'rad/s'),
        (streams.imu_time, streams.imu[:, :3], FORCE_TOLERANCE, IMU_CHANNELS[:3], 'm/s^2'),
    ):
        movement = find_movement(time, values, tolerance)
        if movement is not None:
            raise TuningError(
                f'the recording does not stand still: {labels[movement.channel]} is {movement.distance:.3g} {unit} '
                f'from its median at {movement.worst:.2f} s ({movement.allowed:.2g} {unit} allowed, first exceeded at '
                f'{movement.first:.2f} s). Noise and bias need a platform at rest: take another recording, or the part '
                'of this one where it rests (--begin, --end)'
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
        bias_std=np.hypot(imu.mean_std, _norms(slope * legs.mean_std)),
        bias_systematic=_norms(slope * leg_offset_std),
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
    for offset, sensor in ((0, 'accelerometer'), (3, 'gyroscope')):
        for axis in range(3):
            deviations[f'sensors.imu.{sensor}.noise.{"xyz"[axis]}'] = imu.noise_std[offset + axis]
            deviations[f'sensors.imu.{sensor}.bias.{"xyz"[axis]}'] = calibration.bias_total[offset + axis]
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
    rows = [
        *zip(
            IMU_CHANNELS,
            imu.noise,
            imu.noise_interval,
            known_noise,
            imu.autocorrelation,
            imu.coarse_step,
            strict=True,
        ),
        *zip(
            machine.actuated_joint_names,
            calibration.legs.noise,
            calibration.legs.noise_interval,
            machine.leg_sensors.position_noise,
            calibration.legs.autocorrelation,
            calibration.legs.coarse_step,
            strict=True,
        ),
    ]
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
    position, rotation = poses(machine, tried)
    felt = -machine.gravity @ rotation @ machine.imu.rotation_platform_imu
    slope = np.zeros((6, count))
    slope[:3] = (felt[1 : count + 1] - felt[count + 1 :]).T / (2.0 * step)
    return felt[0], slope, Pose(position[0], rotation[0])


def _norms(rows: Array) -> Array:
    norms: Array = np.sqrt(np.sum(rows * rows, axis=1))
    return norms
