"""Filter of the base parameters' changes against the machine file, which learns the noise beside them."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.fitting.lack_of_fit import ACCURACY
from pkm_identification.online.estimators import (
    ExtendedParameterFilter,
    RandomWalk,
    RecursiveLeastSquares,
    UnscentedParameterFilter,
)
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.segment import FEWEST, LAGS, SegmentFit
from pkm_identification.online.settings import OnlineSettings

#: part of typical forces that residuals are taken for before there are any
BEGIN = 0.1
#: times as many residuals as are alike by which few of them may be too small by chance
DOUBT = 3.0
#: part of themselves by which friction and offsets may change at once
JUMP = 0.5


class Noise(NamedTuple):
    """What segments say of the residuals of the A drives.

    Attributes
    ----------
    variance : (A,) of one residual
    weight_variance : (A,) that counts samples of the stream as independent
    samples : (A,) over which they are means; 0: nothing is known
    """

    variance: Array
    weight_variance: Array
    samples: Array

    def after(self, before: Noise) -> Noise:
        """Mean with what was known before; drives that hardly moved stay as they were."""
        told = self.samples >= FEWEST
        share = np.where(told, self.samples / np.maximum(self.samples + before.samples, 1.0), 0.0)
        variance, weight = np.array(before[:2]) + share * (np.array(self[:2]) - np.array(before[:2]))
        return Noise(variance, weight, np.where(told, self.samples, before.samples))


@dataclass(frozen=True)
class Kept:
    """What was known at a time.

    Attributes
    ----------
    stamp : ns
    change, covariance : (B,), (B, B) of the base parameters, against the file
    noise : of the residuals
    """

    stamp: int
    change: Array
    covariance: Array
    noise: Noise


class ChangeFilter:
    """Bodies are constants, friction and offsets a random walk; weights come from the residuals of segments.

    As long as the first segment grows, the filter begins anew with each of its fits, which knows the noise of all its
    samples: a filter weighs each sample once, by what is known of its noise at that time.

    Parameters
    ----------
    observation, settings : see :class:`~pkm_identification.online.identifier.OnlineIdentifier`

    Attributes
    ----------
    estimator : whose ``parameters`` (B,), ``covariance`` (B, B) and ``std`` (B,) are those of the changes
    noise : of the residuals
    jump : (B,) by which friction and offsets may change at once, standard deviations
    """

    def __init__(self, observation: OnlineObservation, settings: OnlineSettings) -> None:
        self._kind, self._memory = settings.estimator, settings.memory
        self._drift, self.jump = observation.walk(settings) ** 2, JUMP * observation.size
        begin, self._least = (BEGIN * observation.typical_force) ** 2, ACCURACY * observation.typical_force
        self.noise = self._before = Noise(begin, begin, np.zeros(len(begin)))
        self._is_first = True
        self._prior = settings.prior * observation.scale
        self._begin_with(np.zeros(len(self._prior)), np.diag(self._prior**2))

    def _begin_with(self, change: Array, covariance: Array) -> None:
        self._walk = RandomWalk(np.zeros(len(change)))
        self.estimator: ExtendedParameterFilter | UnscentedParameterFilter | RecursiveLeastSquares
        if self._kind == 'rls':
            self.estimator = RecursiveLeastSquares(len(change), prior=(change, covariance))
        else:
            kind = UnscentedParameterFilter if self._kind == 'ukf' else ExtendedParameterFilter
            self.estimator = kind(change, covariance, self._walk)
        self._last: int | None = None

    def update(self, stamp: int, matrix: Array, target: Array, used: NDArray[np.bool_]) -> None:
        """Take rows (A, B) and forces (A,) beyond those of the file; drives that are not ``used`` (A,) are left out."""
        elapsed = 0.0 if self._last is None else (stamp - self._last) / 1e9
        self._walk.variances[:] = self._drift * elapsed
        if isinstance(self.estimator, RecursiveLeastSquares):
            # at rest nothing is learned, so nothing is forgotten
            self.estimator.forgetting = exp(-elapsed / self._memory) if used.any() else 1.0
        self._last = stamp
        self.estimator.update(matrix, target, np.where(used, self.noise.weight_variance, np.inf))

    def take(self, fit: SegmentFit) -> None:
        """Learn the noise of a segment; of the first one, the parameters, too."""
        segment = fit.segment
        samples = segment.used.sum(axis=0)
        scatter, noise = (np.maximum(one, self._least) for one in (fit.scatter, fit.noise))
        doubt = 1.0 + DOUBT * LAGS / np.maximum(samples, 1)
        self.noise = Noise(scatter**2, segment.every * doubt * noise**2, samples).after(self._before)
        if segment.is_whole:
            self._before = self.noise
        if self._is_first:
            # a mean over a random walk is so far from its end
            elapsed = float(segment.stamps[-1] - segment.stamps[0]) / 1e9
            known = segment.fitted(np.sqrt(self.noise.weight_variance / segment.every), self._prior)
            self._begin_with(known.parameters, known.covariance + np.diag(self._drift * elapsed / 3.0))
            self._is_first = not segment.is_whole

    def known(self, stamp: int) -> Kept:
        """What is known now, at ``stamp`` [ns]."""
        return Kept(stamp, self.estimator.parameters, self.estimator.covariance, self.noise)

    def begin_from(self, kept: Kept, covariance: Array) -> None:
        """Go on from what was known, with another covariance (B, B)."""
        self._begin_with(kept.change, covariance)
        self.noise, self._is_first = kept.noise, False

    def interrupt(self) -> None:
        """Time begins anew: what is known stays."""
        self._last = None
