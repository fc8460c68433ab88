"""S3-58 to S3-61, S3-63: speed, determinism, offline use, contents, measurements of the user's own."""

from __future__ import annotations

import gc
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_estimation.bags import BagWriter, read_bag
from pkm_estimation.filtering.point_motion import PlatformPoints
from pkm_estimation.offline.estimate import estimate_recording
from pkm_estimation.offline.result import EstimationResult, collect
from pkm_estimation.sensors import SimulatedData
from pkm_estimation.sensors.simulated import feed
from pkm_estimation.stream import EstimatorPipeline, PlatformFilter

from verification.check import Check, at_most, equal, holds, within
from verification.miletovic_2017.filter_run import Signals, started
from verification.miletovic_2017.pipeline_run import Laboratory, simulated
from verification.miletovic_2017.scenario import (
    DEFAULT,
    INTERVAL,
    PRINTED,
    RATE,
    Scenario,
    machine_named,
    profile_named,
)


def speed(lab: Laboratory) -> Iterator[Check]:
    """S3-58: processor time of single steps, so that other programs do not count; the paper's is C++."""
    count = 2_000 if lab.quick else 10_000
    for name, config in (('printed filter', PRINTED), ('default filter', DEFAULT)):
        scenario = Scenario('srs', begin=12.0, duration=0.01 * count, config=config)
        filter_, signals = started(scenario)
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
    pipeline, names = EstimatorPipeline(machine_named('srs'), DEFAULT), machine_named('srs').actuated_joint_names
    both = np.empty((len(data.stamps), 2))
    for k, stamp in enumerate(data.stamps.tolist()):
        before, wall_before = time.thread_time_ns(), time.monotonic_ns()
        pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
        pipeline.add_joint_positions(stamp, names, data.drive_positions[k])
        both[k] = time.thread_time_ns() - before, time.monotonic_ns() - wall_before
    processor, elapsed = 1e-6 * both[100:].T
    what = f'whole pipeline, IMU and leg sample: processor time, mean (wall {elapsed.mean():.3f} ms)'
    yield at_most('S3-58', what, 0.5, processor.mean(), 'ms')
    what = f'whole pipeline: 99.9th percentile of processor time (wall {np.quantile(elapsed, 0.999):.3g} ms)'
    yield at_most('S3-58', what, 2.0, np.quantile(processor, 0.999), 'ms')


def determinism(lab: Laboratory) -> Iterator[Check]:
    """S3-59: NumPy makes temporary arrays within a step, but no memory may stay allocated."""
    data = simulated(Scenario('srs', begin=5.0, duration=10.0 if lab.quick else 30.0))
    first, second = (_estimates(data) for _ in range(2))
    yield equal('S3-59', f'replay of {len(first)} estimates: bits that differ', 0, _different_bits(first, second))
    filter_, signals = started(Scenario('srs', begin=12.0, duration=30.0, config=DEFAULT))
    for k in range(1, 1000):
        _step(filter_, signals, k)
    gc.collect()
    tracemalloc.start()
    peaks = np.zeros(2000)
    before = tracemalloc.get_traced_memory()[0]
    for k in range(1000, 3000):
        tracemalloc.reset_peak()
        at_rest = tracemalloc.get_traced_memory()[0]
        _step(filter_, signals, k)
        peaks[k - 1000] = tracemalloc.get_traced_memory()[1] - at_rest
    gc.collect()
    _forget_names()
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    temporary = float(np.median(peaks)) / 1024.0
    what = 'memory that a step takes for itself and gives back, median of 2000 steps'
    yield at_most('S3-59', what, 0.0, temporary, 'KiB')
    # numbers kept as state are replaced by new ones of the same size
    yield at_most('S3-59', 'memory still allocated after 2000 steps', 8.0, kept / 1024.0, 'KiB')


def _step(filter_: PlatformFilter, signals: Signals, k: int) -> None:
    filter_.predict(signals.inputs[k - 1], signals.inputs[k], INTERVAL)
    filter_.update(signals.positions[k])


def _forget_names() -> None:
    """Empty CPython's table of attribute look-ups.

    Numba looks attributes of every argument up by a new string. The table, of 4096 places at most, keeps those used
    last: some kilobytes, as chance has it, that cannot become more than 250.
    """
    if sys.version_info >= (3, 13):
        sys._clear_internal_caches()
    else:
        sys._clear_type_cache()


def offline(lab: Laboratory) -> Iterator[Check]:
    """S3-60: live order of arrival into the pipeline, against a recording of the same samples."""
    data = simulated(Scenario('srs', begin=5.0, duration=10.0 if lab.quick else 30.0))
    live = _estimates(data)
    machine = machine_named('srs')
    pipeline = EstimatorPipeline(machine, DEFAULT)
    positions = data.drive_positions
    for storage in ('mcap', 'sqlite3'):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'recording'
            with BagWriter(path, storage, '') as writer:
                nothing = np.full_like(positions, np.nan)
                writer.write_joint_states(
                    data.stamps, pipeline.machine.actuated_joint_names, positions, nothing, nothing
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
    """S3-61: of each estimate that the pipeline gives; what of it is on topics, the tests of the node say."""
    run = lab.pipelines([Scenario('srs', duration=lab.duration, config=replace(DEFAULT, baseline=True))])[0]
    result, rows = run.result, slice(1, None)  # the first estimate is the start itself, without an innovation
    for what, values in (
        ('state and its deviations', (run.state, run.state_std)),
        ('pose, twist and their covariances', (
            result.motion.position, result.motion.orientation, result.motion.linear_velocity,
            result.motion.pose_covariance, result.motion.twist_covariance,
        )),
        ('biases and their deviations', (result.accelerometer_bias, result.gyroscope_bias, result.bias_std)),
        ('innovations, their sigma, NIS', (
            result.innovation[rows], result.innovation_std[rows], result.nis[rows],
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


Send = Callable[[EstimatorPipeline, int, int], object]

#: m, of a camera that sees the platform's origin
CAMERA_NOISE = 5e-6

#: samples left out at the beginning
_SETTLING = round(3.0 * RATE)


def own_measurements(lab: Laboratory) -> Iterator[Check]:
    """S3-63: functions of the platform's motion, given to the pipeline together with their values."""
    scenario = Scenario('srs', begin=5.0, duration=15.0 if lab.quick else 30.0, config=DEFAULT, seed=7)
    motion = profile_named('srs', 'mp1')(scenario.time)
    random = np.random.default_rng(7)
    camera = motion.position + CAMERA_NOISE * random.normal(size=motion.position.shape)
    std = float(np.max(machine_named('srs').leg_sensors.velocity_noise))
    quiet = replace(scenario, conditions=replace(scenario.conditions, noise=False))
    true_rates = np.gradient(simulated(quiet).drive_positions, INTERVAL, axis=0, edge_order=2)
    rates = true_rates + std * random.normal(size=true_rates.shape)
    # the gyroscope's noise, too, moves the joints, in proportion to their distance
    reach = float(np.linalg.norm(machine_named('srs').platform_points, axis=1).max())
    variance = std**2 + (reach * float(np.max(machine_named('srs').imu.gyroscope_noise))) ** 2

    def nothing(pipeline: EstimatorPipeline, stamp: int, k: int) -> None:
        del pipeline, stamp, k

    def send_position(pipeline: EstimatorPipeline, stamp: int, k: int) -> object:
        noise = CAMERA_NOISE**2 * np.eye(3)
        return pipeline.add_measurement(stamp, lambda points: points.position().T, camera[k], noise, 'camera')

    def send_rates(pipeline: EstimatorPipeline, stamp: int, k: int) -> object:
        return pipeline.add_measurement(stamp, leg_rates, rates[k], variance * np.eye(6), 'leg_rates')

    plain, _ = _run(scenario, nothing)
    for name, send, size in (('camera', send_position, 3), ('leg_rates', send_rates, 6)):
        error, (count, nis, expected) = _run(scenario, send, name)
        yield equal('S3-63', f'{name}: numbers per measurement', size, expected)
        yield within('S3-63', f'{name}: mean NIS of {count}', 0.9 * size, 1.1 * size, nis)
        text = f'{1e6 * error:.2f} um with it, {1e6 * plain:.2f} without'
        limit = plain if name == 'camera' else 1.05 * plain
        required = 'smaller' if name == 'camera' else 'not worse (5 %)'
        yield holds('S3-63', f'{name}: position error, rms', required, text, error < limit)


def leg_rates(points: PlatformPoints) -> Array:
    """Rates (6, N) m/s of SIMONA's legs: velocities of the platform's joints along the legs."""
    machine = machine_named('srs')
    rates = []
    for leg in machine.legs:
        along = points.position(leg.platform_point) - leg.base_point
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        rates.append(np.sum(along * points.velocity(leg.platform_point), axis=1))
    return np.array(rates)


def _run(scenario: Scenario, send: Send, name: str = '') -> tuple[float, tuple[int, float, int]]:
    """Position error (rms, m), and how many measurements of a name were taken, their mean NIS and size."""
    data = simulated(scenario)
    pipeline = EstimatorPipeline(machine_named('srs'), scenario.config)
    names = pipeline.machine.actuated_joint_names
    positions = data.drive_positions
    truth = profile_named('srs', 'mp1')(scenario.time).position
    errors = []
    for k, stamp in enumerate(data.stamps.tolist()):
        outputs = pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
        outputs += pipeline.add_joint_positions(stamp, names, positions[k])
        errors += [output.motion.position - truth[k] for output in outputs]
        send(pipeline, stamp, k)
    taken = pipeline.health.report().user_measurements
    return float(np.sqrt(np.mean(np.square(errors[_SETTLING:])))), taken.get(name, (0, float('nan'), 0))
