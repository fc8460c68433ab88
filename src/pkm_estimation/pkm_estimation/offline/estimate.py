"""The estimator over a recording: the same pipeline as in the node, fed in the order of the recording."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.machine import Machine

from pkm_estimation.bags import Imu, JointStates, RecordedData
from pkm_estimation.exchange.baseline import BaselineStream, baseline_series
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.messages import LegSample
from pkm_estimation.exchange.samples import Instant
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.comparison import RecordedSamples
from pkm_estimation.offline.result import Collection, EstimationResult, baseline_motion, streamed_baseline
from pkm_estimation.offline.smoothing import Checkpoints, check_smoothable, smoothed
from pkm_estimation.sensors import SensorData, SimulatedData
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.stretch import RepeatablePipeline

Stamps = NDArray[np.int64]

#: samples that are processed at once: fewer, if they had to be looked at one by one, most, if all is well
_FEWEST, _MOST = 10, 1000
_LONGEST_QUEUE = 1_000_000


def estimate(
    machine: Machine, data: SensorData | RecordedData, config: EstimatorConfig | None = None, smooth: bool = False
) -> EstimationResult:
    """Estimate the motion of the platform from all samples of IMU and drives, in the order of their stamps.

    Parameters
    ----------
    machine : what :func:`pkm_description.load_machine` gives
    data : arrays, from :func:`pkm_estimation.measure` or :func:`pkm_estimation.simulate_sensors`, or a recording, from
        :func:`pkm_estimation.read_bag`
    config : settings; default: those of the estimator node
    smooth : take later measurements into account, too (fixed-interval smoothing, Rauch, Tung and Striebel 1965): for
        recordings only, as the node cannot know them. Each stretch between two starts of the filter is smoothed by
        itself. Takes three to ten times as long

    Returns
    -------
    N estimates, one for each sample of the drives that could be used (of :func:`measure`: for all of them), as arrays
    with a leading axis N: ``result.motion`` has stamps, position, orientation, velocities and their covariances, of the
    origin of ``platform_link`` in ``base_link``; ``result.baseline`` is the same motion by forward kinematics and a
    differentiator, without the IMU; ``result.nis``, ``result.accelerometer_bias`` and more are described at
    :class:`EstimationResult`.

    Raises
    ------
    MissingTopicError
        The recording lacks ``joint_states`` or ``imu/data_raw``.
    ConfigurationError
        With these settings nothing can be smoothed; says why.
    PkmError
        Nothing could be estimated; says why.

    Examples
    --------
    >>> result = estimate(srs, measure(srs, motion))
    >>> error = result.motion.position - motion.position  # (N, 3) m
    >>> deviation = np.sqrt(np.diagonal(result.motion.pose_covariance, axis1=1, axis2=2))  # (N, 6) m, rad
    """
    if isinstance(data, RecordedData):
        return estimate_recording(machine, data, config, smooth=smooth)
    # these arrays are in the suite's convention, whatever the machine's driver publishes
    return estimate_recording(machine.as_converted, recorded(machine, data), config, smooth=smooth)


def recorded(machine: Machine, data: SensorData) -> RecordedData:
    """Arrays as a recording, each sample taken at its stamp."""
    everything = np.ones(len(data.stamps), dtype=bool)
    imu, legs = everything, everything
    if isinstance(data, SimulatedData):
        imu, legs = data.imu_received, data.legs_received
    imu_stamps, leg_stamps, positions = data.stamps[imu], data.stamps[legs], data.drive_positions[legs]
    unknown = np.full(positions.shape, np.nan)
    return RecordedData(
        path='sensor data',
        topics={'joint_states': int(legs.sum()), 'imu/data_raw': int(imu.sum())},
        joint_states=JointStates(
            leg_stamps, leg_stamps, machine.actuated_joint_names, positions, unknown, unknown
        ),
        imu_data_raw=Imu(
            imu_stamps,
            imu_stamps,
            machine.imu.frame,
            data.specific_force[imu],
            data.angular_rate[imu],
            np.full((len(imu_stamps), 4), np.nan),
        ),
    )


def estimate_recording(
    machine: Machine,
    data: RecordedData,
    config: EstimatorConfig | None = None,
    start_stamp_ns: int | None = None,
    baseline_stamp_ns: int | None = None,
    progress: Callable[[float], None] | None = None,
    smooth: bool = False,
) -> EstimationResult:
    """Run the estimator over recorded ``joint_states`` and ``imu/data_raw``.

    Parameters
    ----------
    machine, data, config : what to estimate, from what, how
    start_stamp_ns : leave out leg measurements before this stamp; with the stamp of the first recorded estimate the
        live node's run is repeated bit by bit
    baseline_stamp_ns : run the baseline sample by sample from this stamp on, as the node does for subscribers;
        by default it runs over everything at once: the same to rounding, at a tenth of the time
    progress : called with the finished part (0-1) at least a hundred times
    smooth : as in :func:`estimate`

    Raises
    ------
    MissingTopicError
        If the recording lacks one of the topics.
    PkmError
        If nothing could be estimated; says why.
    """
    # what a recorder on a busy computer wrote late waits for the other topic: nothing is dropped for that
    config = replace(config or EstimatorConfig(), queue_length=_LONGEST_QUEUE)
    report = progress or _quietly
    with _older_objects_left_alone():
        zeros: Array | float = 0.0
        if smooth:
            check_smoothable(config)
            first = RepeatablePipeline(machine, config)
            estimate_by(first, data, start_stamp_ns, baseline_stamp_ns)
            # a smoother takes all steps as those of one model: what was found is known from the begin on
            machine, config, zeros = first.as_found()
        pipeline = RepeatablePipeline(machine, config)
        pipeline.filter.legs.zeros[:] = zeros
        return estimate_by(pipeline, data, start_stamp_ns, baseline_stamp_ns, report, smooth)


def _quietly(_part: float) -> None:
    return


@contextmanager
def _older_objects_left_alone() -> Iterator[None]:
    """Keep the garbage collector from looking, again and again, at all that importing has made: a tenth of the time."""
    if gc.get_freeze_count():  # somebody has seen to it already
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class AsToldPipeline(RepeatablePipeline):
    """Pipeline that tests its innovations for no constant, and takes none into account but those that it is told."""

    def _know(
        self, machine: Machine, health: HealthMonitor | None, stds: dict[str, Array], zeros: Array | float
    ) -> None:
        super()._know(machine, health, stds, zeros)
        self.lasting.is_on = False
        self.filter.process.data.is_measured[0] = 0


def estimate_by(
    pipeline: RepeatablePipeline,
    data: RecordedData,
    start_stamp_ns: int | None = None,
    baseline_stamp_ns: int | None = None,
    progress: Callable[[float], None] = _quietly,
    smooth: bool = False,
) -> EstimationResult:
    """Run a pipeline that is new over a recording; as :func:`estimate_recording`."""
    pipeline.baseline_wanted = False  # afterwards, all at once: a tenth of the time
    collection, samples = Collection(), RecordedSamples(data, start_stamp_ns)
    checkpoints = Checkpoints(pipeline) if smooth else None
    pipeline.tracker.paths.may_bridge = not smooth  # each run has to come by the same steps, block by block
    end, step, total = 0, _FEWEST, len(samples)
    most = min(_MOST, total // 100 + 1)
    while end < total:
        begin, end = end, min(end + step, total)
        if checkpoints is not None:
            checkpoints.pass_by(begin, collection.count)
        outputs = samples.together(pipeline, begin, end)
        step = min(_FEWEST if outputs is None else 2 * step, most)
        for output in samples.one_by_one(pipeline, begin, end) if outputs is None else outputs:
            collection.add(output)
        progress((0.3 if smooth else 1.0) * end / total)
    for output in pipeline.finish():
        collection.add(output)
    if not collection.count:
        counters = ', '.join(f'{name} {count}' for name, count in pipeline.health.counters.items())
        events = pipeline.health.report().events
        raise PkmError(
            f'{data.path}: no estimate from {len(samples.legs)} leg and {len(samples.imu)} IMU samples ({counters})'
            + (f': {events[0].detail}' if events else '')
        )
    baseline = _baseline(pipeline, collection, baseline_stamp_ns)
    result = collection.result(baseline, pipeline.health.report(), pipeline.filter.layout.groups)
    if checkpoints is None:
        return result
    return smoothed(result, pipeline, samples, checkpoints, lambda part: progress(0.3 + 0.7 * part))


def _baseline(pipeline: EstimatorPipeline, collection: Collection, first_stamp: int | None) -> MotionEstimate:
    """Baseline at the estimates' measurements, in the order of their stamps; empty where the settings say so."""
    machine, config, health = pipeline.machine, pipeline.config, pipeline.health
    epochs, stamps, positions = collection.columns('epoch', 'motion_stamps', 'drive_positions')
    if not config.baseline:
        return baseline_motion(stamps[:0], None)
    order = np.lexsort([stamps, epochs])
    epochs, stamps, positions = epochs[order], stamps[order], positions[order]
    if first_stamp is None:
        return baseline_motion(*baseline_series(machine, config, epochs, stamps, positions, health))
    stream = BaselineStream(machine, config, health)
    estimates = [
        (stamp, stream.estimate(Instant(epoch, stamp), LegSample(row, row, np.flatnonzero(np.isfinite(row)))))
        for epoch, stamp, row in zip(epochs.tolist(), stamps.tolist(), positions, strict=True)
        if stamp >= first_stamp
    ]
    return streamed_baseline(estimates)

