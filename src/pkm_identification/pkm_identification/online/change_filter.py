"""Filter of the base parameters' changes against the machine file, which learns the noise beside them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import exp

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.online.estimators import (
    ExtendedParameterFilter,
    FixedNoise,
    RecursiveLeastSquares,
    UnscentedParameterFilter,
)
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.payload import Kept
from pkm_identification.online.residual_noise import ResidualNoise
from pkm_identification.online.segment import BlockEnd
from pkm_identification.online.settings import OnlineSettings

#: steps of an estimate towards the likeliest noise; the next one goes on from there
STEPS = 8
#: states that are kept, to go back to before a change of the load
KEPT = 16
#: part of typical forces that residuals are taken for before there are any
BEGIN = 0.03
#: part of themselves by which friction and offsets may change at once
JUMP = 0.5
#: blocks of noise of each drive after which the first seconds are not weighed anew any more, and of any, if others move
#: less
LEARNED, LONGEST = 20, 40


class ChangeFilter:
    """Bodies are constants, friction and offsets a random walk; weights come from the residuals.

    Parameters
    ----------
    observation, settings : see :class:`~pkm_identification.online.identifier.OnlineIdentifier`

    Attributes
    ----------
    noise : of the residuals
    jump : (B,) by which friction and offsets may change at once, standard deviations
    """

    def __init__(self, observation: OnlineObservation, settings: OnlineSettings) -> None:
        self._estimator, self._memory = settings.estimator, settings.memory
        self._drift, self.jump = observation.walk(settings) ** 2, JUMP * observation.size
        self._kept: deque[Kept] = deque()
        self.noise = ResidualNoise((BEGIN * observation.typical_force) ** 2, settings.window)
        covariance = np.diag((settings.prior * observation.scale) ** 2)
        self._first: FirstSeconds | None = FirstSeconds(covariance, self.noise.variance)
        self._first_stamp: int | None = None
        self._begin_with(np.zeros(len(covariance)), covariance)

    def _begin_with(self, change: Array, covariance: Array) -> None:
        self._walk = FixedNoise(np.zeros(len(change)))
        self._filter: ExtendedParameterFilter | UnscentedParameterFilter | RecursiveLeastSquares
        if self._estimator == 'rls':
            self._filter = RecursiveLeastSquares(len(change), prior=(change, covariance))
        else:
            kind = UnscentedParameterFilter if self._estimator == 'ukf' else ExtendedParameterFilter
            self._filter = kind(change, covariance, self._walk)
        self._last: int | None = None

    @property
    def change(self) -> Array:
        """Changes (B,)."""
        return self._filter.parameters

    @property
    def covariance(self) -> Array:
        """Covariance (B, B) of them."""
        return self._filter.covariance

    @property
    def std(self) -> Array:
        """Standard deviations (B,) of them."""
        return self._filter.std

    def update(self, stamp: int, matrix: Array, target: Array, used: NDArray[np.bool_]) -> None:
        """Take rows (A, B) and forces (A,) beyond those of the file; drives that are not ``used`` (A,) are left out."""
        self._first_stamp = stamp if self._first_stamp is None else self._first_stamp
        elapsed = 0.0 if self._last is None else (stamp - self._last) / 1e9
        self._walk.variances[:] = self._drift * elapsed
        if isinstance(self._filter, RecursiveLeastSquares):
            # at rest nothing is learned, so nothing is forgotten
            self._filter.forgetting = exp(-elapsed / self._memory) if used.any() else 1.0
        self._last = stamp
        predicted = matrix @ self._filter.parameters
        self._filter.update(matrix, target, np.where(used, self.noise.weight_variance, np.inf))
        ended = self.noise.add(stamp, target, predicted, matrix, used, lambda: self._filter.covariance)
        if self._first is None:
            return
        self._first.add(matrix, target, used)
        self._first.take(ended)
        if ended[-1] is not None:
            self._weigh_anew(self._first, stamp, (stamp - self._first_stamp) / 1e9)

    def _weigh_anew(self, first: FirstSeconds, stamp: int, elapsed: float) -> None:
        """Estimate from all samples of the first seconds by the noise that is known now."""
        change, covariance = first.estimate(self.noise)
        # a mean over a random walk is so far from its end
        self._begin_with(change, covariance + np.diag(self._drift * elapsed / 3.0))
        self._last = stamp
        if (self.noise.blocks >= LEARNED).all() or self.noise.blocks.max() >= LONGEST:
            self._first = None

    def keep(self, stamp: int, every: float) -> None:
        """Remember what is known now, every so many seconds."""
        if self._kept and stamp - self._kept[-1].stamp < every * 1e9:
            return
        self._kept.append(Kept(stamp, self._filter.parameters, self._filter.covariance, self.noise.copy()))
        if len(self._kept) > KEPT:
            self._kept.popleft()

    def kept_before(self, stamp: int) -> Kept:
        """What was known at a time, or as early as possible; nothing is remembered any more."""
        before = [one for one in self._kept if one.stamp <= stamp] or [self._kept[0]]
        self._kept.clear()
        return before[-1]

    def begin_from(self, kept: Kept, covariance: Array) -> None:
        """Go on from what was known, with another covariance (B, B)."""
        self._begin_with(kept.change, covariance)
        self.noise, self._first = kept.noise.copy(), None

    def let_friction_change(self) -> None:
        """Learn friction and offsets anew, quickly."""
        self._begin_with(self.change, self.covariance + np.diag(self.jump**2))
        self._first = None

    def interrupt(self) -> None:
        """Time begins anew: what is known stays."""
        self._kept.clear()
        self._last = self._first = None


class FirstSeconds:
    """Maximum likelihood of parameters and noise together, as long as the sums of all samples are kept.

    A filter weighs each sample once, by what is known of its noise at that time; in the first seconds that is little.
    Here parameters are constants, and the noise of each drive follows from the residuals about their estimate and from
    what that estimate leaves open (expectation maximisation).

    Parameters
    ----------
    covariance : (B, B) of the parameters before anything is known; they are zero
    begin : (A,) variances of a residual before anything is known
    """

    def __init__(self, covariance: Array, begin: Array) -> None:
        drives, count = len(begin), len(covariance)
        self._size = np.sqrt(np.diag(covariance))
        self._prior = np.linalg.inv(covariance / np.outer(self._size, self._size))
        self._matrix, self._right = np.zeros((drives, count, count)), np.zeros((drives, count))
        self._squares, self._samples = np.zeros(drives), np.zeros(drives)
        self._single = begin
        self._levels: list[_Blocks] = []

    def add(self, matrix: Array, target: Array, used: NDArray[np.bool_]) -> None:
        """Take the rows (A, B) of a sample and their forces (A,); drives that are not ``used`` (A,) are left out."""
        rows = np.where(used[:, None], matrix * self._size, 0.0)
        target = np.where(used, target, 0.0)
        self._matrix += rows[:, :, None] * rows[:, None, :]
        self._right += rows * target[:, None]
        self._squares += target**2
        self._samples += used

    def take(self, ended: Sequence[BlockEnd | None]) -> None:
        """Take blocks of each level of the noise that have ended with the last sample."""
        self._levels = self._levels or [_Blocks(self._size, self._single) for _ in ended]
        for level, block in zip(self._levels, ended, strict=True):
            if block is not None:
                level.add(block)

    def estimate(self, noise: ResidualNoise) -> tuple[Array, Array]:
        """Parameters (B,) and covariance (B, B) by all that was taken; ``noise`` learns its size, too."""
        for _ in range(STEPS):
            parameters, covariance = self._weighed(np.maximum(*(level.mean for level in self._levels)))
            for level in self._levels:
                level.judge(parameters, covariance)
        expected = np.outer(parameters, parameters) + covariance
        squares = self._squares - 2.0 * self._right @ parameters + np.tensordot(self._matrix, expected, 2)
        self._single = np.where(self._samples > 0, squares / np.maximum(self._samples, 1.0), self._single)
        for level, own in zip(self._levels, noise.levels, strict=True):
            own.know(self._single, level.mean, level.effective)
        parameters, covariance = self._weighed(noise.weight_variance)
        return self._size * parameters, covariance * np.outer(self._size, self._size)

    def _weighed(self, variances: Array) -> tuple[Array, Array]:
        """Scaled parameters (B,) and their covariance (B, B) by variances (A,) of samples."""
        covariance = np.linalg.inv(self._prior + np.tensordot(1.0 / variances, self._matrix, 1))
        covariance = 0.5 * (covariance + covariance.T)
        return covariance @ (self._right.T @ (1.0 / variances)), covariance


class _Blocks:
    """Blocks of one length, and what their means say of the noise.

    Parameters
    ----------
    size : (B,) of the parameters
    begin : (A,) variance before there are blocks
    """

    def __init__(self, size: Array, begin: Array) -> None:
        self.mean, self.effective = begin, np.zeros(len(begin))
        self._size = size
        self._drives: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._samples, self._targets, self._rows = np.zeros(0), np.zeros(0), np.zeros((0, len(size)))

    def add(self, block: BlockEnd) -> None:
        """Take one."""
        self._drives = np.concatenate([self._drives, block.drives])
        self._samples = np.concatenate([self._samples, block.samples])
        self._targets = np.concatenate([self._targets, block.targets])
        self._rows = np.concatenate([self._rows, block.rows * self._size])

    def judge(self, parameters: Array, covariance: Array) -> None:
        """Variances by residuals about the estimate, and by what it leaves open of them."""
        left_open = self._samples * np.einsum('ib,ib->i', self._rows @ covariance, self._rows)
        squares = self._samples * (self._targets - self._rows @ parameters) ** 2 + left_open
        count, total, left = (
            np.bincount(self._drives, weights, len(self.mean)) for weights in (None, squares, left_open)
        )
        self.mean = np.where(count > 0, total / np.maximum(count, 1), self.mean)
        self.effective = np.maximum(count - left / self.mean, 1e-6)
