"""IMU in motion and legs: what the innovations of the filter say of geometry and IMU.

One pass of the filter over a recording, with the machine as it is known now, gives score and information of all its
constants (:mod:`pkm_estimation.kernels.carried`): no external instrument is needed. What internal sensors do not see,
such as where the base frame is, keeps its prior.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine import Machine
from pkm_description.machine.sensors import MEMS_ACCELEROMETER_WALK, MEMS_GYROSCOPE_WALK
from scipy.optimize import minimize_scalar
from scipy.special import chdtri

from pkm_estimation.bags import RecordedData
from pkm_estimation.calibration.constants import IMU_PRIORS, Constants
from pkm_estimation.calibration.problem import mean_square
from pkm_estimation.config import EstimatorConfig
from pkm_estimation.filtering.constant_columns import ConstantScore, named_columns
from pkm_estimation.offline.comparison import RecordedSamples
from pkm_estimation.offline.estimate import AsToldPipeline
from pkm_estimation.stream.stretch import RepeatablePipeline
from pkm_estimation.tuning.delay import estimate_delay
from pkm_estimation.tuning.streams import SensorStreams, TuningError

#: part of a recording that is fitted while the rest is held out
_FITTED = 2.0 / 3.0
#: s, before which innovations do not count
_SETTLING = 5.0
#: s, of a recording in which the estimator looks for an IMU that is far off
_LIVELIEST = 20.0
#: samples that are processed at once
_TOGETHER = 1000
#: probability with which innovations that are as stated pass for larger
_BY_CHANCE = 1e-3
#: times the walks of a usual IMU, up to which they are searched, and how exactly their logarithm is
_MOST, _PRECISION = 30.0, 0.2
#: standard deviations, and s, by which a delay is another one than is declared
_CERTAIN, _FAR = 4.0, 2e-3


@dataclass(frozen=True)
class Motion:
    """A recording of IMU and legs while the platform moves. What it says at values that were tried is kept.

    Attributes
    ----------
    constants : of the problem
    data : the recording
    config : settings of the estimator
    """

    constants: Constants
    data: RecordedData
    config: EstimatorConfig
    _scores: dict[bytes, ConstantScore] = field(init=False, repr=False, compare=False, default_factory=dict)

    def score(self, values: Array) -> ConstantScore:
        """See :class:`~pkm_estimation.calibration.problem.Measurement`."""
        if (key := values.tobytes()) not in self._scores:
            self._scores[key] = self._scored(values)
        return self._scores[key]

    def _scored(self, values: Array) -> ConstantScore:
        """Pass of the filter over the recording."""
        machine = self.constants.machine_at(values)
        config = replace(self.config, imu_delay=self.constants.delay_at(values))
        pipeline = AsToldPipeline(machine, config)
        _run(pipeline, self.data)
        return self._of_constants(pipeline)

    def part(self) -> Motion:
        """See :class:`~pkm_estimation.calibration.problem.Measurement`: the first part of the recording."""
        return self._part

    @cached_property
    def _part(self) -> Motion:
        return replace(self, data=between(self.data, 0, fitted_until(self.data)))

    def leaves_out(self) -> bool:
        """See :class:`~pkm_estimation.calibration.problem.Measurement`: the filter's gates do."""
        return False

    def with_walks(self, values: Array) -> Motion:
        """The same with biases that walk by as much more than stated as innovations show, with constants (p,).

        As many times as those of a usual IMU as makes the innovations as large as they should be: those of a bias that
        is taken for constant last, and look like constants of the machine.
        """
        imu, config = self.constants.machine.imu, self.config
        of_file = imu.accelerometer_bias_walk.max(), imu.gyroscope_bias_walk.max()
        settings = config.accelerometer_bias_walk, config.gyroscope_bias_walk
        stated = [walk if setting < 0.0 else setting for walk, setting in zip(of_file, settings, strict=True)]

        def walking(logarithm: float) -> Motion:
            walks = np.hypot(stated, exp(logarithm) * np.array([MEMS_ACCELEROMETER_WALK, MEMS_GYROSCOPE_WALK]))
            accelerometer, gyroscope = (float(f'{walk:.3g}') for walk in walks)
            tried = replace(config, accelerometer_bias_walk=accelerometer, gyroscope_bias_walk=gyroscope)
            return replace(self, config=tried)

        @cache
        def judged(logarithm: float) -> tuple[float, float]:  # a run of the filter
            return mean_square(self.constants, walking(logarithm), values)

        if _is_as_stated(*mean_square(self.constants, self, values)):
            return self
        found = minimize_scalar(
            lambda logarithm: log(judged(logarithm)[0]) ** 2, bounds=(-log(_MOST), log(_MOST)),
            method='bounded', options={'xatol': _PRECISION},
        ).x  # fmt: skip
        return walking(found) if _is_as_stated(*judged(found)) else self

    def told(self) -> list[str]:
        """See :class:`~pkm_estimation.calibration.problem.Measurement`: how the biases walk by settings."""
        if self.config.accelerometer_bias_walk < 0.0:
            return []
        walks = f'{self.config.accelerometer_bias_walk:g} m/s^2 and {self.config.gyroscope_bias_walk:g} rad/s'
        return [f'biases of the IMU walk by {walks} per root of a second']

    def _of_constants(self, pipeline: RepeatablePipeline) -> ConstantScore:
        """The filter's score, in the order and the units of the problem's constants."""
        own, score = named_columns(self.constants.machine, pipeline.filter.columns), pipeline.filter.score
        columns = [own[name] for name in self.constants.names]
        places = [column.place for column in columns]
        factors = self.constants.std / [column.unit for column in columns]
        block = score.information[np.ix_(places, places)]
        return ConstantScore(
            factors * score.score[places], factors[:, None] * block * factors, score.squares.copy()
        )


def _is_as_stated(square: float, count: float) -> bool:
    """Whether a mean of so many squares is no larger than chance makes it."""
    return square < float(chdtri(count, _BY_CHANCE)) / count


def of_motion(machine: Machine, data: RecordedData, config: EstimatorConfig) -> tuple[Constants, EstimatorConfig]:
    """Constants that a recording of a motion shows, counted from those of the IMU that the estimator finds by itself.

    An IMU that is mounted degrees off, or late by many ms, is too far away for a linear step: the delay is that of the
    legs' motion, and the estimator, which tests its innovations for the rest, runs before where most motion is.
    """
    # a filter whose innovations say what constants are
    config = replace(
        config, filter='manifold', estimate=(), history=0.0, adapt_noise='off', claim='repeatability', baseline=False
    )
    try:
        delay, std = estimate_delay(machine, SensorStreams.from_recording(machine, data))
    except (TuningError, KinematicsError):  # the estimator may know better
        pass
    else:
        if abs(delay - config.imu_delay) > max(_FAR, _CERTAIN * std):
            config = replace(config, imu_delay=delay)
    pipeline = RepeatablePipeline(machine, config)
    _run(pipeline, _liveliest(data))
    found = pipeline.as_found()
    return _constants(found[0], config, found[1].imu_delay), replace(config, imu_delay=found[1].imu_delay)


def _constants(machine: Machine, config: EstimatorConfig, imu_delay: float) -> Constants:
    """All constants that the filter has columns of."""
    machine = replace(machine, tolerances=replace(machine.tolerances, imu_scale=IMU_PRIORS['gyroscope']))
    columns = RepeatablePipeline(machine, config).filter.columns
    imu = tuple((column.kind, column.axis) for column in columns if column.kind in IMU_PRIORS)
    return Constants(machine, imu, imu_delay)


def _run(pipeline: RepeatablePipeline, data: RecordedData) -> None:
    """Take all samples of a recording; what is estimated is of no interest.

    The first seconds, in which the filter finds speed and biases, say nothing of constants: slopes are those of a
    state that is wrong yet, and would look like information about what the motion does not show.
    """
    pipeline.baseline_wanted = False
    samples, end = RecordedSamples(data), 0
    stamps = np.sort(np.concatenate([samples.imu.stamps, samples.legs.stamps]))
    settling = min(round(1e9 * _SETTLING), int(stamps[-1] - stamps[0]) // 3)
    settled = int(np.searchsorted(stamps, stamps[0] + settling))
    while end < len(samples):
        begin, end = end, min(end + _TOGETHER, len(samples) if end >= settled else settled)
        if samples.together(pipeline, begin, end) is None:
            for _ in samples.one_by_one(pipeline, begin, end):
                pass
        if end == settled:
            pipeline.filter.score = ConstantScore.nothing(len(pipeline.filter.ukf.claim))
    pipeline.finish()


def _liveliest(data: RecordedData) -> RecordedData:
    """The part of a recording in which its drives move most."""
    legs = data.require(data.joint_states, 'joint_states')
    steps = np.abs(np.diff(legs.positions, axis=0, prepend=legs.positions[:1]))
    way = np.cumsum(np.nansum(steps, axis=1))
    last = np.searchsorted(legs.stamps, legs.stamps + round(1e9 * _LIVELIEST), side='right') - 1
    begin = int(np.argmax(way[last] - way))
    return between(data, int(legs.stamps[begin]), int(legs.stamps[last[begin]]))


def fitted_until(data: RecordedData) -> int:
    """Stamp [ns] where the part of a recording ends that is fitted while the rest is held out."""
    legs = data.require(data.joint_states, 'joint_states').stamps
    return int(legs[0]) + round(_FITTED * (int(legs[-1]) - int(legs[0])))


def between(data: RecordedData, begin: int, end: int) -> RecordedData:
    """A recording's samples of IMU and drives with stamps from ``begin`` to ``end`` [ns]."""
    parts = {}
    for name, stream in (('joint_states', data.joint_states), ('imu_data_raw', data.imu_data_raw)):
        if stream is not None:
            parts[name] = _rows_of(stream, (stream.stamps >= begin) & (stream.stamps <= end))
    return replace(data, **parts)


def _rows_of(stream: Any, rows: NDArray[np.bool_]) -> Any:
    """Some messages of a stream: all its arrays of as many rows."""
    places = np.flatnonzero(rows)
    unlike = getattr(stream, 'unlike', {})
    changed: dict[str, Any] = {
        item.name: value[rows]
        for item in fields(stream)
        if isinstance(value := getattr(stream, item.name), np.ndarray) and len(value) == len(rows)
    }
    if unlike:
        changed['unlike'] = {new: unlike[old] for new, old in enumerate(places.tolist()) if old in unlike}
    return replace(stream, **changed)
