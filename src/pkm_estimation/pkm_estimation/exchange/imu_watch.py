"""Samples of an IMU that cannot be right by themselves: zeros, at the end of its range, beyond it, always the same."""

from __future__ import annotations

from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array, packed
from pkm_description.driver import ImuConversion
from pkm_description.kernels.model import Integers
from pkm_description.machine import ImuSensor

from pkm_estimation.exchange.imu_jumps import ImuJumps
from pkm_estimation.exchange.samples import EARLIER, IMU_UNITS, Instant
from pkm_estimation.kernels.imu_jumps import END_ROWS, HIGHEST, LOWER, LOWEST, STEP, UPPER, find_ends

#: m/s^2 and rad/s: constant errors that are normal
_BIASES = np.repeat([0.3, 0.1], 3)
#: mean squares of normalised differences up to which samples agree, factor by which all others must be worse, and below
#: which agreement is perfect
_AGREES, _WORSE, _PERFECT = 2.0, 4.0, 0.25
#: cosine from which on gravity is felt where it should not be
_OPPOSITE = 0.8
#: samples that are needed, and that are kept
_FEWEST, _MOST = 8, 40
#: causes that gravity alone does not tell apart
_TURNED = 'imu_axes'
_CHECK = 'check_robot says how the sensor is mounted'
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

    # -- samples -------------------------------------------------------------------------------------------------------

    def take(self, instant: Instant, value: Array) -> None:
        """Look at a sample (6,) as the driver has it; one that is late is not looked at."""
        if self._instant is None or not instant < self._instant:
            self._take(instant, value, self._ends.find(value[None]).item())

    def _take(self, instant: Instant, value: Array, ended: int) -> None:
        """The same of the next sample; ``ended`` is 1 plus an axis that has stopped at the end of a range, or 0."""
        before = self._instant
        content, parts = value.tobytes(), value * self._parts
        if content != self._last or not value[:3].any():
            self.jumps.take(instant.epoch, np.array([instant.stamp]), value[None])
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
        if self.is_frozen:
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
        begin = min(begin, first)  # nothing was measured since the first of samples that repeat each other
        for place, span in enumerate(self._spans):
            if span.kind == kind and begin <= span.end:
                self._spans[place] = span._replace(end=max(end, span.end))
                break
        else:
            self._spans.append(BadSpan(kind, detail, begin, end, first))
        self._until = end if self._until is None else max(end, self._until)

    # -- questions -----------------------------------------------------------------------------------------------------

    @property
    def is_frozen(self) -> bool:
        """Whether more samples repeat the one before than of a driver that publishes faster than its sensor."""
        return self._repeats >= max(_REPEATS, _UNUSUAL * self._usual)

    @property
    def is_repeated(self) -> bool:
        """Whether the last sample repeats the one before, to the last bit: it tells nothing new."""
        return self._repeats > 0

    def has_repeats(self, values: Array) -> bool:
        """Whether one of the samples (M, 6) that continue this stream repeats the one before."""
        return len(values) > 0 and (values[0].tobytes() == self._last or (values[1:] == values[:-1]).all(axis=1).any())

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
        self._count, self._memory = np.zeros(1, dtype=np.int64), np.zeros((END_ROWS, 6))
        self._memory[[LOWEST, STEP, UPPER]], self._memory[[HIGHEST, LOWER]] = np.inf, -np.inf

    def find(self, values: Array) -> Integers:
        """Axes (M,), counted from 1, that are at an end in samples (M, 6) that continue this stream; 0: none."""
        found = np.zeros(len(values), dtype=np.int64)
        find_ends(self._count, self._memory, packed(values), found)
        return found


# What is likely wrong with an IMU that does not fit the legs: units, axes, gravity; in words, with what to do.
#
# Each cause is a way to mend the samples. The one whose mended samples agree with specific force and angular rate as
# the legs alone give them, while the samples themselves and those of other causes do not, is named. ``check_robot``
# looks further, at a recording or a running robot.
class _Sample(NamedTuple):
    """Sample of the IMU, what the legs say instead, its variances, and gravity: (6,), (6,), (6,), (3,), IMU axes."""

    read: Array
    felt: Array
    variance: Array
    gravity: Array


class _Cause(NamedTuple):
    """Samples (N, 6) are mended by a matrix (6, 6), and by gravity that they lack where that was removed."""

    kind: str
    text: str
    matrix: Array
    lacks_gravity: bool = False

    def mended(self, read: Array, gravity: Array) -> Array:
        """Samples (N, 6) as they would be without the cause; ``gravity`` (N, 3)."""
        mended = read @ self.matrix.T
        mended[:, :3] -= self.lacks_gravity * gravity
        return mended


def _scaled(force: float, rate: float) -> Array:
    return np.diag(np.repeat([force, rate], 3))


def _unit(kind: str, unit: str, force: float, rate: float, what: str) -> _Cause:
    return _Cause(kind, f'it fits in {unit}: set {what}: {unit} in the driver file', _scaled(force, rate))


def _causes() -> list[_Cause]:
    causes = [
        _unit('imu_in_g', 'g', 9.80665, 1.0, 'imu.acceleration'),
        _unit('imu_in_mg', 'mg', 9.80665e-3, 1.0, 'imu.acceleration'),
        _unit('imu_in_mm_per_s2', 'mm/s2', 1e-3, 1.0, 'imu.acceleration'),
        _unit('imu_in_deg_per_s', 'deg/s', 1.0, np.pi / 180.0, 'imu.angular_rate'),
        _Cause(
            'imu_gravity_removed',
            'it fits with gravity added: publish the specific force, +g upwards at rest, not "linear" acceleration',
            np.eye(6),
            lacks_gravity=True,
        ),
        _Cause(_TURNED, f'it fits with the other sign of the acceleration (REP 145: +g upwards at rest); {_CHECK}',
               _scaled(-1.0, 1.0)),
    ]  # fmt: skip
    for order, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        axes = np.zeros((3, 3))
        axes[range(3), order] = signs
        if np.linalg.det(axes) < 0.0 or (axes == np.eye(3)).all():
            continue
        names = ', '.join(f'{"xyz"[i]} = {"-" if signs[i] < 0.0 else ""}{"xyz"[order[i]]}' for i in range(3))
        text = f'it fits with turned axes, {names}: mend sensors.imu.rpy; {_CHECK}'
        causes.append(_Cause(_TURNED, text, np.kron(np.eye(2), axes).astype(float)))
    return causes


_CAUSES = _causes()


class ImuCauses:
    """Collects samples of an IMU that is left out, and names the cause."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._samples: tuple[_Sample, ...] = ()

    def add(self, read: Array, felt: Array, variance: Array, gravity: Array) -> None:
        """Add a sample (6,), what the legs say (6,) with variances (6,), and gravity (3,); IMU axes."""
        self._samples = (*self._samples, _Sample(read, felt, variance, gravity))[-_MOST:]

    def likeliest(self) -> tuple[str, str] | None:
        """Kind and sentence; ``None`` where no single cause explains the samples."""
        if len(self._samples) < _FEWEST:
            return None
        read, felt, variance, gravity = (np.array(values) for values in zip(*self._samples, strict=True))

        def misfit(mended: Array) -> float:
            return float(np.mean((mended - felt) ** 2 / (variance + _BIASES**2)))

        misfits = [misfit(cause.mended(read, gravity)) for cause in _CAUSES]
        best = int(np.argmin(misfits))
        others = [misfit(read)] + [
            value for value, cause in zip(misfits, _CAUSES, strict=True) if cause.kind != _CAUSES[best].kind
        ]
        if misfits[best] > _AGREES or min(others) < _WORSE * max(misfits[best], _PERFECT):
            return None
        kind, text = _CAUSES[best].kind, _CAUSES[best].text
        along = read[:, :3].mean(axis=0) @ felt[:, :3].mean(axis=0)
        if kind == _TURNED and along < -_OPPOSITE * np.linalg.norm(felt[:, :3].mean(axis=0)) ** 2:
            return 'imu_upside_down', f'gravity is where it should not be, below: {text}'
        return kind, text
