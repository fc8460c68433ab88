"""Samples of an IMU that cannot be right by themselves: zeros, at the end of its range, beyond it, always the same."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from pkm_description.arrays import Array, packed
from pkm_description.driver import ImuConversion
from pkm_description.kernels.model import Integers
from pkm_description.machine import ImuSensor

from pkm_estimation.kernels.imu_ends import HIGHEST, LOWER, LOWEST, ROWS, STEP, UPPER, find_ends
from pkm_estimation.stream.imu_jumps import ImuJumps
from pkm_estimation.stream.samples import EARLIER, IMU_UNITS, Instant

#: parts of the range from which on a number counts as clipped, and as none of this sensor
_CLIPPED, _BEYOND = 0.998, 1.05
#: the six numbers of a sample
_AXES = tuple(f'{what} {axis}' for what in ('specific force', 'angular rate') for axis in 'xyz')
#: m/s^2 and rad/s that no platform does, where the range is not known
_ABSURD = 1000.0, 100.0
#: samples that repeat the one before, all six numbers, from which on the IMU may be frozen; parts of its usual repeats
_REPEATS, _UNUSUAL = 4, 3
#: ns that repeats of a driver that publishes faster than its sensor last at most
_LONGEST_USUAL = 100_000_000
#: ns for which a span is kept beyond the time for which samples may be late
_KEPT = 1_000_000_000


class BadSpan(NamedTuple):
    """Samples that cannot be right.

    Attributes
    ----------
    kind : ``imu_zeros``, ``imu_clipped``, ``imu_implausible``, ``imu_frozen``
    detail : one sentence
    begin, end : instants between which the input depends on them
    first : of the first of them
    """

    kind: str
    detail: str
    begin: Instant
    end: Instant
    first: Instant

    @property
    def is_certain(self) -> bool:
        """Whether the samples are wrong for sure: at rest a quantised IMU may repeat itself."""
        return self.kind != 'imu_frozen'


class ImuWatch:
    """Looks at each sample of the IMU in the order of its stamps.

    Attributes
    ----------
    jumps : samples that may be right, but make the input uncertain

    Parameters
    ----------
    imu : its ranges
    conversion : units of the samples
    feels_gravity : whether there is gravity, so that a specific force of zero is impossible
    history : s by which samples may be late
    """

    def __init__(self, imu: ImuSensor, conversion: ImuConversion, feels_gravity: bool, history: float) -> None:
        self._kept = _KEPT + round(1e9 * history)
        ranges = np.repeat([imu.accelerometer_range, imu.gyroscope_range], 3)
        known = np.isfinite(ranges)
        self._ranges, self._scale = np.where(known, ranges, np.repeat(_ABSURD, 3)), conversion.scale
        self._known = known
        # a square sum below 1 says that no number is near its limit
        limits = np.where(known, _CLIPPED * ranges, self._ranges)
        self._parts = self._scale / limits
        self._feels_gravity = feels_gravity
        self.jumps = ImuJumps(imu, conversion, self._kept)
        self._ends = RangeEnds()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._spans: list[BadSpan] = []
        self._until: Instant | None = None
        self._last = b''
        self._instant: Instant | None = None
        self._repeats, self._usual = 0, 0
        self._run_begin = Instant(0, 0)
        self.jumps.reset()
        self._ends.reset()

    def snapshot(self) -> dict[str, Any]:
        """State for :meth:`restore`."""
        return {
            **vars(self), '_spans': list(self._spans), 'jumps': deepcopy(self.jumps), '_ends': deepcopy(self._ends),
        }  # fmt: skip

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore a snapshot, which can be used again."""
        own = {name: deepcopy(snapshot[name]) for name in ('jumps', '_ends')}
        vars(self).update({**snapshot, '_spans': list(snapshot['_spans']), **own})

    # -- samples -------------------------------------------------------------------------------------------------------

    def take(self, instant: Instant, value: Array) -> None:
        """Look at a sample (6,) as the driver has it; one that is late is not looked at."""
        if self._instant is None or not instant < self._instant:
            self._take(instant, value, self._ends.find(value[None]).item())

    def _take(self, instant: Instant, value: Array, ended: int) -> None:
        """The same of the next sample; ``ended`` is 1 plus an axis that has stopped at the end of a range, or 0."""
        before = self._instant
        self.jumps.take(instant.epoch, np.array([instant.stamp]), value[None])
        content, parts = value.tobytes(), value * self._parts
        if content == self._last and value[:3].any():
            self._repeat(instant)
        elif self._repeats:
            self._end_repeats(instant)
        self._instant, self._last = instant, content
        if not parts.dot(parts) < 1.0 or (self._feels_gravity and not value[:3].any()):
            self._judge(before, instant, value)
        elif ended and not self._known[ended - 1]:
            size = abs(float(value[ended - 1] * self._scale[ended - 1]))
            detail = f'{_AXES[ended - 1]} stops at {size:.4g} {IMU_UNITS[ended - 1]} while it moves fast: clipped'
            self._add('imu_clipped', f'{detail}; state its range in the machine file', before, instant, instant)

    def take_all(self, epoch: int, stamps: Integers, values: Array) -> None:
        """Look at samples (M,) ns, (M, 6) that continue this stream."""
        if not len(stamps):
            return
        parts = values * self._parts
        quiet = self._repeats == 0 and values[0].tobytes() != self._last
        quiet = quiet and bool((np.einsum('ij,ij->i', parts, parts) < 0.999).all())
        quiet = quiet and bool((values[1:] != values[:-1]).any(axis=1).all())
        quiet = quiet and (not self._feels_gravity or bool(values[:, :3].any(axis=1).all()))
        ended = self._ends.find(values)
        if quiet and not ended.any():
            self.jumps.take(epoch, stamps, values)
            self._instant, self._last = Instant(epoch, int(stamps[-1])), values[-1].tobytes()
            return
        for stamp, value, end in zip(stamps.tolist(), values, ended.tolist(), strict=True):
            self._take(Instant(epoch, stamp), value, end)

    def _judge(self, before: Instant | None, instant: Instant, value: Array) -> None:
        size = np.abs(value * self._scale)
        if self._feels_gravity and not value[:3].any():
            what = 'all six numbers are' if not value.any() else 'the specific force is'
            self._add('imu_zeros', f'{what} zero: the sensor is not read, or not filled in', before, instant, instant)
        elif (size > np.where(self._known, _BEYOND, 1.0) * self._ranges).any():
            self._add('imu_implausible', f'{self._largest(size)}: spike, or wrong units', before, instant, instant)
        elif (size >= _CLIPPED * self._ranges)[self._known].any():
            self._add('imu_clipped', f'{self._largest(size)}: clipped', before, instant, instant)

    def _largest(self, size: Array) -> str:
        axis = int(np.argmax(size / self._ranges))
        whose = 'of its range' if self._known[axis] else 'that any platform does'
        return f'{_AXES[axis]} reaches {size[axis]:.4g} {IMU_UNITS[axis]} of {self._ranges[axis]:.4g} {whose}'

    def _repeat(self, instant: Instant) -> None:
        assert self._instant is not None
        if not self._repeats:
            self._run_begin = self._instant
        self._repeats += 1
        if self._repeats >= max(_REPEATS, _UNUSUAL * self._usual):
            detail = f'{self._repeats} samples repeat the one before in all six numbers while legs move: frozen'
            self._add('imu_frozen', detail, self._instant, instant, self._run_begin)

    def _end_repeats(self, instant: Instant) -> None:
        if instant.epoch == self._run_begin.epoch and instant.stamp - self._run_begin.stamp < _LONGEST_USUAL:
            self._usual = max(self._usual, self._repeats)
        self._repeats = 0

    def _add(self, kind: str, detail: str, before: Instant | None, instant: Instant, first: Instant) -> None:
        begin = instant if before is None or before.epoch != instant.epoch else before
        # a sample acts in as many intervals after it as the input's polynomial has earlier samples, and one more
        end = Instant(instant.epoch, instant.stamp + (EARLIER + 1) * (instant.stamp - begin.stamp) + 1)
        for place, span in enumerate(self._spans):
            if span.kind == kind and begin <= span.end:
                self._spans[place] = span._replace(end=max(end, span.end))
                break
        else:
            self._spans.append(BadSpan(kind, detail, begin, end, first))
        self._until = end if self._until is None else max(end, self._until)

    # -- questions -----------------------------------------------------------------------------------------------------

    def touching(self, now: Instant, due: Instant) -> BadSpan | None:
        """Samples that cannot be right and on which the input from ``now`` to ``due`` depends."""
        if self._until is None or now >= self._until:
            return None
        horizon = Instant(now.epoch, now.stamp - self._kept)
        self._spans = [span for span in self._spans if span.end > horizon]
        touching = [span for span in self._spans if span.begin < due and now < span.end]
        return min(touching, key=lambda span: not span.is_certain, default=None)

    def is_quiet(self, now: Instant, due: Instant) -> bool:
        """Whether the input from ``now`` to ``due`` depends on ordinary samples only."""
        return self.touching(now, due) is None and self.jumps.are_quiet(now, due)

    def next_begin(self, now: Instant) -> float:
        """Stamp [ns] after which the input from ``now`` on depends on samples that are not ordinary."""
        jump = self.jumps.next_begin(now)
        if self._until is None or now >= self._until:
            return jump
        begins = [span.begin.stamp for span in self._spans if now < span.end and span.begin.epoch == now.epoch]
        return min([*begins, jump])


class RangeEnds:
    """Finds the ends of the range in a stream of samples."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._count, self._memory = np.zeros(1, dtype=np.int64), np.zeros((ROWS, 6))
        self._memory[[LOWEST, STEP, UPPER]], self._memory[[HIGHEST, LOWER]] = np.inf, -np.inf

    def find(self, values: Array) -> Integers:
        """Axes (M,), counted from 1, that are at an end in samples (M, 6) that continue this stream; 0: none."""
        found = np.zeros(len(values), dtype=np.int64)
        find_ends(self._count, self._memory, packed(values), found)
        return found
