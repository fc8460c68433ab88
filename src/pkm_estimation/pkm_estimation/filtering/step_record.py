"""Record of a filter's steps between its estimates, for smoothing: covariances over each passage, in order.

An estimate is changed by steps, and at an instant: by measurements, or where the covariance of constants is raised.
Passages lead from after such a change to before the next one. Along each, slopes are taken along by state and sample
errors at its beginning: ``D`` of the state of now, ``B`` of the errors of the samples of now::

    D' = F D + N B

with F by the sigma points (or the Jacobian), and the effect N of the samples' errors as in
:mod:`pkm_estimation.kernels.input_noise`. Where the chart moves, D moves along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import skew
from scipy.linalg import solve_triangular

from pkm_estimation.filtering.backward_pass import Gaussian, Passage
from pkm_estimation.filters import ExtendedKalmanFilter, KalmanFilter, UnscentedKalmanFilter
from pkm_estimation.kernels.input_noise import COLUMNS, NO_STAMP
from pkm_estimation.kernels.input_path import CARRIED, INPUTS
from pkm_estimation.kernels.process import ProcessData
from pkm_estimation.models import ATTITUDE, POSITION, VELOCITY

#: a :class:`~pkm_estimation.filtering.platform_filter.PlatformFilter`, which imports this module
Filter = Any


class Estimated(NamedTuple):
    """An estimate that was given out.

    Attributes
    ----------
    estimate : of state and sample errors
    known : as :meth:`PlatformFilter.known` gives it
    parts : (c / 6,) of the sample errors in the input of now
    sensitivity : (n, p) of the state to constants of the machine, with the root of what is claimed: later
        measurements do not tell them either
    scale : factor on the covariance in what is claimed
    """

    estimate: Gaussian
    known: tuple[Array, ...]
    parts: Array
    sensitivity: Array
    scale: float = 1.0


class Started(NamedTuple):
    """The filter started: nothing before it concerns what is after it."""


class Left(NamedTuple):
    """An estimate that was given out while the record was paused: it stays as it is."""


class StepRecord:
    """Takes note of what a filter does, see :attr:`PlatformFilter.record`.

    It is told of a start, then of each step: before it, after it, where the chart moved, and when it is complete; and
    of estimates that are given out.

    A delay of the IMU is recorded as a whole: what the filter has as a state and what is declared.

    Parameters
    ----------
    declared_delay : gives the declared delay of the IMU [s]

    Attributes
    ----------
    entries : passages, estimates and starts, in order
    starts : states (n,) from which the filter shall start instead the next times, as far as known
    """

    def __init__(self, declared_delay: Callable[[], float] = float) -> None:
        self._declared = declared_delay
        self.starts: Iterator[Array | None] = iter(())
        self.entries: list[Passage | Estimated | Started | Left] = []
        self._is_paused = False
        self._begin: Gaussian | None = None
        self._end: Gaussian | None = None
        self._slope, self._samples, self._time = np.zeros((0, 0)), np.zeros((COLUMNS, 0)), 0.0
        self._newest = NO_STAMP

    def pause(self) -> None:
        """Take note of no steps from now on; what was noted since the last estimate is forgotten."""
        self._is_paused = True
        self._begin = self._end = None

    def go_on(self) -> None:
        """Take note of steps again."""
        self._is_paused = False

    def before_step(self, filter_: Filter) -> None:
        """Begin a passage, if the estimate is another one than after the last step."""
        if self._is_paused:
            return
        now = self._now(filter_)
        if self._begin is not None and self._end is not None:
            if all(np.array_equal(one, other) for one, other in zip(now, self._end, strict=True)):
                return
            self._close()
        size, count = filter_.layout.size, len(now.mean)
        self._begin, self._slope = now, np.eye(size, count)
        self._samples = np.eye(COLUMNS, count, k=size)
        self._newest = int(filter_.process.data.newest[0])

    def after_step(self, filter_: Filter, end: float, duration: float) -> None:
        """After a step of ``duration`` s that ended ``end`` s after the second sample; before the chart moves."""
        process = filter_.process.data
        self._shift_samples(process)
        if self._is_paused:
            return
        self._slope = step_slope(filter_.ukf) @ self._slope
        if self._newest != NO_STAMP:
            self._slope[:9] += sample_effect(process, duration) @ self._samples
        self._time = end

    def _shift_samples(self, process: ProcessData) -> None:
        newest = int(process.newest[0])
        if newest in (NO_STAMP, int(process.stamps[0])) and newest != self._newest:
            if newest != NO_STAMP and self._newest == process.stamps[1]:
                self._samples[INPUTS:] = self._samples[:-INPUTS].copy()
                self._samples[:INPUTS] = 0.0
            else:
                self._samples[:] = 0.0
        self._newest = newest

    def moved(self, transport: Array) -> None:
        """The chart moved: ``transport`` (n, n) maps deviations of the state."""
        if not self._is_paused:
            self._slope = transport @ self._slope

    def settled(self, filter_: Filter) -> None:
        """The step is complete."""
        if not self._is_paused:
            self._end = self._now(filter_)

    def started(self, state: Array) -> None:
        """The filter starts anew from a state (n,): a passage that led to no estimate is forgotten."""
        self._begin = self._end = None
        self.entries.append(Started())
        better = next(self.starts, None)
        if better is not None:
            state[:] = better

    def estimated(self, filter_: Filter, known: tuple[Array, ...]) -> None:
        """An estimate was given out."""
        if self._is_paused or filter_.ukf.found.any():  # what is found on the way is none of one model for all steps
            self.entries.append(Left())
            return
        self._close()
        estimate = self._now(filter_)
        count = (len(estimate.mean) - filter_.layout.size) // INPUTS
        parts, ukf = _parts(filter_, self._time, count), filter_.ukf
        self.entries.append(Estimated(estimate, known, parts, ukf.sensitivity @ ukf.claim, ukf.scale.item()))

    def take(self) -> list[Passage | Estimated | Started | Left]:
        """All entries up to now; what follows begins with the present estimate."""
        self._close()
        entries, self.entries = self.entries, []
        return entries

    def _now(self, filter_: Filter) -> Gaussian:
        """State and sample errors of now; those that act no more are left out."""
        ukf, size = filter_.ukf, filter_.layout.size
        count = 0 if filter_.process.data.newest[0] == NO_STAMP else ukf.carried_count
        mean, covariance = np.zeros(size + count), np.zeros((size + count, size + count))
        mean[:size], covariance[:size, :size] = ukf.state, ukf.covariance
        covariance[:size, size:], covariance[size:, :size] = ukf.carried[:, :count], ukf.carried[:, :count].T
        slopes = filter_.process.data.slopes  # where stamps jitter
        for sample in range(count // INPUTS):
            rows = slice(size + sample * INPUTS, size + (sample + 1) * INPUTS)
            covariance[rows, rows] = filter_.imu_covariance + np.outer(slopes[sample], slopes[sample])
        delay = filter_.layout.imu_delay
        if delay is not None:
            mean[delay] += self._declared()
        return Gaussian(mean, covariance)

    def _close(self) -> None:
        if self._begin is not None and self._end is not None:
            count = len(self._end.mean) - len(self._slope)
            slope = np.vstack([self._slope, self._samples[:count]])
            self.entries.append(Passage(self._begin, self._end, slope))
        self._begin = self._end = None


def sample_effect(process: ProcessData, duration: float) -> Array:
    """Effect N (9, 18) of errors of the samples 1, 0, -1 on position, velocity and attitude in the last step."""
    at = process.effect_at
    velocity, q, e0, to_base = at[:3], at[3:6], at[6], at[7:16].reshape(3, 3)
    effect = np.zeros((9, CARRIED, INPUTS))
    for sample in range(CARRIED):
        pulse = duration * process.pulses[sample]
        effect[POSITION, sample, :3] = duration**2 * process.moments[sample] * to_base
        effect[VELOCITY, sample, :3] = pulse * np.eye(3)
        effect[VELOCITY, sample, 3:] = pulse * skew(velocity)
        effect[ATTITUDE, sample, 3:] = 0.5 * pulse * (e0 * np.eye(3) + skew(q))
    return effect.reshape(9, COLUMNS)


def step_slope(ukf: KalmanFilter) -> Array:
    """Slope F (n, n) of the last prediction of a filter, by its sigma points or its Jacobian."""
    if isinstance(ukf, ExtendedKalmanFilter):
        return ukf.slope
    assert isinstance(ukf, UnscentedKalmanFilter)
    data, size = ukf.memory.data, len(ukf.state)
    along = 0.5 / data.scaling[0] * (data.points[1 : size + 1] - data.points[size + 1 :])
    slope: Array = solve_triangular(data.factor, along, trans='T', lower=True, check_finite=False).T
    return slope


def _parts(filter_: Filter, time: float, count: int) -> Array:
    """Parts of ``count`` samples' errors in the input ``time`` s after the second sample."""
    process, parts = filter_.process, np.zeros(count)
    if count:
        process.input_at(time)
        for sample, part in enumerate(process.data.basis[: process.data.used[0]]):
            parts[min(sample, count - 1)] += part
    return parts
