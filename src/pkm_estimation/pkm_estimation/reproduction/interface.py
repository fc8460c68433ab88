"""S3-58 to S3-61, S3-63: speed, determinism, offline use, contents, measurements of the user's own."""

from __future__ import annotations

import gc
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pkm_description.verification.check import Check, at_most, equal, holds, within

from pkm_estimation.bags import BagWriter, read_bag
from pkm_estimation.offline import EstimationResult, collect, estimate_recording
from pkm_estimation.pipeline import EstimatorPipeline, PlatformFilter
from pkm_estimation.reproduction.filter_run import Signals, make_filter, signals_of, start
from pkm_estimation.reproduction.laboratory import Laboratory
from pkm_estimation.reproduction.pipeline_run import feed, simulated
from pkm_estimation.reproduction.scenario import DEFAULT, INTERVAL, PRINTED, Scenario, machine_named
from pkm_estimation.sensors import SimulatedData

Array = NDArray[np.float64]


def _step(filter_: PlatformFilter, signals: Signals, k: int) -> None:
    filter_.predict(signals.inputs[k - 1], signals.inputs[k], INTERVAL, INTERVAL)
    filter_.update(signals.lengths[k])


def speed(lab: Laboratory) -> Iterator[Check]:
    """S3-58: processor time of single steps, so that other programs do not count; the paper's is C++."""
    count = 2_000 if lab.quick else 10_000
    for name, config in (('printed filter', PRINTED), ('default filter', DEFAULT)):
        scenario = Scenario('srs', begin=12.0, duration=0.01 * count, config=config)
        signals, filter_ = signals_of(scenario), make_filter(scenario)
        start(scenario, filter_, signals)
        durations = np.empty(count)
        began = time.monotonic()
        for k in range(1, count + 1):
            before = time.thread_time_ns()
            _step(filter_, signals, k)
            durations[k - 1] = time.thread_time_ns() - before
        wall = 1e3 * (time.monotonic() - began) / count
        milliseconds = 1e-6 * durations[100:]
        what = f'{name}: processor time per step, mean of {count} (wall {wall:.3f} ms)'
        yield at_most('S3-58', what, 0.5, milliseconds.mean(), 'ms')
        yield at_most('S3-58', f'{name}: 99.9th percentile', 2.0, np.quantile(milliseconds, 0.999), 'ms')
    data = simulated(Scenario('srs', begin=12.0, duration=0.01 * count))
    pipeline = EstimatorPipeline(machine_named('srs'), DEFAULT)
    before = time.thread_time_ns()
    outputs = feed(pipeline, data)
    mean = 1e-6 * (time.thread_time_ns() - before) / len(outputs)
    yield at_most('S3-58', 'whole pipeline, without baseline: processor time per estimate', 0.5, mean, 'ms')


def determinism(lab: Laboratory) -> Iterator[Check]:
    """S3-59: NumPy makes temporaries within a step; what must not be is memory that stays."""
    data = simulated(Scenario('srs', begin=5.0, duration=10.0 if lab.quick else 30.0))
    first, second = (_estimates(data) for _ in range(2))
    yield equal('S3-59', f'replay of {len(first)} estimates: bits that differ', 0, _different_bits(first, second))
    signals = signals_of(Scenario('srs', begin=12.0, duration=30.0))
    filter_ = make_filter(Scenario('srs', config=DEFAULT))
    start(Scenario('srs', config=DEFAULT), filter_, signals)
    for k in range(1, 1000):
        _step(filter_, signals, k)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for k in range(1000, 3000):
        _step(filter_, signals, k)
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # numbers that are kept as state are replaced by others of their kind
    yield at_most('S3-59', 'memory that 2000 steps leave behind', 8.0, kept / 1024.0, 'KiB')


def offline(lab: Laboratory) -> Iterator[Check]:
    """S3-60: live order of arrival into the pipeline, against a recording of the same samples."""
    data = simulated(Scenario('srs', begin=5.0, duration=10.0 if lab.quick else 30.0))
    live = _estimates(data)
    machine = machine_named('srs')
    pipeline = EstimatorPipeline(machine, DEFAULT)
    positions = data.leg_lengths - pipeline.mechanism.lengths_at_zero
    for storage in ('mcap', 'sqlite3'):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'recording'
            with BagWriter(path, storage, '') as writer:
                nothing = np.full_like(positions, np.nan)
                writer.write_joint_states(
                    data.stamps, pipeline.mechanism.actuated_joint_names, positions, nothing, nothing
                )
                writer.write_imu(data.stamps, data.specific_force, data.angular_rate)
            recorded = estimate_recording(machine, read_bag(path), DEFAULT)
        yield equal('S3-60', f'{storage}: estimates offline', len(live), len(recorded))
        yield equal('S3-60', f'{storage}: bits that differ', 0, _different_bits(live, recorded))


def _estimates(data: SimulatedData) -> EstimationResult:
    pipeline = EstimatorPipeline(machine_named('srs'), DEFAULT)
    outputs = feed(pipeline, data)
    return collect(outputs, pipeline.health.report())


def _different_bits(first: EstimationResult, second: EstimationResult) -> int:
    """Bytes that differ in all arrays of two results; -1 where their shapes do."""
    different = 0
    for mine, other in ((first, second), (first.motion, second.motion)):
        for name in mine.__dataclass_fields__:
            left, right = getattr(mine, name), getattr(other, name)
            if not isinstance(left, np.ndarray):
                continue
            if left.shape != right.shape:
                return -1
            bits = [np.frombuffer(array.tobytes(), np.uint8) for array in (left, right)]
            different += int(np.count_nonzero(bits[0] != bits[1]))
    return different


def contents(lab: Laboratory) -> Iterator[Check]:
    """S3-61: of each estimate that the pipeline gives, which is what the node publishes."""
    run = lab.pipelines([Scenario('srs', duration=lab.duration, config=replace(DEFAULT, baseline=True))])[0]
    result, rows = run.result, slice(1, None)  # the first estimate is the start itself, without an innovation
    for what, values in (
        ('state and its deviations', (run.state, run.state_deviation)),
        ('pose, twist and their covariances', (
            result.motion.position, result.motion.orientation, result.motion.linear_velocity,
            result.motion.pose_covariance, result.motion.twist_covariance,
        )),
        ('biases and their deviations', (result.accelerometer_bias, result.gyroscope_bias, result.bias_deviation)),
        ('innovations, their sigma, NIS', (
            result.innovation[rows], result.innovation_deviation[rows], result.nis[rows],
        )),
        ('corrected rate and specific force, acceleration', (
            result.angular_rate, result.specific_force, result.linear_acceleration,
        )),
    ):  # fmt: skip
        complete = min(float(np.mean(np.isfinite(value))) for value in values)
        counts = {len(value) for value in values}
        good = complete == 1.0 and counts <= {len(result), len(result) - 1}
        yield holds('S3-61', what, 'finite with each estimate', f'{100 * complete:.6g} % of {max(counts)}', good)
    level, sentence = run.verdict
    yield holds('S3-61', 'health', 'a level and a sentence', f'{level}: {sentence}', bool(level and sentence))


#: m, of a camera that sees the platform's IMU
CAMERA_NOISE = 5e-6


def own_measurements(lab: Laboratory) -> Iterator[Check]:
    """S3-63: two examples that need functions of the state only; nothing of the filter is changed."""
    duration = 15.0 if lab.quick else 30.0
    scenario = Scenario('srs', begin=5.0, duration=duration, config=DEFAULT, seed=7)
    signals = signals_of(scenario)
    plain, with_camera, with_rates = (make_filter(scenario) for _ in range(3))
    random = np.random.default_rng(7)
    camera = signals.states[:, :3] + CAMERA_NOISE * random.normal(size=(len(signals.inputs), 3))
    rate_noise = float(np.max(machine_named('srs').leg_sensors.velocity_noise))
    true_rates = np.gradient(_quiet_lengths(scenario), INTERVAL, axis=0)
    rates = true_rates + rate_noise * random.normal(size=true_rates.shape)
    for filter_ in (plain, with_camera, with_rates):
        start(scenario, filter_, signals)
    errors: list[list[Array]] = [[], []]
    camera_nis, rate_nis = [], []
    for k in range(1, len(signals.inputs) - 1):
        for filter_ in (plain, with_camera, with_rates):
            _step(filter_, signals, k)
        camera_nis.append(add_position(with_camera, camera[k]))
        rate_nis.append(add_leg_rates(with_rates, signals.inputs[k], rates[k], rate_noise))
        for filter_, log in zip((plain, with_camera), errors, strict=True):
            log.append(filter_.state[:3] - signals.states[k, :3])
    rms = [1e6 * np.sqrt(np.mean(np.array(log)[300:] ** 2)) for log in errors]
    yield within('S3-63', 'position by a camera, 5 um: mean NIS (three degrees of freedom)', 2.7, 3.3,
                 float(np.mean(camera_nis[300:])))  # fmt: skip
    text = f'{rms[1]:.2f} um with it, {rms[0]:.2f} without'
    yield holds('S3-63', 'the same: position error, rms', 'smaller', text, bool(rms[1] < rms[0]))
    yield within('S3-63', 'leg velocities with the noise of the machine file: mean NIS (six)', 5.4, 6.6,
                 float(np.mean(rate_nis[300:])))  # fmt: skip


def add_position(filter_: PlatformFilter, measured: Array) -> float:
    """Give a filter the position (3,) m of its IMU, base axes; returns the NIS."""
    noise = CAMERA_NOISE**2 * np.eye(3)
    return filter_.ukf.update(lambda states: filter_.chart @ states[:3], measured, noise).nis


def add_leg_rates(filter_: PlatformFilter, imu: Array, measured: Array, deviation: float) -> float:
    """Give a filter the rates (L,) m/s of its legs: the change of the lengths over a very short prediction."""
    short = 1e-4

    def leg_rates(states: Array) -> Array:
        lengths = filter_.legs.observe(states).copy()
        moved = filter_.process.propagate(states.copy(), imu, imu, short)
        rates: Array = (filter_.legs.observe(moved) - lengths) / short
        return rates

    # the gyroscope's noise turns the platform by as much, and its joints are that far away
    reach = float(np.linalg.norm(filter_.geometry.platform_points, axis=1).max())
    variance = deviation**2 + reach**2 * float(filter_.imu_covariance.diagonal()[3:].max())
    return filter_.ukf.update(leg_rates, measured, variance * np.eye(len(measured))).nis


def _quiet_lengths(scenario: Scenario) -> Array:
    conditions = replace(scenario.conditions, noise=False)
    return simulated(replace(scenario, conditions=conditions)).leg_lengths
