"""The last seconds once more, from a fresh start, with a model that differs in something.

A replay can be run in portions, so that a running estimator is not held for long. What a portion costs is counted in
units of a sample of the IMU, not in time: the same live and offline.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kernels.model import Integers
from pkm_description.machine import Machine

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.filters import CovarianceError
from pkm_estimation.models import VELOCITY
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.stream.blocks import LegResponse
from pkm_estimation.stream.messages import LegMeasurement, LegSample
from pkm_estimation.stream.samples import ImuSample, Instant
from pkm_estimation.stream.tracker import Tracker

#: starts within one replay beyond which the samples say nothing
_MOST_STARTS = 3
#: NIS that is never reached
_NEVER = 1e12
#: standard deviation of the start, m and of the quaternion's vector part: that of a model that is wrong by millimetres
_START_STD = 3e-3
#: ns between two looks at the pose: nobody is told of it, and each one interrupts the compiled loop
_LOOK_EVERY = 10_000_000_000
#: units that a portion costs at most; that a measurement costs which is followed, and one that is processed by itself,
#: the same with a response; that a tracker costs
_PORTION, _FOLLOWED, _CALL, _BY_ITSELF, _WITH_RESPONSE, _TRACKER = 1500, 5, 40, 80, 150, 1000

Result = TypeVar('Result')


class Window(NamedTuple):
    """Samples of one epoch.

    Attributes
    ----------
    imu_stamps, imu : (M,) ns, (M, 6) platform axes
    leg_stamps, positions : (N,) ns, (N, A) m, of all drives
    since : ns, from when on something may have drifted: the first measurement of all
    kicks : (N, 3, 3) m^2/s^2, platform axes, covariance of what the samples of the IMU miss of the velocity since the
        measurement before; empty: nothing
    """

    imu_stamps: Integers
    imu: Array
    leg_stamps: Integers
    positions: Array
    since: int
    kicks: Array = np.zeros((0, 3, 3))

    @property
    def elapsed(self) -> Array:
        """Time (N,) s of the measurements since ``since``."""
        return np.multiply(self.leg_stamps - self.since, 1e-9, dtype=float)


@dataclass(frozen=True)
class Replayed:
    """Innovations of the N measurements of a window; NaN where a measurement was no ordinary one.

    Attributes
    ----------
    white : (N, A) divided by the root of their covariance
    logarithms : (N,) sum of the logarithms of their variances
    """

    white: Array
    logarithms: Array

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """Which of the measurements (N,) have an innovation."""
        there: NDArray[np.bool_] = np.isfinite(self.logarithms)
        return there


def replay_config(config: EstimatorConfig) -> EstimatorConfig:
    """Settings of a replay: nothing is decided, every measurement is used."""
    return replace(
        config, estimate=(), adapt_noise='off', start='forward_kinematics', history=0.0, baseline=False, leg_gate=0.0,
        follow_modes=False,
        divergence_nis=_NEVER, iteration_nis=_NEVER, start_position_std=_START_STD, start_attitude_std=_START_STD,
    )  # fmt: skip


def replay(machine: Machine, config: EstimatorConfig, window: Window) -> Replayed | None:
    """Estimate over a window from a fresh start; ``None`` if that is impossible.

    Parameters
    ----------
    machine, config : of the model; the settings are those of :func:`replay_config`
    window : the samples
    """
    return completed(replaying(machine, config, window))


def replaying(
    machine: Machine, config: EstimatorConfig, window: Window, response: LegResponse | None = None
) -> Generator[int, None, Replayed | None]:
    """:func:`replay` in portions; gives what each has cost, in units of a sample of the IMU.

    With a ``response`` it goes measurement by measurement, and all innovations are in that only.
    """
    try:
        tracker = Tracker(machine, config, ImuFrame(machine.imu))
        tracker.pose_watch.interval = _LOOK_EVERY
        tracker.filter.record = response
        yield _TRACKER
        return (yield from _replayed(tracker, window, response))
    except (PkmError, CovarianceError, np.linalg.LinAlgError):
        return None


def completed(portions: Generator[int, None, Result]) -> Result:
    """Run all portions at once."""
    while True:
        try:
            next(portions)
        except StopIteration as end:
            result: Result = end.value
            return result


def _replayed(tracker: Tracker, window: Window, response: LegResponse | None) -> Generator[int, None, Replayed | None]:
    count, drives = window.positions.shape
    white, logarithms = np.full((count, drives), np.nan), np.full(count, np.nan)
    everything, unknown = np.arange(drives), np.full(drives, np.nan)
    leg, imu, starts, cost = 0, 0, 0, 0
    most = max(1, _PORTION * count // (_FOLLOWED * count + len(window.imu_stamps)))

    kicked = np.append(np.flatnonzero(window.kicks.any(axis=(1, 2))), count)
    at, is_kicked = 0, False

    def measurement() -> LegMeasurement:
        sample = LegSample(window.positions[leg], unknown, everything)
        return LegMeasurement(Instant(0, window.leg_stamps.item(leg)), sample)

    while leg < count:
        if 2 * cost > _PORTION:  # the next step may cost a whole one
            yield cost
            cost = 0
        while kicked[at] < leg:
            at, is_kicked = at + 1, False
        if kicked[at] == leg and tracker.now is not None and not is_kicked:
            tracker.filter.covariance[VELOCITY, VELOCITY] += window.kicks[leg]
            is_kicked = True
        if tracker.now is not None and tracker.can_follow:
            portion = slice(leg, min(leg + most, kicked[at + is_kicked]))
            followed = tracker.follow(
                window.imu_stamps[imu:], window.imu[imu:], window.leg_stamps[portion], window.positions[portion]
            )
            if followed:
                rows = slice(leg, leg + len(followed))
                white[rows] = followed.data.white
                logarithms[rows] = np.log(followed.data.variances).sum(axis=1)
                imu, leg = imu + followed.place, leg + len(followed)
                cost += _FOLLOWED * len(followed) + followed.place + (_CALL if len(kicked) > 1 else 0)
                continue
        due = tracker.due(Instant(0, window.leg_stamps.item(leg)))
        end = int(np.searchsorted(window.imu_stamps, due.stamp)) + 1
        if end > len(window.imu_stamps):
            break
        if tracker.now is None:
            starts += 1
            if starts > _MOST_STARTS:
                return None
        stamps = window.imu_stamps[imu:end].tolist()
        queue = deque(
            ImuSample(Instant(0, stamp), value) for stamp, value in zip(stamps, window.imu[imu:end], strict=True)
        )
        output = tracker.process_legs(measurement(), queue)
        if response is not None and output is not None and output.innovation is not None:
            response.corrected(leg, tracker.filter)
        imu, leg = end - len(queue), leg + 1
        cost += _BY_ITSELF if response is None else _WITH_RESPONSE
    yield cost
    return Replayed(white, logarithms)
