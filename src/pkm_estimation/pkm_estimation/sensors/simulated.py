"""Sensor signals of a machine along a motion, as its file describes them or under given conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import rotated, rotation_exp
from pkm_description.machine import Machine, PlatformMotion

from pkm_estimation.models.leg_model import measured_at_zero, measured_positions
from pkm_estimation.sensors.conditions import Interval, SensorConditions, imu_truth
from pkm_estimation.stream import EstimatorOutput, EstimatorPipeline

Evaluate = Callable[[Array], PlatformMotion]

#: Gauss-Legendre nodes on (0, 1) and weights of the mean over an interval
_NODES, _WEIGHTS = np.array([0.5 - 0.15**0.5, 0.5, 0.5 + 0.15**0.5]), np.array([5.0, 8.0, 5.0]) / 18.0

#: ns, usual stamp of the first sample
_START = 1_000_000_000
#: one stream of random numbers per effect, so that none changes when another is switched on
_IMU_NOISE, _LEG_NOISE, _DELAY, _BURSTS, _LOSS = range(5)


@dataclass(frozen=True)
class SensorData:
    """Synchronous samples.

    Attributes
    ----------
    stamps : (N,) ns
    drive_positions : (N, L) m or rad, as in ``joint_states``, legs in the machine's order
    specific_force, angular_rate : (N, 3) m/s^2, rad/s, IMU axes
    """

    stamps: NDArray[np.int64]
    drive_positions: Array
    specific_force: Array
    angular_rate: Array


def measure(
    machine: Machine, motion: PlatformMotion, seed: int | Sequence[int] | None = 0, start_stamp: int = _START
) -> SensorData:
    """Measure a motion with the machine's IMU and the sensors of its drives.

    Parameters
    ----------
    machine : with the noise, biases and mounting of its sensors
    motion : N samples of the platform's motion
    seed : of the white noise; ``None``: biases, but no noise
    start_stamp : ns, of the motion's first sample

    Returns
    -------
    N samples of both sensors, at the same stamps
    """
    legs = measured_positions(machine, motion.position, motion.rotation_base_platform)
    imu = machine.imu
    force, rate = imu.readings(*imu_truth(motion, machine.gravity, imu.position, imu.rotation_platform_imu))
    force, rate = force + imu.accelerometer_bias, rate + imu.gyroscope_bias
    if seed is not None:
        random = np.random.default_rng(seed)
        force = force + imu.accelerometer_noise * random.normal(size=force.shape)
        rate = rate + imu.gyroscope_noise * random.normal(size=rate.shape)
        legs = legs + machine.leg_sensors.position_noise * random.normal(size=legs.shape)
    stamps = start_stamp + np.rint((motion.time - motion.time[0]) * 1e9).astype(np.int64)
    return SensorData(stamps, legs - measured_at_zero(machine), force, rate)


@dataclass(frozen=True)
class SimulatedData(SensorData):
    """Synchronous samples, and which of them arrived.

    Attributes
    ----------
    imu_received, legs_received : (N,) False where the sample got lost
    """

    imu_received: NDArray[np.bool_]
    legs_received: NDArray[np.bool_]


def simulate_sensors(
    machine: Machine,
    evaluate: Evaluate,
    time: Array,
    conditions: SensorConditions,
    seed: int,
) -> SimulatedData:
    """Measure a motion.

    Parameters
    ----------
    machine : the machine, with its sensors' noise, biases and mounting
    evaluate : motion at any times (N,) s, e.g. of a profile
    time : (N,) s, equidistant
    conditions : what is wrong with the sensors
    seed : of all random effects
    """
    if len(time) < 2 or np.ptp(np.diff(time)) > 1e-9:
        raise ValueError('time needs at least two equidistant samples')
    legs = _drives(machine, evaluate(time), time - time[0], conditions, seed)
    signals = _imu(machine, evaluate, time, conditions, seed)
    if conditions.imu_faults:
        turned = evaluate(time).rotation_base_platform @ machine.imu.rotation_platform_imu
        gravity = rotated(turned.transpose(0, 2, 1), machine.gravity)
        for fault in conditions.imu_faults:
            signals = fault.apply(signals, time - time[0], gravity)
    random = _stream(seed, _LOSS)
    received = [
        (random.random(len(time)) >= loss) & ~_inside(time - time[0], gaps)
        for loss, gaps in ((conditions.imu_loss, conditions.imu_gaps), (conditions.leg_loss, conditions.leg_gaps))
    ]
    stamps = _START + np.rint((time - time[0]) * 1e9).astype(np.int64)
    return SimulatedData(stamps, legs, signals[:, :3], signals[:, 3:], received[0], received[1])


def _imu(machine: Machine, evaluate: Evaluate, time: Array, conditions: SensorConditions, seed: int) -> Array:
    """Specific force and angular rate (N, 6), IMU axes."""
    imu = machine.imu
    mounting = imu.rotation_platform_imu @ rotation_exp(np.array(conditions.imu_misalignment))

    def truth(times: Array) -> Array:
        return np.hstack(imu.readings(*imu_truth(evaluate(times), machine.gravity, imu.position, mounting)))

    def sampled(times: Array) -> Array:
        if not conditions.averaging:
            return truth(times)
        interval = time[1] - time[0]
        return sum(
            (w * truth(times - interval * node) for node, w in zip(_NODES, _WEIGHTS, strict=True)),
            np.zeros((len(time), 6)),
        )

    delays = np.broadcast_to(np.asarray(conditions.imu_delay, dtype=float), (len(time), 6))
    if conditions.imu_delay_fluctuation > 0.0:
        delays = delays + conditions.imu_delay_fluctuation * _wandering(time, conditions, seed)
    if (delays == delays[:, :1]).all():
        signals = sampled(time - delays[:, 0])
    else:
        signals = np.stack([sampled(time - delays[:, axis])[:, axis] for axis in range(6)], axis=1)
    if conditions.bias:
        signals = signals + np.concatenate([imu.accelerometer_bias, imu.gyroscope_bias])
    signals[:, 3:] += np.outer(time - time[0], conditions.gyroscope_drift)
    if conditions.noise:
        deviations = np.concatenate([imu.accelerometer_noise, imu.gyroscope_noise])
        signals = signals + deviations * _white(_stream(seed, _IMU_NOISE), signals.shape, conditions)
    signals[:, :3] = _quantised(signals[:, :3], conditions.accelerometer_step)
    signals[:, 3:] = _quantised(signals[:, 3:], conditions.gyroscope_step)
    return signals


def _drives(machine: Machine, motion: PlatformMotion, elapsed: Array, conditions: SensorConditions, seed: int) -> Array:
    """Positions of the drives (N, L); a strut's sensor measures, and quantises, its length."""
    lengths = measured_positions(machine, motion.position, motion.rotation_base_platform)
    lengths = lengths + np.asarray(conditions.leg_offsets, dtype=float)
    if conditions.noise:
        noise = _white(_stream(seed, _LEG_NOISE), lengths.shape, conditions)
        lengths = lengths + machine.leg_sensors.position_noise * noise
    if conditions.burst_std > 0.0:
        phase = elapsed % conditions.burst_period
        loud = phase >= conditions.burst_period - conditions.burst_duration
        extra = conditions.burst_std * _stream(seed, _BURSTS).normal(size=lengths.shape)
        lengths = lengths + loud[:, None] * extra
    return _quantised(lengths, conditions.length_step) - measured_at_zero(machine)


def _wandering(time: Array, conditions: SensorConditions, seed: int) -> Array:
    """Slow wandering (N, 6) of unit standard deviation: five sines each, none faster than the fluctuation time."""
    random = _stream(seed, _DELAY)
    frequencies = 2.0 * np.pi / conditions.imu_delay_fluctuation_time * random.uniform(0.2, 1.0, size=(6, 5))
    phases = random.uniform(0.0, 2.0 * np.pi, size=(6, 5))
    waves: Array = np.sqrt(2.0 / 5.0) * np.sin(time[:, None, None] * frequencies + phases).sum(axis=-1)
    return waves


def _white(random: np.random.Generator, shape: tuple[int, ...], conditions: SensorConditions) -> Array:
    """White noise of unit standard deviation."""
    if conditions.heavy_tails:
        return random.standard_t(4.0, size=shape) / np.sqrt(2.0)  # its variance is 2
    return random.normal(size=shape)


def _quantised(values: Array, step: float) -> Array:
    return values if step == 0.0 else step * np.rint(values / step)


def _inside(elapsed: Array, gaps: tuple[Interval, ...]) -> NDArray[np.bool_]:
    inside = np.zeros(len(elapsed), dtype=bool)
    for begin, end in gaps:
        inside |= (elapsed >= begin) & (elapsed < end)
    return inside


def _stream(seed: int, effect: int) -> np.random.Generator:
    return np.random.default_rng([seed, effect])


def feed(pipeline: EstimatorPipeline, data: SimulatedData) -> list[EstimatorOutput]:
    """Give all samples that arrived to a pipeline, IMU first at equal stamps."""
    machine = pipeline.machine
    names, positions = machine.actuated_joint_names, data.drive_positions
    outputs: list[EstimatorOutput] = []
    for k, stamp in enumerate(data.stamps.tolist()):
        if data.imu_received[k]:
            outputs += pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
        if data.legs_received[k]:
            outputs += pipeline.add_joint_positions(stamp, names, positions[k])
    return outputs
