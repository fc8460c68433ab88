"""Health of the estimator: counters with reasons, events, and statistics of the innovations."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers

from pkm_estimation.exchange.output import EstimatorOutput, OutputBlock
from pkm_estimation.exchange.samples import Instant, StampGate, StampVerdict
from pkm_estimation.filters import Innovation
from pkm_estimation.models import STATE_GROUPS, STATE_SIZE

#: number of innovations that are collected before they are added to the statistics, all at once
_MOST_KEPT = 1000
#: standard deviations below which a state group counts as converged: m, m/s, 1, m/s^2, rad/s
CONVERGED_BELOW = {
    'position': 1e-3,
    'velocity': 1e-2,
    'attitude': 1e-3,
    'accelerometer_bias': 1e-2,
    'gyroscope_bias': 1e-3,
}
#: the same as an array, and the first state of each group
_CONVERGED = np.array([CONVERGED_BELOW[name] for name in STATE_GROUPS])
_FIRST_ROWS = [rows.start for rows in STATE_GROUPS.values()]


class Event(NamedTuple):
    """An event that is reported to users.

    Attributes
    ----------
    stamp : ns, of the sample concerned
    name : short reason, e.g. ``leg_gap``
    detail : one sentence
    """

    stamp: int
    name: str
    detail: str


class LikelyCause(NamedTuple):
    """A cause that explains why innovations are larger than claimed, see :mod:`~pkm_estimation.stream.causes`.

    Attributes
    ----------
    name, size, mend : in words
    gain : logarithm of how much likelier the innovations are with it
    """

    name: str
    size: str
    mend: str
    gain: float


@dataclass(frozen=True)
class HealthReport:
    """Statistics since the last report.

    Attributes
    ----------
    samples : estimates
    nis_mean : mean normalised innovation squared; of a consistent filter: number of legs / noise inflation
    in_band : (A,) fraction of the innovations within two standard deviations
    normalised_innovation : (A,) root mean square of innovation / standard deviation
    imu_rate, leg_rate : Hz by stamps, of accepted samples
    unconverged : state groups whose standard deviation is above :data:`CONVERGED_BELOW`
    convergence_time : s from the start to convergence, per converged state group (S3-36)
    estimated : last value and standard deviation of biases (IMU axes) and extra states, by name
    counters : totals since the beginning, by reason
    events : since the last report, the last 200 of them
    event_counts : number of events by name since the last report
    left_out : legs that are currently left out, by name, with the reason
    noise_factors : adapted factors on the noise variances of IMU and legs
    user_measurements : per name: number, mean NIS and its expected value
    lasting : what was wrong with the innovations for seconds, with its likeliest causes; empty: nothing
    findings : those causes, the likeliest first
    mode_doubt : poses that are possible, and why it is not known which one it is; empty: it is known
    imu_because : likeliest causes why the IMU that is left out, or was lately, does not fit; empty: not looked for
    found : constants that motion has shown, by name: what the machine file would have to say
    """

    samples: int
    nis_mean: float
    in_band: Array
    normalised_innovation: Array
    imu_rate: float
    leg_rate: float
    unconverged: tuple[str, ...]
    convergence_time: dict[str, float]
    estimated: dict[str, tuple[Array, Array]]
    counters: dict[str, int]
    events: tuple[Event, ...]
    event_counts: dict[str, int]
    left_out: dict[str, str] = field(default_factory=dict)
    user_measurements: dict[str, tuple[int, float, int]] = field(default_factory=dict)
    noise_factors: tuple[float, float] = (1.0, 1.0)
    lasting: str = ''
    findings: tuple[LikelyCause, ...] = ()
    mode_doubt: str = ''
    imu_because: str = ''
    found: dict[str, str] = field(default_factory=dict)


class HealthMonitor:
    """Collects the statistics of :class:`HealthReport`; uses stamps only, never the wall clock."""

    def __init__(self, drive_count: int, extra_states: dict[str, slice] | None = None) -> None:
        self.drive_count = drive_count
        self._extra_states = extra_states or {}
        self.counters: Counter[str] = Counter()
        self.left_out: dict[str, str] = {}
        self.noise_factors = 1.0, 1.0
        self.lasting = self.mode_doubt = self.imu_because = ''
        self.findings: tuple[LikelyCause, ...] = ()
        self.found: dict[str, str] = {}
        self.muted = False  # while known samples are processed again
        self._events: deque[Event] = deque(maxlen=200)
        self._convergence_time: dict[str, float] = {}
        self._start_stamp = 0
        self._last: EstimatorOutput | None = None
        self._clear_window()

    def _clear_window(self) -> None:
        self._samples, self._summed_up, self._nis_sum = 0, 0, 0.0
        self._innovations: list[tuple[Array, ...]] = []
        self._waiting = 0
        self._in_band = np.zeros(self.drive_count)
        self._squares = np.zeros(self.drive_count)
        self._seen = np.zeros(self.drive_count)
        self._streams: dict[str, _Stream] = {}
        self._user: dict[str, tuple[int, float, int]] = {}
        self._event_counts: Counter[str] = Counter()

    def count(self, reason: str, times: int = 1) -> None:
        """Count occurrences."""
        if self.muted or not times:
            return
        self.counters[reason] += times

    def event(self, stamp: int, name: str, detail: str) -> None:
        """Count an occurrence and keep its details."""
        if self.muted:
            return
        self.counters[name] += 1
        self._event_counts[name] += 1
        self._events.append(Event(stamp, name, detail))

    def admit(self, topic: str, gate: StampGate, stamp: int) -> Instant | None:
        """Instant of a good stamp [ns] of a topic; ``None`` if it is rejected, with an event that gives the reason."""
        epoch, last = gate.epoch, gate.last
        verdict = gate.judge(stamp)
        if verdict is StampVerdict.LATE:
            self.count(f'{topic}_late')
        elif verdict is not StampVerdict.GOOD:
            self.event(stamp, f'{topic}_{verdict.value}', f'{topic} stamp {stamp} ns after {last} ns: rejected')
            return None
        if gate.epoch != epoch:
            self.event(stamp, f'{topic}_clock_reset', f'{topic} clock restarted at {stamp} ns after {last} ns')
        self.admitted(topic, 1, stamp, stamp)
        return Instant(gate.epoch, stamp)

    def admitted(self, topic: str, count: int, first: int, last: int) -> None:
        """Count accepted samples of a topic from the stamp ``first`` to ``last`` [ns]."""
        stream = self._streams.get(topic)
        if stream is None:
            stream = self._streams[topic] = _Stream(topic, first)
        self.counters[stream.counter] += count
        stream.count += count
        stream.last = last

    def taken_back(self, topic: str) -> None:
        """Do not count a sample as accepted that turned out to be too late."""
        self.counters[f'{topic}_accepted'] -= 1

    @property
    def span(self) -> int:
        """Time [ns] between the first and last accepted stamp since the last report, the longest of all topics."""
        return max((abs(stream.last - stream.first) for stream in self._streams.values()), default=0)

    def output(self, output: EstimatorOutput) -> None:
        """Add an estimate."""
        self._samples += 1
        self.count('estimates')
        if output.started:
            self._start_stamp, self._convergence_time = output.stamp, {}
        self._last = output
        if len(self._convergence_time) < len(STATE_GROUPS):
            self._look_for_convergence(np.array([output.stamp]), output.state_std[None])
        if output.innovation is not None:
            residual, variance, nis, _ = output.innovation
            self._add_innovations(residual[None], variance[None], np.array([nis]))

    def outputs(self, block: OutputBlock, last: EstimatorOutput) -> None:
        """Add many estimates, none of them the first after a start; ``last`` is the last of them."""
        self._samples += len(block)
        self.count('estimates', len(block))
        self._last = last
        if len(self._convergence_time) < len(STATE_GROUPS):
            self._look_for_convergence(block.stamps, block.state_std)
        self._add_innovations(block.residual, block.variance, block.nis)

    def _look_for_convergence(self, stamps: Integers, std: Array) -> None:
        below = np.maximum.reduceat(std[:, :STATE_SIZE], _FIRST_ROWS, axis=1) < _CONVERGED
        first = zip(below.argmax(axis=0).tolist(), below.T, STATE_GROUPS, strict=True)
        found = [(place, name) for place, is_below, name in first if is_below[place]]
        for place, name in sorted(found, key=itemgetter(0)):
            self._convergence_time.setdefault(name, (int(stamps[place]) - self._start_stamp) * 1e-9)

    def _add_innovations(self, *innovations: Array) -> None:
        """Collect residuals, variances and NIS, each with a leading axis."""
        self._innovations.append(innovations)
        self._waiting += len(innovations[0])
        while self._waiting >= _MOST_KEPT:
            self._sum_up(_MOST_KEPT)

    def _sum_up(self, count: int) -> None:
        """Add the first of the collected innovations to the sums."""
        if not count:
            return
        columns = [np.concatenate(values) for values in zip(*self._innovations, strict=True)]
        residuals, variances, nis = (values[:count] for values in columns)
        self._innovations = [tuple(values[count:] for values in columns)]
        self._waiting -= count
        ratios = residuals / np.sqrt(variances)
        seen = ~np.isnan(ratios)
        ratios = np.where(seen, ratios, 0.0)
        self._summed_up += count
        self._nis_sum += float(nis.sum())
        self._seen += seen.sum(axis=0)
        self._in_band += (seen & (np.abs(ratios) <= 2.0)).sum(axis=0)
        self._squares += np.square(ratios).sum(axis=0)

    def user_measurement(self, name: str, innovation: Innovation) -> None:
        """Add a user's measurement, used or not."""
        if self.muted:
            return
        count, total, _ = self._user.get(name, (0, 0.0, 0))
        self._user[name] = count + 1, total + innovation.nis, len(innovation.residual)

    def baseline_output(self) -> None:
        """Count an estimate of a baseline that runs alone."""
        self._samples += 1

    def _estimated(self) -> dict[str, tuple[Array, Array]]:
        if self._last is None:
            return {}
        last = self._last
        inertial, state, std = last.inertial, last.state, last.state_std
        return {
            'accelerometer_bias': (inertial.accelerometer_bias, inertial.bias_std[:3]),
            'gyroscope_bias': (inertial.gyroscope_bias, inertial.bias_std[3:]),
        } | {name: (state[rows], std[rows]) for name, rows in self._extra_states.items()}

    def _rate(self, topic: str) -> float:
        """Mean rate [Hz] by the stamps of a topic; 0 with fewer than two samples."""
        stream = self._streams.get(topic)
        if stream is None or stream.count < 2 or stream.last <= stream.first:
            return 0.0
        return (stream.count - 1) / ((stream.last - stream.first) * 1e-9)

    def report(self) -> HealthReport:
        """Return the statistics and begin a new window."""
        std = None if self._last is None else self._last.state_std
        unconverged = tuple(
            name
            for name, rows in STATE_GROUPS.items()
            if std is None or not std[rows].max() < CONVERGED_BELOW[name]
        )
        self._sum_up(self._waiting)
        seen = np.where(self._seen > 0, self._seen, np.nan)
        report = HealthReport(
            self._samples,
            self._nis_sum / self._summed_up if self._summed_up else float('nan'),
            self._in_band / seen,
            np.sqrt(self._squares / seen),
            self._rate('imu'),
            self._rate('legs'),
            unconverged,
            dict(self._convergence_time),
            self._estimated(),
            dict(self.counters),
            tuple(self._events),
            dict(self._event_counts),
            dict(self.left_out),
            {name: (count, total / count, size) for name, (count, total, size) in self._user.items()},
            self.noise_factors,
            self.lasting,
            self.findings,
            self.mode_doubt,
            self.imu_because,
            dict(self.found),
        )
        self._events.clear()
        self._clear_window()
        return report


class _Stream:
    """Accepted samples of one topic in a window: how many, and the first and the last stamp [ns]."""

    __slots__ = ('count', 'counter', 'first', 'last')

    def __init__(self, topic: str, stamp: int) -> None:
        self.counter = f'{topic}_accepted'
        self.count, self.first, self.last = 0, stamp, stamp
