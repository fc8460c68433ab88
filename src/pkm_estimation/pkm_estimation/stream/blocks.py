"""Blocks of innovations, and tests whether they are as large as they claim, and white.

The innovations of a filter whose model is right are white, and their NIS is chi-square distributed (Bar-Shalom, Li,
Kirubarajan 2001, section 5.4).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.machine import Pose
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.step_record import step_slope
from pkm_estimation.filters import UnscentedKalmanFilter
from pkm_estimation.models import ATTITUDE, POSITION

#: errors (A, p) of the positions by each of p parameters, at a measurement, where the platform is at a pose
LegErrors = Callable[[int, Pose], Array]
_POSE = [*range(POSITION.start, POSITION.stop), *range(ATTITUDE.start, ATTITUDE.stop)]
#: why the IMU is left out, where its samples themselves do not say what is wrong with them
UNEXPLAINED = 'imu_off_prediction', 'imu_bias_implausible'
#: time [s] of measurements that are kept, shortest for a ranking, and without a further failure until it is over
_WINDOW, _SHORTEST, _OVER = 20.0, 10.0, 20.0
#: ratios to what is expected that matter by themselves, of the NIS, of the squares of a leg, of means of blocks; any
LARGE, ANY = (1.3, 1.6, 1.8), (1.0, 1.0, 1.0)
#: standard deviations that a ratio must be above its expected value, too; in the later half of what lasts
_CERTAIN, _STILL = 6.0, 3.0
#: blocks whose means are tested, at least; blocks that are looked at, at most, of what lasts
_FEWEST, _MOST = 5, 240
#: of a variance, what is counted as white at least
_LEAST_PART = 1e-6


class Block(NamedTuple):
    """Sums over N measurements of A legs, and what they were.

    Attributes
    ----------
    stamps, positions : (N,) ns, (N, A) m, rad
    nis, numbers : their sum, and how many numbers it is of
    squares, seen : (A,) sums of the normalised innovations' squares, and how many of each leg
    means, products, complete : (A,), (A, A) of the measurements of all legs, and how many there are
    shared : (A,) part of the variances that constants of the machine have: one error for all blocks
    """

    stamps: Integers
    positions: Array
    nis: float
    numbers: int
    squares: Array
    seen: Array
    means: Array
    products: Array
    complete: int
    shared: Array

    @classmethod
    def of(
        cls,
        stamps: Integers,
        positions: Array,
        residual: Array,
        variance: Array,
        nis: Array,
        shared: Array | None = None,
    ) -> Block:
        """Sum up measurements (N,); innovations (N, A), NaN where a leg was not used."""
        ratios = residual / np.sqrt(variance)
        seen = np.isfinite(ratios)
        complete = ratios[seen.all(axis=1)]
        mean = complete.mean(axis=0) if len(complete) else np.zeros(residual.shape[1])
        off, there = complete - mean, np.isfinite(nis)
        return cls(
            stamps, positions, float(nis[there].sum()), int(seen[there].sum()),
            np.square(np.where(seen, ratios, 0.0)).sum(axis=0), seen.sum(axis=0), mean, off.T @ off, len(complete),
            np.zeros(residual.shape[1]) if shared is None else shared.mean(axis=0),
        )  # fmt: skip


def span(blocks: Sequence[Block]) -> float:
    """Time [s] of blocks."""
    return float((blocks[-1].stamps[-1] - blocks[0].stamps[0]) * 1e-9)


def measurements(blocks: Sequence[Block]) -> tuple[Integers, Array]:
    """Stamps (N,) ns and positions (N, A) of blocks."""
    return np.concatenate([b.stamps for b in blocks]), np.concatenate([b.positions for b in blocks])


def lasting_excess(blocks: Sequence[Block], legs: Sequence[str]) -> str:
    """What of the innovations of all blocks is larger than it should be, however little, and still is, in words.

    Of many blocks every second, third, ... is looked at: a running estimator must not be held for long.
    """
    blocks = list(islice(blocks, 0, None, -(-len(blocks) // _MOST)))
    half = blocks[0].stamps[0] + (blocks[-1].stamps[-1] - blocks[0].stamps[0]) // 2
    later = [block for block in blocks if block.stamps[0] >= half]
    return excess(blocks, legs, ANY) if later and excess(later, legs, ANY, _STILL) else ''


def excess(
    blocks: Sequence[Block],
    legs: Sequence[str],
    least: tuple[float, float, float],
    certain: float = _CERTAIN,
    are_white: bool = True,
) -> str:
    """What of the innovations of blocks is larger than it should be, beyond chance, in words; empty: nothing.

    Parameters
    ----------
    legs : names
    least : ratios to what is expected that matter, such as :data:`LARGE`
    certain : standard deviations beyond chance
    are_white : whether they should be; else means are compared with what is claimed, not with how samples scatter
    """
    seconds = span(blocks)
    numbers = sum(block.numbers for block in blocks)
    count = sum(len(block.stamps) for block in blocks)
    if not numbers:
        return ''
    shared = np.mean([block.shared for block in blocks], axis=0)
    nis = sum(block.nis for block in blocks)
    if _is_large(nis / numbers, numbers, least[0], certain, float(shared @ shared) / len(shared) ** 2):
        return f'mean NIS {nis / count:.3g}, expected {numbers / count:.3g}, for {seconds:.3g} s'
    squares = np.sum([block.squares for block in blocks], axis=0)
    seen = np.sum([block.seen for block in blocks], axis=0)
    for leg, name in enumerate(legs):
        if seen[leg] and _is_large(squares[leg] / seen[leg], int(seen[leg]), least[1], certain, shared[leg] ** 2):
            ratio = squares[leg] / seen[leg]
            return f'squares of the innovations of {name} {ratio:.3g} times their variance for {seconds:.3g} s'
    longest = max(len(block.stamps) for block in blocks)
    whole = [block for block in blocks if block.complete > longest // 2]
    if len(whole) < _FEWEST:
        return ''
    drives = len(squares)
    means = np.array([block.means * block.complete**0.5 for block in whole])
    covariance, numbers, as_much_as = np.eye(drives), len(whole), 'is claimed'  # legs may be one and the same
    if are_white:
        covariance = np.sum([block.products for block in whole], axis=0) / sum(block.complete - 1 for block in whole)
        numbers, as_much_as = drives * len(whole), 'white ones'
    try:
        statistic = float(np.sum(means * np.linalg.solve(covariance, means.T).T))
    except np.linalg.LinAlgError:
        return ''
    # an error that lasts makes the mean of n as large as a single one
    lasting = longest * shared / np.maximum(1.0 - shared, _LEAST_PART)
    ratio = statistic / (drives * len(whole)) / float(np.mean(1.0 + lasting))
    part = lasting / (1.0 + lasting)
    if _is_large(ratio, numbers, least[2], certain, float(part @ part) / drives**2):
        return f'means of {longest} innovations scatter {ratio:.3g} times as much as {as_much_as}, for {seconds:.3g} s'
    return ''


def _is_large(ratio: float, numbers: int, bound: float, certain: float, shared: float = 0.0) -> bool:
    """Whether a mean of squares of so many standard normal numbers is too large, and matters.

    They are independent, but for a part of each that is one and the same number: ``shared`` is the square of this part.
    """
    return bool(ratio > max(bound, 1.0 + certain * (2.0 / numbers + 2.0 * shared) ** 0.5))


class Suspicion:
    """Measurements since a failure of the IMU, whether it was taken back meanwhile or not."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """There is none."""
        self._kept: deque[tuple[Integers, Array]] = deque()
        self._failed_at: int | None = None
        self.is_ranked = False

    @property
    def is_on(self) -> bool:
        """Whether the IMU has failed."""
        return self._failed_at is not None

    def fail(self, stamp: int) -> None:
        """The IMU is left out at a measurement of ``stamp`` [ns], for a reason that says nothing about the cause."""
        self._failed_at = stamp

    def add(self, stamps: Integers, positions: Array) -> None:
        """Take measurements (N,) ns, (N, A), if there is a suspicion; it ends where the IMU is good for long."""
        if self._failed_at is None or not len(stamps):
            return
        self._kept.append((stamps, positions))
        end = int(stamps[-1])
        while len(self._kept) > 1 and (end - int(self._kept[1][0][0])) * 1e-9 > _WINDOW:
            self._kept.popleft()
        if (end - self._failed_at) * 1e-9 > _OVER:
            self.clear()

    @property
    def begin(self) -> int | None:
        """Stamp [ns] of the first measurement that is kept."""
        return int(self._kept[0][0][0]) if self._kept else None

    @property
    def is_long(self) -> bool:
        """Whether there are measurements enough for a ranking, which has not been."""
        if self.is_ranked or not self._kept:
            return False
        return (int(self._kept[-1][0][-1]) - int(self._kept[0][0][0])) * 1e-9 >= _SHORTEST

    def measurements(self) -> tuple[Integers, Array]:
        """All that are kept: (N,) ns, (N, A)."""
        stamps, positions = zip(*self._kept, strict=True)
        return np.concatenate(stamps), np.concatenate(positions)


# How innovations respond to many small errors of the legs' positions at once, along a replay.
#
# To first order an error ``e`` (A,) of the positions changes the whitened innovation by w' and the state by s'::
#
#     w' = C^-1 e - W s',   s'+ = s' + K w',   then s' = F s'+ up to the next measurement
#
# with the filter's own root C of the innovations' covariance, slope W of the whitened innovations, gain K, and slope F
# of the prediction, all as its sigma points give them. One pass takes any number of errors along as columns, where a
# replay for each of them would cost a pass each.
class LegResponse:
    """Watches the steps of a filter, and takes the response along.

    Parameters
    ----------
    errors : of the positions, of all causes together
    count, drives : numbers N of measurements, A of drives

    Attributes
    ----------
    white : (N, A, p) change of the whitened innovations; NaN where a measurement was no ordinary one
    """

    def __init__(self, errors: Sequence[LegErrors], count: int, drives: int) -> None:
        self._errors, self._shape = errors, (count, drives)
        self.white: Array = np.zeros((count, drives, 0))
        self._state: Array = np.zeros((0, 0))
        self._covariance: Array = np.zeros((0, 0))

    def corrected(self, k: int, filter_: PlatformFilter) -> None:
        """The filter was corrected by all drives at measurement ``k``, and nothing came between."""
        if not self._covariance.size:
            return
        pose = filter_.pose
        error = np.hstack([one(k, pose) for one in self._errors])
        ukf = filter_.ukf
        assert isinstance(ukf, UnscentedKalmanFilter)
        if not self.white.size:
            self.white = np.full((*self._shape, error.shape[1]), np.nan)
        data = ukf.correction(self._shape[1])
        white = solve_triangular(data.root, error, lower=True, check_finite=False)
        # W = K^T P^-1, as K = P W^T
        slope = cho_solve(cho_factor(self._covariance, check_finite=False), data.gain.T, check_finite=False).T
        if not self._state.size:  # the start has the same error: it is that of its pose
            self._state = np.zeros((filter_.layout.size, error.shape[1]))
            self._state[_POSE] = np.linalg.lstsq(slope[:, _POSE], white, rcond=None)[0]
            return
        white -= slope @ self._state
        self.white[k] = white
        self._state += data.gain.T @ white

    # -- what the filter tells ---------------------------------------------------------------------------------------

    def started(self, state: Array) -> None:
        """Begin anew."""
        self._state = self._covariance = np.zeros((0, 0))

    def pause(self) -> None:
        """Nothing is paused."""

    def go_on(self) -> None:
        """Nothing is paused."""

    def before_step(self, filter_: PlatformFilter) -> None:
        """Nothing is needed of it."""

    def after_step(self, filter_: PlatformFilter, end: float, duration: float) -> None:
        """Take the response along a prediction."""
        if self._state.size:
            self._state = step_slope(filter_.ukf) @ self._state

    def moved(self, transport: Array) -> None:
        """Express it in the new chart."""
        if self._state.size:
            self._state = transport @ self._state

    def settled(self, filter_: PlatformFilter) -> None:
        """Keep the predicted covariance."""
        self._covariance = filter_.covariance.copy()

    def estimated(self, filter_: PlatformFilter, known: tuple[Any, ...]) -> None:
        """Nothing is needed of it."""
