"""The estimator over a recording: the same pipeline as in the node, fed in the order of the recording."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from pkm_description.errors import PkmError
from pkm_description.machine import Machine

from pkm_estimation.bags import Imu, JointStates, RecordedData
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.collection import Collection, baseline_motion, streamed_baseline
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.sensors import SensorData, SimulatedData
from pkm_estimation.stream import EstimatorConfig, EstimatorOutput, EstimatorPipeline
from pkm_estimation.stream.baseline import BaselineStream
from pkm_estimation.stream.baseline_series import baseline_series
from pkm_estimation.stream.messages import LegSample
from pkm_estimation.stream.output import OutputBlock
from pkm_estimation.stream.samples import Instant
from pkm_estimation.stream.stretch import Stretch, StretchPipeline

Stamps = NDArray[np.int64]

#: samples that are processed at once: fewer, if they had to be looked at one by one, most, if all is well
_FEWEST, _MOST = 10, 1000


def estimate(
    machine: Machine, data: SensorData | RecordedData, config: EstimatorConfig | None = None
) -> EstimationResult:
    """Estimate the motion of the platform from all samples of IMU and drives, in the order of their stamps.

    Parameters
    ----------
    machine : what :func:`pkm_description.load_machine` gives
    data : arrays, from :func:`pkm_estimation.measure` or :func:`pkm_estimation.simulate_sensors`, or a recording, from
        :func:`pkm_estimation.read_bag`
    config : settings; default: those of the estimator node

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
    PkmError
        Nothing could be estimated; says why.

    Examples
    --------
    >>> result = estimate(srs, measure(srs, motion))
    >>> error = result.motion.position - motion.position  # (N, 3) m
    >>> deviation = np.sqrt(np.diagonal(result.motion.pose_covariance, axis1=1, axis2=2))  # (N, 6) m, rad
    """
    if isinstance(data, RecordedData):
        return estimate_recording(machine, data, config)
    # these arrays are in the suite's convention, whatever the machine's driver publishes
    return estimate_recording(machine.as_converted, _recorded(machine, data), config)


def _recorded(machine: Machine, data: SensorData) -> RecordedData:
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

    Raises
    ------
    MissingTopicError
        If the recording lacks one of the topics.
    PkmError
        If nothing could be estimated; says why.
    """
    with _older_objects_left_alone():
        return _estimate(StretchPipeline(machine, config), data, start_stamp_ns, baseline_stamp_ns, progress)


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


def _estimate(
    pipeline: StretchPipeline,
    data: RecordedData,
    start_stamp_ns: int | None,
    baseline_stamp_ns: int | None,
    progress: Callable[[float], None] | None,
) -> EstimationResult:
    pipeline.baseline_wanted = False  # afterwards, all at once: a tenth of the time
    collection = Collection()
    imu = data.require(data.imu_data_raw, 'imu/data_raw')
    legs = data.require(data.joint_states, 'joint_states')
    is_imu, total = _in_recorded_order(imu.recorded_at, legs.recorded_at), len(imu) + len(legs)
    imu_before = np.concatenate([[0], np.cumsum(is_imu)]).tolist()
    samples, names = np.concatenate([imu.specific_force, imu.angular_rate], axis=1), tuple(legs.names)
    first_leg = int((np.append(legs.stamps, start_stamp_ns or 0) >= (start_stamp_ns or 0)).argmax())

    def one_by_one(begin: int, end: int) -> Iterator[EstimatorOutput]:
        for done in range(begin, end):
            row, leg = imu_before[done], done - imu_before[done]
            if is_imu[done]:
                yield from pipeline.add_imu(int(imu.stamps[row]), samples[row, :3], samples[row, 3:])
            elif leg >= first_leg:
                unlike = legs.unlike.get(leg) or (names, legs.positions[leg], legs.efforts[leg])
                yield from pipeline.add_joint_positions(int(legs.stamps[leg]), *unlike)

    end, step, most = 0, _FEWEST, min(_MOST, total // 100 + 1)
    while end < total:
        begin, end = end, min(end + step, total)
        row = slice(imu_before[begin], imu_before[end])
        leg = slice(begin - row.start, end - row.stop)
        outputs: Iterable[EstimatorOutput | OutputBlock] | None = None
        if leg.start >= first_leg and not legs.unlike:
            stretch = Stretch(
                imu.stamps[row], samples[row], legs.stamps[leg], names, legs.positions[leg], legs.efforts[leg]
            )
            outputs = pipeline.add_stretch(stretch)
        step = min(_FEWEST if outputs is None else 2 * step, most)
        for output in one_by_one(begin, end) if outputs is None else outputs:
            collection.add(output)
        if progress is not None:
            progress(end / total)
    if not collection.count:
        counters = ', '.join(f'{name} {count}' for name, count in pipeline.health.counters.items())
        raise PkmError(f'{data.path}: no estimate from {len(legs)} leg and {len(imu)} IMU samples ({counters})')
    baseline = _baseline(pipeline, collection, baseline_stamp_ns)
    return collection.result(baseline, pipeline.health.report(), pipeline.filter.layout.groups)


def _baseline(pipeline: EstimatorPipeline, collection: Collection, first_stamp: int | None) -> MotionEstimate:
    """Baseline at the estimates' measurements, in the order of their stamps; empty where the settings say so."""
    machine, config, health = pipeline.machine, pipeline.config, pipeline.health
    epochs, stamps, positions = collection.columns('epoch', 'motion_stamps', 'drive_positions')
    if not config.baseline:
        return baseline_motion(stamps[:0], None)
    order = np.lexsort([stamps, epochs])
    epochs, stamps, positions = epochs[order], stamps[order], positions[order]
    if first_stamp is None:
        series = baseline_series(machine, config, epochs, stamps, positions, health)
        return baseline_motion(series.stamps, series.estimates)
    stream = BaselineStream(machine, config, health)
    estimates = [
        (stamp, stream.estimate(Instant(epoch, stamp), LegSample(row, row, np.flatnonzero(np.isfinite(row)))))
        for epoch, stamp, row in zip(epochs.tolist(), stamps.tolist(), positions, strict=True)
        if stamp >= first_stamp
    ]
    return streamed_baseline(estimates)


def _in_recorded_order(imu_at: Stamps, legs_at: Stamps) -> NDArray[np.bool_]:
    """Merge two streams by the recorder's time, each in its own order: which of the samples are the IMU's."""
    # running maximum: a recorder's clock that steps back must not change the order within a stream
    at = np.concatenate([np.maximum.accumulate(imu_at), np.maximum.accumulate(legs_at)])
    return np.repeat([True, False], [len(imu_at), len(legs_at)])[np.argsort(at, kind='stable')]
