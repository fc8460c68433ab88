"""Recent inputs and the filter states before them, so that late samples can be fused at their own time."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any, NamedTuple

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.messages import Measurement, measurement_order
from pkm_estimation.exchange.samples import EARLIER, ImuSample, Instant


class Memory:
    """Snapshots of several objects: shallow copies of their attributes.

    The objects must replace their arrays, never write into them.
    """

    def __init__(self, *parts: object) -> None:
        self._parts = parts

    def snapshot(self) -> list[dict[str, Any]]:
        """Copy the attributes; dicts are copied, too."""
        return [
            {name: value.copy() if isinstance(value, dict) else value for name, value in vars(part).items()}
            for part in self._parts
        ]

    def restore(self, snapshot: list[dict[str, Any]]) -> None:
        """Set the attributes; the snapshot can be used again."""
        for part, values in zip(self._parts, snapshot, strict=True):
            for name, value in values.items():
                setattr(part, name, value.copy() if isinstance(value, dict) else value)


class Processed(NamedTuple):
    """A measurement that was processed.

    Attributes
    ----------
    measurement : the measurement
    due : IMU stamp of the same instant
    before : snapshot taken before it
    answered : whether it was used
    """

    measurement: Measurement
    due: Instant
    before: tuple[Any, ...]
    answered: bool


class History:
    """Inputs of the last ``window`` nanoseconds, and a snapshot for each measurement in it.

    Parameters
    ----------
    window : ns by stamps
    margin : ns of further IMU samples that are kept, for interpolation
    """

    def __init__(self, window: int, margin: int) -> None:
        self._window, self._margin = window, margin
        self.imu: list[ImuSample] = []
        self._processed: list[Processed] = []
        self._complete = True

    @classmethod
    def of(cls, config: EstimatorConfig) -> History | None:
        """History as the settings say, ``None`` where samples must come in order."""
        if config.history <= 0.0:
            return None
        # a late IMU sample changes measurements since the sample before it; the input goes through two earlier ones
        gap = config.maximum_imu_gap
        margin = (2.0 + EARLIER) * gap + abs(config.imu_delay)
        return cls(round(1e9 * (config.history + gap)), round(1e9 * margin))

    def add_imu(self, sample: ImuSample) -> None:
        """Insert a sample in the order of stamps."""
        insort(self.imu, sample, key=_instant)

    def add(self, processed: Processed) -> None:
        """Append a measurement, which must come in order, and drop those that are too old."""
        self._processed.append(processed)
        oldest = processed.measurement.instant
        horizon = Instant(oldest.epoch, oldest.stamp - self._window)
        # one more than the window holds: the state before its beginning is needed, too
        count = 0
        while count + 1 < len(self._processed) and self._processed[count + 1].measurement.instant < horizon:
            count += 1
        if count:
            del self._processed[:count]
            self._complete = False
            begin = _begin(self._processed[0])
            del self.imu[: bisect_left(self.imu, Instant(begin.epoch, begin.stamp - self._margin), key=_instant)]

    def forget(self, waiting: Instant) -> None:
        """Drop IMU samples that are too old and before ``waiting``; else they pile up while no measurement comes."""
        newest = self.imu[-1].instant
        horizon = min(waiting, Instant(newest.epoch, newest.stamp - self._window - self._margin))
        if not self.imu[0].instant < horizon:
            return
        del self.imu[: bisect_left(self.imu, horizon, key=_instant)]
        # the last measurement is kept: late samples are detected by it
        while len(self._processed) > 1 and _begin(self._processed[0]) < horizon:
            del self._processed[0]
        self._complete = False

    def rewind_to_measurement(self, measurement: Measurement) -> list[Processed] | None:
        """Remove and return what was processed after a late measurement; ``None`` if that was dropped already."""
        order = measurement_order(measurement)
        return self._take_from(bisect_left(self._processed, order, key=lambda p: measurement_order(p.measurement)))

    def rewind_to_imu(self, sample: ImuSample) -> list[Processed] | None:
        """Remove and return what a late IMU sample affects; the sample itself is in the history already."""
        index = bisect_left(self.imu, sample.instant, key=_instant)
        if index == 0 and not self._complete:
            return None
        if index == 0:
            return self._take_from(0)
        before = self.imu[index - 1].instant
        return self._take_from(next((k for k, p in enumerate(self._processed) if p.due > before), len(self._processed)))

    def _take_from(self, index: int) -> list[Processed] | None:
        if index == 0 and not self._complete:
            return None
        taken = self._processed[index:]
        del self._processed[index:]
        return taken


def _begin(processed: Processed) -> Instant:
    """Instant from which on IMU samples are needed to process the measurement again."""
    now: ImuSample | None = processed.before[0]
    return processed.due if now is None else min(processed.due, now.instant)


def _instant(sample: ImuSample) -> Instant:
    return sample.instant
