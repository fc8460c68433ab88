"""Which legs tell the truth: the probability of each set of outliers, by what all legs measured.

Each leg is an inlier or an outlier, and changes at random (a Markov chain, as of interacting multiple models:
Bar-Shalom, Li, Kirubarajan 2001, section 11.6). An inlier is where the filter expects it, ``N(z - h(x); S)``. An
outlier is anywhere within its stroke, or repeats its last position. A set of outliers F explains a measurement with the
density::

    p(z | F) = N(z_rest - h_rest(x); S_rest) prod p(z_F)

with the rows of all other legs, so that all sets explain the same numbers. With ``P = S^-1`` and ``u = P y`` that is::

    y_rest' S_rest^-1 y_rest = y' u - u_F' P_FF^-1 u_F,   det S_rest = det S det P_FF

Several legs may fail together, as they share a bus. Instead of outliers they may be inliers from now on whose zeros
have moved, or two whose values are exchanged. Beside it, all legs may be inliers in a burst of noise. By how much a
zero has moved is known by no scale: its logarithm is anywhere between what would just be seen and the stroke.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import combinations
from math import exp, inf, log, log1p, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_estimation.filters import CovarianceError
from pkm_estimation.filters.kalman import solved
from pkm_estimation.models.leg_motion import OwnMotion

#: 1/s, how often a leg fails, several that share a bus, a burst of noise begins; and how often they are well again
FAULTS, BUS_FAULTS, BURSTS, RECOVERIES = 1e-4, 1e-4, 1e-6, 2.0
#: 1/s, how often the values of two legs are exchanged
SWAPS = 1e-6
#: factors on the noise variances of all legs in a burst, and how likely they are, each to the one before
LOUDER, _LOUDER_STILL = (10.0, 100.0, 1e3, 1e4), 0.1
#: s, a measurement that comes sooner than this after the last one gives legs as much time to change
_SHORTEST = 1e-6
#: s, after which failures of a leg count by a factor e less in how often it fails
_MEMORY = 10.0
#: standard deviation of a prediction, in those of the noise, up to which it tells of a zero
_SHARP = 12.0
#: standard deviations of a prediction by which a zero moves at least
_SEEN = 3.0
#: number of failures of late from which on a leg fails often
_OFTEN = 0.95
#: weight of a new one in how far it is off then
_NEW = 0.1
#: explanations that are looked at
_MOST = 6
#: what one more outlier, or a burst, costs at least: minus the logarithm of its probability
_DEAR = 9.0
#: largest probability of a change
_CHANCE = 0.5


def chance(rate: float, seconds: float) -> float:
    """Probability of a change of so many per second within a time."""
    return min(_CHANCE, rate * seconds)


#: by leg: how far it is off [m or rad], and the variance of that
Offsets = Mapping[int, tuple[float, float]]


class LegExplanation(NamedTuple):
    """What explains a measurement.

    Attributes
    ----------
    outliers : legs
    noise : factor on the noise variances of the others
    logarithm : of the probability of the change, times the density of the measurement
    size : part of it by the determinant of the covariance of the inliers
    nis : normalised innovation squared of the legs that are inliers, and are in the measurement
    used : (k,) these legs
    moved : legs that do not fit because their zeros have moved
    swapped : two legs whose values are exchanged from now on, or not any more
    residual, covariance : (A,), (A, A) m or rad, against the prediction
    """

    outliers: frozenset[int]
    noise: float
    logarithm: float
    size: float
    nis: float
    used: NDArray[np.intp]
    moved: frozenset[int] = frozenset()
    swapped: tuple[int, ...] = ()
    residual: Array = np.zeros(0)
    covariance: Array = np.zeros((0, 0))

    @property
    def offsets(self) -> Offsets:
        """Of legs that do not fit, from the prediction by the others [m or rad], and the variances of that."""
        off = [leg for leg in sorted(self.outliers | self.moved) if leg < len(self.residual)]
        there = [leg for leg in off if np.isfinite(self.residual[leg])]
        return {leg: conditional(leg, self.used, self.residual, self.covariance) for leg in there}


class LegSets:
    """Explains measurements of a machine's legs.

    How often a leg fails, and how far it is off then, is learned: one that failed of late fails again.

    Parameters
    ----------
    machine : strokes and noise of its drives

    Attributes
    ----------
    rates, sizes : (A,) 1/s, how often each leg becomes an outlier, and mean square of how far it is off then, m^2 or
        rad^2; replaced, never written into
    """

    def __init__(self, machine: Machine) -> None:
        noise = machine.leg_sensors.position_noise
        strokes = np.array([joint.limits.upper - joint.limits.lower for joint in machine.actuated_joints])
        # a drive that turns without end is anywhere within a turn
        self._strokes = np.where(np.isfinite(strokes) & (strokes > 0.0), strokes, 2.0 * pi)
        self._noise = np.broadcast_to(np.maximum(noise, 1e-12), len(strokes))
        self.rates, self.sizes, self._stamp = np.full(len(strokes), FAULTS), np.zeros(len(strokes)), 0

    def forget(self, stamp: int) -> None:
        """Let failures count less at a measurement of a stamp [ns] than before."""
        seconds, self._stamp = 1e-9 * abs(stamp - self._stamp), stamp
        if (self.rates > 2.0 * FAULTS).any():
            self.rates = FAULTS + exp(-min(seconds / _MEMORY, 100.0)) * (self.rates - FAULTS)

    def learn(self, before: frozenset[int], outliers: frozenset[int], offsets: Offsets) -> None:
        """Take which legs did not fit before, and at a measurement, and how far they are off."""
        if outliers:
            self.rates = self.rates + np.isin(np.arange(len(self.rates)), list(outliers - before)) / _MEMORY
            sizes = self.sizes.copy()
            for leg in outliers & offsets.keys():
                sizes[leg] += (offsets[leg][0] ** 2 - sizes[leg]) * (_NEW if sizes[leg] > 0.0 else 1.0)
            self.sizes = sizes

    def anywhere(self, legs: NDArray[np.intp]) -> float:
        """Logarithm of the density of positions that may be anywhere within the strokes."""
        return -float(np.log(self._strokes[legs]).sum())

    def _as_outliers(
        self, legs: NDArray[np.intp], residual: Array, covariance: Array, stays: NDArray[np.bool_]
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Logarithms (k,) of the densities of legs that are outliers, and which tell of zeros that have moved.

        ``stays``: those that were outliers, and are where they were.
        """
        off, variances = _by_the_others(residual, covariance)
        spread, often = variances + self.sizes[legs], (self.rates[legs] - FAULTS) * _MEMORY  # as it failed of late
        # what is hardly predicted tells of no zero, nor does a leg that fails often
        is_sharp = (variances < (_SHARP * self._noise[legs]) ** 2) & (often < _OFTEN)
        usual = np.exp(-0.5 * np.minimum(off**2 / spread, 1e3)) / np.sqrt(2.0 * pi * spread)
        densities = (1.0 / self._strokes[legs] + often * usual) / (1.0 + often)
        densities = np.where(stays, np.maximum(0.5e3 / self._noise[legs], densities), densities)
        return np.log(densities), is_sharp

    def explanations(
        self, outliers: frozenset[int], noise: float, legs: NDArray[np.intp], residual: Array, covariance: Array,
        noise_variance: Array, positions: Array, last: Array,
        seconds: float, scale: float, may_move: bool, own_motion: Callable[[], OwnMotion],
    ) -> list[LegExplanation]:  # fmt: skip
        """All that may explain a measurement, the likeliest first.

        Parameters
        ----------
        outliers, noise : legs that were outliers before, and the factor on the noise variances of the others
        legs : (k,) in the measurement
        residual, covariance, noise_variance : (A,), (A, A), (A,) against the prediction, with this noise; the noise
            without the factor
        positions, last : (A,), (A,) m or rad, now and before
        seconds : since the last measurement
        scale : mean square of the normalised innovations so far: how well the model fits
        may_move : whether zeros that move may explain it
        own_motion : where the legs are, against where each was going by itself

        Raises
        ------
        CovarianceError
            The covariance is not positive definite.
        """
        time = max(seconds, _SHORTEST)
        whole, all_of, variance = residual, covariance, noise_variance[legs]
        residual, covariance = residual[legs], scale * covariance[np.ix_(legs, legs)]
        was_out = np.array([leg in outliers for leg in legs.tolist()], dtype=bool)
        stays = was_out & (positions[legs] == last[legs])
        as_outliers = cache(partial(self._as_outliers, legs, residual, covariance, stays))
        change = _Change(was_out, self.rates[legs], as_outliers, self._strokes[legs], time, noise)
        elsewhere = outliers - frozenset(legs.tolist())
        none = LegExplanation(elsewhere, noise, 0.0, 0.0, 0.0, legs, frozenset(), (), whole, all_of)
        found: list[LegExplanation] = []
        for factor in dict.fromkeys((noise, 1.0, *LOUDER)):
            is_burst = factor not in (noise, 1.0)
            if is_burst and (outliers or 0.5 * found[0].nis < _DEAR):
                continue
            matrix = covariance + scale * (factor - noise) * np.diag(variance)
            of_noise = change.of_noise(factor) + (own_motion().against_noise(factor, legs) if factor > 1.0 else 0.0)
            for out, logarithm, size, nis in _sets(residual, matrix, change, not is_burst):
                inside = np.ones(len(legs), dtype=bool)
                inside[list(out)] = False
                left_out = frozenset(legs[list(out)].tolist())
                logarithm += of_noise
                why = none._replace(
                    outliers=elsewhere | left_out, noise=factor, logarithm=logarithm, size=size, nis=nis,
                    used=legs[inside],
                )  # fmt: skip
                found.append(why)
                if out and may_move and factor == 1.0 and as_outliers()[1][list(out)].all():
                    new = logarithm + change.of_move(np.array(out, dtype=np.intp), residual, matrix, own_motion(), legs)
                    found.append(why._replace(outliers=elsewhere, logarithm=new, moved=left_out))
        if 0.5 * found[0].nis >= _DEAR:
            exchanged = none._replace(noise=1.0, size=found[0].size)
            found += [
                _exchanged(exchanged, pair, positions[legs], residual, covariance, change)
                for pair in combinations(range(len(legs)), 2)
            ]
        found.sort(key=lambda one: -one.logarithm)
        return found[:_MOST]


class _Change:
    """Logarithms of the probabilities of changes within a time [s]; ``as_outliers`` is :meth:`LegSets._as_outliers`."""

    def __init__(
        self, was_out: NDArray[np.bool_], rates: Array, as_outliers: Callable[[], tuple[Array, NDArray[np.bool_]]],
        strokes: Array, time: float, noise: float,
    ) -> None:  # fmt: skip
        self._fails, self._back = np.minimum(_CHANCE, rates * time), chance(RECOVERIES, time)
        self._time, self._rates = time, rates
        self.inside = np.where(was_out, log(self._back), np.log1p(-self._fails))
        self.is_calm = not was_out.any()
        # those that failed together are well again together
        self.together = max(0.0, float(-self.inside[was_out].sum()) + log(self._back)) if was_out.any() else 0.0
        self._was_out, self._as_outliers, self._strokes, self._noise = was_out, as_outliers, strokes, noise

    @property
    def swaps(self) -> float:
        """Of two legs that are exchanged."""
        return log(chance(SWAPS, self._time))

    @property
    def out(self) -> Array:
        """Of each leg (k,) that it is an outlier, and where it is then."""
        return np.where(self._was_out, log1p(-self._back), np.log(self._fails)) + self._as_outliers()[0]

    def of_outliers(self, places: NDArray[np.intp]) -> Array:
        """Logarithms (C,) of sets of outliers (C, k), less those of no outlier."""
        alone = (self.out - self.inside)[places].sum(axis=1)
        count, few = len(self.inside), places.shape[1]
        if few < 2:
            return np.asarray(alone)
        # legs that share a bus: all of them, or any set
        share = 0.0 if few == count else -count * log(2.0)
        together = log(chance(BUS_FAULTS, self._time)) - log(2.0) + share + self._as_outliers()[0][places].sum(axis=1)
        return np.where(self._was_out[places].any(axis=1), alone, np.maximum(alone, together))

    def of_move(
        self, places: NDArray[np.intp], residual: Array, covariance: Array, own: OwnMotion, legs: NDArray[np.intp]
    ) -> float:
        """Logarithm of the probability that zeros have moved, to that of outliers, by a residual (k,) of all legs."""
        precision, is_new = np.linalg.inv(covariance), ~self._was_out[places]
        by_others = np.linalg.inv(precision[np.ix_(places, places)])
        jumps = by_others @ (precision @ residual)[places]
        away = np.abs(jumps)
        least, strokes = _SEEN * np.sqrt(by_others.diagonal()), self._strokes[places]
        of_any_size = 0.25 / (np.maximum(away, least) * np.log(np.maximum(strokes / least, 2.0)))
        density = np.log(0.5 / strokes + np.where(away < least, 0.0, of_any_size))
        moves = log(0.5 * FAULTS) - log(self._rates[places][is_new].max()) if is_new.any() else log(0.5)
        # those that were outliers are well again, with another zero
        outlier = np.where(is_new, self._as_outliers()[0][places], self.out[places] - log(self._back))
        smooth = own.against_jumps(legs[places], jumps, by_others.diagonal())
        return moves + float((density - outlier).sum()) + smooth

    def of_noise(self, factor: float) -> float:
        """Logarithm of the probability of a factor on the noise."""
        if factor == self._noise:
            return log1p(-self._back) if factor > 1.0 else 0.0
        if factor == 1.0:
            return log(self._back)
        return log(chance(BURSTS, self._time) * _LOUDER_STILL ** LOUDER.index(factor))


def _sets(
    residual: Array, covariance: Array, change: _Change, is_any: bool
) -> Iterator[tuple[tuple[int, ...], float, float, float]]:
    """Sets of outliers, their logarithms, what is of it by the determinant, and what is left of the NIS.

    Only that of none where not ``is_any``.
    """
    count = len(residual)
    try:
        precision = np.linalg.inv(covariance)
        sign, size = np.linalg.slogdet(covariance)
    except np.linalg.LinAlgError:
        sign, size = 0.0, inf
    if not sign > 0.0:
        raise CovarianceError('innovation covariance is not positive definite')
    along = precision @ residual
    nis, normal = float(residual @ along), log(2.0 * pi)
    none = float(change.inside.sum())
    whole = -0.5 * (size + count * normal)
    yield (), none + change.together - 0.5 * nis + whole, whole, nis
    if not is_any or (0.5 * nis < _DEAR and change.is_calm):
        return
    for few in range(1, count):
        places = np.array(list(combinations(range(count), few)))
        block = precision[places[:, :, None], places[:, None, :]]
        less = np.einsum('ck,ck->c', along[places], np.linalg.solve(block, along[places][..., None])[..., 0])
        sizes = -0.5 * (size + np.linalg.slogdet(block)[1] + (count - few) * normal)
        logarithms = none + change.of_outliers(places) - 0.5 * (nis - less) + sizes
        for place in np.argsort(-logarithms)[:3]:
            rest = max(0.0, nis - float(less[place]))
            yield tuple(places[place].tolist()), float(logarithms[place]), float(sizes[place]), rest
        if 0.5 * float((nis - less).min()) < _DEAR:
            return
    everything = np.arange(count)[None]
    yield tuple(range(count)), none + float(change.of_outliers(everything)[0]), 0.0, 0.0


def _exchanged(
    why: LegExplanation, pair: tuple[int, ...], positions: Array, residual: Array, covariance: Array, change: _Change
) -> LegExplanation:
    """All legs are inliers, two of them with exchanged values; arrays are of the legs in the measurement."""
    one, other = pair
    exchange, residual = float(positions[other] - positions[one]), residual.copy()
    residual[one], residual[other] = residual[one] + exchange, residual[other] - exchange
    nis = float(residual @ solved(covariance, residual))
    legs = tuple(why.used[list(pair)].tolist())
    logarithm = float(change.inside.sum()) + change.swaps - 0.5 * nis + why.size
    return why._replace(logarithm=logarithm, nis=nis, swapped=legs)


def _by_the_others(residual: Array, covariance: Array) -> tuple[Array, Array]:
    """Residuals (k,) of legs, each conditional on all others, and their variances."""
    try:
        precision = np.linalg.inv(covariance)
    except np.linalg.LinAlgError:
        raise CovarianceError('innovation covariance is not positive definite') from None
    variances = 1.0 / np.maximum(precision.diagonal(), 1e-30)
    return variances * (precision @ residual), variances


def conditional(leg: int, given: NDArray[np.intp], residual: Array, covariance: Array) -> tuple[float, float]:
    """Residual of a leg and its variance, conditional on the legs ``given``."""
    if not len(given):
        return float(residual[leg]), float(covariance[leg, leg])
    gain = solved(covariance[np.ix_(given, given)], covariance[given, leg])
    variance = float(covariance[leg, leg] - gain @ covariance[given, leg])
    return float(residual[leg] - gain @ residual[given]), max(variance, 1e-18)
