"""Samples in the pipeline's queues, and the IMU input between two instants."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from pkm_description.arrays import Array

from pkm_estimation.stream.messages import LegSample
from pkm_estimation.stream.stamps import Instant

NANOSECOND = 1e-9


class ImuSample(NamedTuple):
    """Specific force and angular rate (6,), platform axes."""

    instant: Instant
    value: Array


class LegMeasurement(NamedTuple):
    """Positions of the drives at an instant."""

    instant: Instant
    sample: LegSample

    @property
    def topic(self) -> str:
        """What it is counted as."""
        return 'legs'


class UserMeasurement(NamedTuple):
    """A user's measurement (m,) with its covariance (m, m); ``observe`` maps sigma points to predictions (m, N)."""

    instant: Instant
    name: str
    observe: Callable[[Any], Array]
    value: Array
    covariance: Array

    @property
    def topic(self) -> str:
        """What it is counted as."""
        return self.name


Measurement = LegMeasurement | UserMeasurement


def measurement_order(measurement: Measurement) -> tuple[Instant, str]:
    """Measurements are processed by time; of equal times the legs come first."""
    return measurement.instant, measurement.name if isinstance(measurement, UserMeasurement) else ''


class Segment(NamedTuple):
    """Input that is linear from ``start`` to ``end``.

    Attributes
    ----------
    duration : s, of the segment
    imu_interval : s, between the IMU samples around it
    """

    start: ImuSample
    end: ImuSample
    duration: float
    imu_interval: float

    @classmethod
    def between(cls, start: ImuSample, end: ImuSample, imu_interval: float) -> Segment:
        """Segment whose duration is that of its stamps."""
        return cls(start, end, seconds(start.instant, end.instant), imu_interval)


class InputPath(NamedTuple):
    """IMU input from the last processed instant to ``end``; no segments if nothing was processed yet."""

    segments: list[Segment]
    end: ImuSample


def seconds(start: Instant, end: Instant) -> float:
    """Time from ``start`` to ``end`` by their stamps [s]."""
    return (end.stamp - start.stamp) * NANOSECOND


def take_input(queue: deque[ImuSample], now: ImuSample | None, instant: Instant, maximum_gap: float) -> InputPath | str:
    """Input from ``now`` to ``instant``, both ends interpolated if needed; or the reason why there is none.

    Drops samples before the last one at or before ``instant``; ``queue`` must hold a sample at ``instant`` or later.
    """
    segments: list[Segment] = []
    while len(queue) > 1 and queue[1].instant <= instant:
        before = queue.popleft()
        if now is not None and queue[0].instant > now.instant:
            segments.append(Segment.between(now, queue[0], seconds(before.instant, queue[0].instant)))
            now = queue[0]
    before = queue[0]
    if before.instant > instant or before.instant.epoch != instant.epoch:
        return 'no_imu_before'
    if before.instant == instant:
        return InputPath(segments, before)
    after = queue[1]
    interval = seconds(before.instant, after.instant)
    if after.instant.epoch != instant.epoch or interval > maximum_gap:
        return 'in_imu_gap'
    weight = seconds(before.instant, instant) / interval
    end = ImuSample(instant, before.value + weight * (after.value - before.value))
    if now is not None:
        segments.append(Segment.between(now, end, interval))
    return InputPath(segments, end)
