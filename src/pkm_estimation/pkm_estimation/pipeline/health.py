"""What happened to the estimator: counters with reasons, events, and statistics of the innovations."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkm_estimation.filters import Innovation
from pkm_estimation.models import STATE_GROUPS
from pkm_estimation.pipeline.output import EstimatorOutput

Array = NDArray[np.float64]

#: standard deviations below which a state group counts as converged: m, m/s, 1, m/s^2, rad/s
CONVERGED_BELOW = {
    'position': 1e-3,
    'velocity': 1e-2,
    'attitude': 1e-3,
    'accelerometer_bias': 1e-2,
    'gyroscope_bias': 1e-3,
}


class Event(NamedTuple):
    """Something that users should know of.

    Attributes
    ----------
    stamp : ns, of the sample concerned
    name : short reason, e.g. ``leg_gap``
    detail : one sentence
    """

    stamp: int
    name: str
    detail: str


@dataclass(frozen=True)
class HealthReport:
    """Statistics since the last report.

    Attributes
    ----------
    samples : estimates
    nis_mean : mean normalised innovation squared; the number of legs / noise inflation when consistent
    in_band : (L,) part of the innovations within two standard deviations
    normalised_innovation : (L,) root mean square of innovation / standard deviation
    imu_rate, leg_rate : Hz by stamps, of accepted samples
    unconverged : state groups whose standard deviation is above :data:`CONVERGED_BELOW`
    convergence_time : s from the start to convergence, per converged state group (S3-36)
    estimated : last value and standard deviation of biases (IMU axes) and extra states, by name
    counters : totals since the beginning, by reason
    events : since the last report
    left_out : legs that are left out now, by name, and why
    noise_factors : what adaptation has made of the noise variances of IMU and legs
    user_measurements : per name: how many, mean NIS and what to expect of it
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
    left_out: dict[str, str] = field(default_factory=dict)
    user_measurements: dict[str, tuple[int, float, int]] = field(default_factory=dict)
    noise_factors: tuple[float, float] = (1.0, 1.0)


class HealthMonitor:
    """Collects what :class:`HealthReport` says; everything by stamps."""

    def __init__(self, leg_count: int, extra_states: dict[str, slice] | None = None) -> None:
        self.leg_count = leg_count
        self._extra_states = extra_states or {}
        self.counters: Counter[str] = Counter()
        self.left_out: dict[str, str] = {}
        self.noise_factors = 1.0, 1.0
        self.muted = False  # while known samples are processed again
        self._events: deque[Event] = deque(maxlen=200)
        self._convergence_time: dict[str, float] = {}
        self._start_stamp = 0
        self._last: EstimatorOutput | None = None
        self._clear_window()

    def _clear_window(self) -> None:
        self._samples, self._innovations, self._nis_sum = 0, 0, 0.0
        self._in_band = np.zeros(self.leg_count)
        self._squares = np.zeros(self.leg_count)
        self._seen = np.zeros(self.leg_count)
        self._stamps: dict[str, list[int]] = {}
        self._user: dict[str, tuple[int, float, int]] = {}

    def count(self, reason: str) -> None:
        """Count an occurrence."""
        if self.muted:
            return
        self.counters[reason] += 1

    def event(self, stamp: int, name: str, detail: str) -> None:
        """Count an occurrence and keep its details."""
        if self.muted:
            return
        self.counters[name] += 1
        self._events.append(Event(stamp, name, detail))

    def accepted(self, topic: str, stamp: int) -> None:
        """Note an accepted sample of a topic."""
        self.counters[f'{topic}_accepted'] += 1
        self._stamps.setdefault(topic, []).append(stamp)

    def output(self, output: EstimatorOutput) -> None:
        """Note an estimate."""
        if self.muted:
            return
        self._samples += 1
        if output.started:
            self._start_stamp, self._convergence_time = output.stamp, {}
        self._last = output
        for name, rows in STATE_GROUPS.items():
            if name not in self._convergence_time and output.state_deviation[rows].max() < CONVERGED_BELOW[name]:
                self._convergence_time[name] = (output.stamp - self._start_stamp) * 1e-9
        if output.innovation is None:
            return
        ratio = output.innovation.residual / output.innovation.standard_deviation
        seen = ratio == ratio  # not NaN
        if not seen.all():
            ratio = np.where(seen, ratio, 0.0)
        self._innovations += 1
        self._nis_sum += output.innovation.nis
        self._seen += seen
        self._in_band += seen & (np.abs(ratio) <= 2.0)
        self._squares += ratio * ratio

    def user_measurement(self, name: str, innovation: Innovation) -> None:
        """Note a user's measurement, used or not."""
        if self.muted:
            return
        count, total, _ = self._user.get(name, (0, 0.0, 0))
        self._user[name] = count + 1, total + innovation.nis, len(innovation.residual)

    def baseline_output(self) -> None:
        """Note an estimate of a baseline that runs alone."""
        self._samples += 1

    def _estimated(self) -> dict[str, tuple[Array, Array]]:
        if self._last is None:
            return {}
        last = self._last
        return {
            'accelerometer_bias': (last.accelerometer_bias, last.bias_deviation[:3]),
            'gyroscope_bias': (last.gyroscope_bias, last.bias_deviation[3:]),
        } | {name: (last.state[rows], last.state_deviation[rows]) for name, rows in self._extra_states.items()}

    def report(self) -> HealthReport:
        """Sum up and begin a new window."""
        deviation = None if self._last is None else self._last.state_deviation
        unconverged = tuple(
            name
            for name, rows in STATE_GROUPS.items()
            if deviation is None or not deviation[rows].max() < CONVERGED_BELOW[name]
        )
        seen = np.where(self._seen > 0, self._seen, np.nan)
        report = HealthReport(
            self._samples,
            self._nis_sum / self._innovations if self._innovations else float('nan'),
            self._in_band / seen,
            np.sqrt(self._squares / seen),
            _rate(self._stamps.get('imu', [])),
            _rate(self._stamps.get('legs', [])),
            unconverged,
            dict(self._convergence_time),
            self._estimated(),
            dict(self.counters),
            tuple(self._events),
            dict(self.left_out),
            {name: (count, total / count, size) for name, (count, total, size) in self._user.items()},
            self.noise_factors,
        )
        self._events.clear()
        self._clear_window()
        return report


def _rate(stamps: list[int]) -> float:
    """Mean rate [Hz] of stamps [ns]; 0 if there are too few to tell."""
    if len(stamps) < 2 or stamps[-1] <= stamps[0]:
        return 0.0
    return (len(stamps) - 1) / ((stamps[-1] - stamps[0]) * 1e-9)
