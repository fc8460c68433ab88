"""S3-58 to S3-61, S3-63: speed, determinism, offline use, contents, measurements of the user's own."""

from __future__ import annotations

import gc
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from pkm_estimation.bags import BagWriter, read_bag
from pkm_estimation.offline.estimate import estimate_recording
from pkm_estimation.offline.result import EstimationResult, collect
from pkm_estimation.sensors import SimulatedData
from pkm_estimation.sensors.simulated import feed
from pkm_estimation.stream import EstimatorPipeline, PlatformFilter

from verification.check import Check, at_most, equal, holds
from verification.miletovic_2017.filter_run import Signals, make_filter, signals_of, start
from verification.miletovic_2017.laboratory import Laboratory
from verification.miletovic_2017.pipeline_run import simulated
from verification.miletovic_2017.scenario import DEFAULT, INTERVAL, PRINTED, Scenario, machine_named


def _step(filter_: PlatformFilter, signals: Signals, k: int) -> None:
    filter_.predict(signals.inputs[k - 1], signals.inputs[k], INTERVAL)
    filter_.update(signals.positions[k])


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
    signals = signals_of(Scenario('srs', begin=12.0, duration=30.0))
    filter_ = make_filter(Scenario('srs', config=DEFAULT))
    start(Scenario('srs', config=DEFAULT), filter_, signals)
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
