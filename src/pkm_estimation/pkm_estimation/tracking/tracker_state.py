"""Parts of the estimator beside its filters that have a state."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np
from pkm_description.arrays import Array
from scipy.special import chdtri, ndtr

from pkm_estimation.exchange.samples import Instant
from pkm_estimation.filters import Innovation, KalmanFilter
from pkm_estimation.kernels.leg_lengths import LAST_SIZE, NOISE_SCALE, SCALE, accept
from pkm_estimation.tracking.start_poses import NEVER

#: measurements between two changes, and those after a change that still remember the old noise
_BLOCK, _SETTLING = 100, 20
#: largest factor of one change, and bounds of the factors: beyond them the cause is not noise
_LARGEST_CHANGE, _LEAST, _MOST = 5.0, 1e-4, 1e7
#: factor on the IMU noise of a lost filter, and how often in a row that is tried
_RESCUE, _MOST_RESCUES = 25.0, 4
#: exponent of the innovations' excess in the common factor, and change of log(Q / R) per correlation
_ANSWER, _RATIO_GAIN = 0.7, 2.0
#: part of the innovations' expected variance below which they say nothing of the legs' noise
_LEAST_SHARE = 0.2
#: the remaining delay is added to the declared one above this [s] and above so many standard deviations
_LONG, _SIGNIFICANT = 1e-3, 3.0
#: a delay beyond so many prior standard deviations is taken for the result of a disturbed filter
_IMPOSSIBLE = 5.0


class LatestPositions:
    """The last position of each drive; attributes are replaced, never written into.

    Parameters
    ----------
    count : of the drives

    Attributes
    ----------
    positions : (A,) m or rad, NaN where there was none
    """

    def __init__(self, count: int) -> None:
        self.positions = np.full(count, np.nan)
        self._stamps = np.full(count, -NEVER)

    def add(self, stamp: int, positions: Array) -> None:
        """Take positions (A,) of a stamp [ns], not finite where a message has none."""
        there = np.isfinite(positions)
        self.positions = np.where(there, positions, self.positions)
        self._stamps = np.where(there, stamp, self._stamps)

    def age(self, stamp: int) -> float:
        """Time [s] from the oldest of them to a stamp [ns], or to it from one that is later."""
        return 1e-9 * float(np.abs(stamp - self._stamps).max())


class DeclaredDelay:
    """Delay of the IMU's stamps relative to those of the legs.

    The filter corrects the remaining delay by extrapolating its states to second order. A long delay is better
    declared: then the IMU samples of the right time are used.

    Parameters
    ----------
    delay, std : s, at the beginning
    row : the filter's state for the remaining delay, ``None`` if it is not estimated

    Attributes
    ----------
    nanoseconds : the declared delay
    is_estimated : whether the filter has a state for the rest; the methods that take the filter need it
    """

    def __init__(self, delay: float, std: float, row: slice | None) -> None:
        self._configured, self._std, self._row = round(1e9 * delay), std, row
        self.is_estimated = row is not None
        self.reset()

    def reset(self) -> None:
        """Go back to the configured delay."""
        self.nanoseconds = self._configured

    def is_impossible(self, ukf: KalmanFilter) -> bool:
        """Whether the whole delay, declared and remaining, is beyond five standard deviations of its prior."""
        assert self._row is not None
        found = 1e-9 * (self.nanoseconds - self._configured) + ukf.state.item(self._row.start)
        return not abs(found) <= _IMPOSSIBLE * self._std

    def absorb(self, ukf: KalmanFilter, tell: Callable[[str, str], None]) -> None:
        """Add a significant remaining delay to the declared one, and subtract it from the filter's state."""
        assert self._row is not None
        index = self._row.start
        rest, variance = ukf.state.item(index), ukf.covariance.item(index, index)
        if abs(rest) < _LONG or rest**2 < _SIGNIFICANT**2 * variance:
            return
        step = round(1e9 * rest)
        self.nanoseconds += step
        ukf.state[index] -= 1e-9 * step
        claim = f'{1e-6 * self.nanoseconds:.3f} ms +- {1e3 * variance**0.5:.2g} ms'
        tell('imu_delay_declared', f'IMU delay set to {claim}')


class InnovationFit:
    """How well innovations fit so far, and the bound that they are compared with.

    Parameters
    ----------
    count : A legs
    gate : bound in standard deviations of one leg; 0: there is none

    Attributes
    ----------
    is_on : whether there is one
    fit : (4 + A,) statistics, see :mod:`pkm_estimation.kernels.leg_lengths`; replaced, never written into
    accepted : measurements since the start that were used
    """

    def __init__(self, count: int, gate: float) -> None:
        self.is_on, self._count, self._tail = gate > 0.0, count, 2.0 * float(ndtr(-gate))
        self.largest_nis = self.limit_of(count)
        self.started()

    def started(self) -> None:
        """Begin anew."""
        self.fit, self.accepted = np.zeros(4 + self._count), 0
        self.fit[SCALE], self.fit[NOISE_SCALE], self.fit[LAST_SIZE] = 1.0, 1.0, -1.0

    @property
    def scale(self) -> float:
        """Running mean square of the normalised innovations."""
        return self.fit.item(SCALE)

    def limit_of(self, count: int) -> float:
        """Normalised innovation squared of ``count`` numbers with the probability of the bound."""
        return float(chdtri(count, self._tail)) if self.is_on else float('inf')

    def limit(self, count: int) -> float:
        """The same where the model fits as badly as it did so far: that is no fault of single legs."""
        return self.limit_of(count) * max(1.0, self.scale)

    def accept(self, innovation: Innovation) -> None:
        """Take the innovation of a measurement that was used."""
        if self.is_on:
            fit, count = self.fit.copy(), self._count
            shared = np.array(np.broadcast_to(innovation.shared, count), dtype=float)
            accept(innovation.residual, innovation.variance, shared, fit, np.empty(count))
            self.take(fit, 1)

    def take(self, fit: Array, count: int) -> None:
        """Take the statistics after ``count`` more measurements."""
        self.fit, self.accepted = fit, self.accepted + count


class ImuReport:
    """What is told of an IMU that is not trusted; attributes are replaced, never written into.

    Attributes
    ----------
    kind, detail : of the failure; empty: the IMU is trusted
    named : kinds before, of the same failure
    began : when it was trusted for the last time
    """

    def __init__(self) -> None:
        self.end()
        self._at_run_begin: tuple[Instant, Array] | None = None

    def end(self) -> None:
        """The IMU is trusted."""
        self.kind = self.detail = ''
        self.named: tuple[str, ...] = ()
        self.began: Instant | None = None

    def begin(self, instant: Instant, kind: str, detail: str) -> None:
        """It is not trusted from now on."""
        self.kind, self.detail, self.began, self.named = kind, detail, instant, ()

    def name(self, kind: str, detail: str) -> None:
        """Replace kind and detail by those that say more."""
        self.named, self.kind, self.detail = (*self.named, self.kind), kind, detail

    def moved_since(self, begin: Instant, positions: Array) -> Array:
        """Positions (A,) of the drives at the first measurement that was asked for with this ``begin``."""
        if self._at_run_begin is None or self._at_run_begin[0] != begin:
            self._at_run_begin = begin, positions
        return self._at_run_begin[1]

    @property
    def description(self) -> str:
        """Kind and detail; empty where the IMU is trusted."""
        return f'{self.kind.removeprefix("imu_").replace("_", " ")}: {self.detail}' if self.kind else ''


class NoiseAdaptation:
    """Factors on Q and R that make the innovations as large as expected, and white.

    Scaling Q and R by the same factor keeps the filter's gain and scales the innovation covariance by that factor.
    A larger Q with the same R makes consecutive innovations less correlated. So the mean square of the normalised
    innovations gives the common factor, and their correlation the ratio of Q and R.

    Where the legs' noise is a small part of what the innovations are expected to be, they say nothing of it: R is kept,
    and Q alone is adapted. Otherwise the innovations of a model that is wrong (a late IMU), which no Q makes white,
    would take R to nothing.

    Parameters
    ----------
    mode : ``off``, ``q`` (R is kept) or ``q_and_r``
    leg_variance : (A,) of the legs' noise where ``r_factor`` is 1

    Attributes
    ----------
    q_factor, r_factor : on the variances
    is_on : whether the noise is adapted at all
    """

    def __init__(self, mode: str, leg_variance: Array) -> None:
        self.mode, self.is_on, self._leg_variance = mode, mode != 'off', leg_variance
        self.q_factor, self.r_factor = 1.0, 1.0
        self._rescues = 0
        self._clear(0)

    def _clear(self, skip: int) -> None:
        self._skip, self._count = skip, 0
        self._squares, self._products, self._numbers, self._shares = 0.0, 0.0, 0, 0.0
        self._last: Array | None = None

    def started(self) -> None:
        """Skip the first innovations after a start: they say nothing about the noise."""
        self._clear(_BLOCK)

    def rescue(self, excess: float) -> bool:
        """Raise the IMU noise of a filter that is lost; False if noise is not adapted, or if that does not help.

        A model that is wrong in something (a delay, a mounting) loses a filter again after each start. With more noise
        it follows the legs, and its claims are those of the legs. ``excess``: the NIS by that which counts as lost;
        what is far beyond noise, as a jump, needs a new start.
        """
        if not excess < _RESCUE or not self.is_on or self._rescues >= _MOST_RESCUES or self.q_factor >= _MOST:
            return False
        self._rescues += 1
        self.q_factor = min(_MOST, _RESCUE * self.q_factor)
        self._clear(_SETTLING)
        return True

    @property
    def constant_for(self) -> int | None:
        """Number of innovations after which the factors will be the same, ``None``: any."""
        return self._skip + _BLOCK - 1 - self._count if self.is_on else None

    def accept(self, innovation: Innovation) -> bool:
        """Add an innovation; True if the factors have changed."""
        if not self.is_on:
            return False
        if self._skip > 0:
            self._skip -= 1
            return False
        error = np.nan_to_num(innovation.residual / np.sqrt(innovation.variance))
        used = np.isfinite(innovation.residual)
        # an outlier must not decide: it is clipped to ten standard deviations
        error = np.clip(error, -10.0, 10.0)
        self._squares += float(error @ error)
        self._numbers += int(used.sum())
        self._shares += self.r_factor * float((self._leg_variance / innovation.variance)[used].sum())
        if self._last is not None:
            self._products += float(error @ self._last)
        self._last = error
        self._count += 1
        if self._count < _BLOCK:
            return False
        excess = self._squares / max(1, self._numbers)
        correlation = self._products / max(self._squares, 1e-12)
        common = min(_LARGEST_CHANGE, max(1.0 / _LARGEST_CHANGE, excess**_ANSWER))
        if self.mode == 'q' or self._shares < _LEAST_SHARE * self._numbers:
            self.q_factor *= common
        else:
            ratio = exp(_RATIO_GAIN * correlation)
            self.q_factor *= common * ratio
            self.r_factor *= common / ratio
        self.q_factor = min(_MOST, max(_LEAST, self.q_factor))
        self.r_factor = min(_MOST, max(_LEAST, self.r_factor))
        self._clear(_SETTLING)
        self._rescues = 0
        return True
