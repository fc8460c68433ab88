"""Hypotheses: Gaussian estimates with a label, which says who is trusted, and a probability; moments of their mixture.

Where legs do not tell which of several poses it is, a Gaussian is cut into narrower ones along a direction (Alspach and
Sorenson 1972), each of which a Kalman filter can correct; two that describe one pose become one again. Mean and
covariance of the sum stay what they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import cross, quaternion_from_matrix, rotated, rotation_log, skew

from pkm_estimation.filters.kalman import solved
from pkm_estimation.kernels.unscented import CARRIED_NOISES
from pkm_estimation.models import ATTITUDE, BIASES, POSE, POSITION
from pkm_estimation.models.inertial_process import LEAST_SQUARE, rotation_of, rotations_of, scalar_part
from pkm_estimation.tracking.leg_sets import Offsets

_ROWS, _COLUMNS = np.ix_(POSE, POSE)
#: probability with which a part counts at least in what is claimed
_LEAST_CLAIMED = 0.01
#: digits of a logarithm that rounding leaves
DIGITS = 9
#: parts into which a standard normal distribution is cut, and their distance
_CUTS = ((3, 1.0), (5, 0.8), (9, 0.55), (15, 0.4))


class Label(NamedTuple):
    """Who is trusted.

    Attributes
    ----------
    uses_imu : whether the IMU is; else legs alone estimate
    outliers : legs that are not
    moved : legs whose zeros have moved of late, each with the number of the measurement at which it did
    swapped : pairs of legs whose values are exchanged
    noise : factor on the noise variances of the others, above 1 in a burst
    is_late : whether the present measurement of the legs is of another time than its stamp
    imu_noise : factor on the noise variances of the IMU, where its samples say less than their noise
    """

    uses_imu: bool = True
    outliers: frozenset[int] = frozenset()
    moved: frozenset[tuple[int, int]] = frozenset()
    swapped: frozenset[tuple[int, ...]] = frozenset()
    noise: float = 1.0
    is_late: bool = False
    imu_noise: float = 1.0

    def in_order(self, positions: Array) -> Array:
        """Positions (A,) of the drives, those that are exchanged each at its own place."""
        if not self.swapped:
            return positions
        ordered = positions.copy()
        for one, other in sorted(self.swapped):
            ordered[[one, other]] = ordered[[other, one]]
        return ordered


#: all sensors tell the truth
GOOD = Label()


class Hypothesis(NamedTuple):
    """One Gaussian of a sum.

    Attributes
    ----------
    snapshot : of the filter, see :meth:`PlatformFilter.snapshot`
    logarithm : of its probability
    label : who is trusted
    motion : what is known of the motion where legs alone estimate
    moved : by how much zeros have moved, and the variances of that
    family : number of the Gaussian that it was cut from just now
    scans : measurements for which it stays however improbable it is, as it began with little knowledge
    """

    snapshot: tuple[Any, ...]
    logarithm: float
    label: Label = GOOD
    motion: tuple[Any, ...] = ()
    moved: Offsets = MappingProxyType({})
    family: int = 0
    scans: int = 0

    @property
    def gaussian(self) -> tuple[Array, Array, Array]:
        """State (n,), covariance (n, n), and carried covariances (n, c)."""
        return self.snapshot[0], self.snapshot[1], self.snapshot[6][0]

    @property
    def chart(self) -> Array:
        """Axes (3, 3) in which they are given."""
        chart: Array = self.snapshot[2]
        return chart

    def with_gaussian(self, state: Array, covariance: Array, carried: Array, logarithm: float) -> Hypothesis:
        """The same with another estimate."""
        _, _, chart, legs, factors, constants, (_, *others), process = self.snapshot
        snapshot = state, covariance, chart, legs, factors, constants, (carried, *others), process
        return self._replace(snapshot=snapshot, logarithm=logarithm)

    def seen_from(self, chart: Array) -> tuple[Array, Array, Array]:
        """Its Gaussian in the axes of another chart."""
        state, covariance, carried = (values.copy() for values in self.gaussian)
        if chart is self.chart or np.array_equal(chart, self.chart):
            return state, covariance, carried
        relative, transport = chart.T @ self.chart, np.eye(len(state))
        turned = relative @ state[POSITION]
        state[ATTITUDE], transport[ATTITUDE, ATTITUDE] = _turned(relative, state[ATTITUDE])
        state[POSITION], transport[POSITION, POSITION] = turned, relative
        return state, transport @ covariance @ transport.T, transport @ carried


def _turned(relative: Array, q: Array) -> tuple[Array, Array]:
    """Vector parts (..., 3) of attitudes q (..., 3) in axes that ``relative`` (..., 3, 3) turns to, and the slope."""
    turn = quaternion_from_matrix(relative)
    vector, scalar = turn[..., :3], turn[..., 3:]
    own = np.sqrt(np.maximum(LEAST_SQUARE, 1.0 - np.sum(q * q, axis=-1, keepdims=True)))
    # of the two quaternions of an attitude that whose scalar part is not negative
    sign = np.where(scalar * own < np.sum(vector * q, axis=-1, keepdims=True), -1.0, 1.0)
    slope = scalar[..., None] * np.eye(3) + skew(vector) - vector[..., None] * (q / own)[..., None, :]
    return sign * (scalar * q + own * vector + cross(vector, q)), sign[..., None] * slope


def cut(whole: Hypothesis, along: Array, curvature: float, straight: float) -> list[Hypothesis]:
    """Cut an estimate along a direction (n,) of one standard deviation into parts over which it is straight.

    Parameters
    ----------
    curvature : over one standard deviation; that over one of a part shall be at most ``straight``, if possible
    """
    state, covariance, carried = whole.gaussian
    for count, distance in _CUTS:
        places = distance * (np.arange(count) - 0.5 * (count - 1))
        weights = np.exp(-0.5 * places**2)
        weights /= weights.sum()
        variance = 1.0 - float(weights @ places**2)
        if curvature * variance <= straight:
            break
    narrow = covariance - (1.0 - variance) * np.outer(along, along)
    return [
        whole.with_gaussian(state + place * along, narrow.copy(), carried.copy(), whole.logarithm + logarithm)
        for place, logarithm in zip(places, np.log(weights).tolist(), strict=True)
    ]


def joined(one: Hypothesis, other: Hypothesis) -> Hypothesis:
    """One Gaussian with mean and covariance of two, in the chart of the first."""
    state, covariance, carried = one.gaussian
    state_2, covariance_2, carried_2 = other.seen_from(one.chart)
    logarithm = float(np.logaddexp(one.logarithm, other.logarithm))
    weight = float(np.exp(other.logarithm - logarithm))
    apart = state_2 - state
    mean = state + weight * apart
    spread = (1.0 - weight) * covariance + weight * covariance_2 + weight * (1.0 - weight) * np.outer(apart, apart)
    return one.with_gaussian(mean, spread, (1.0 - weight) * carried + weight * carried_2, logarithm)


class _Poses(NamedTuple):
    """Gaussians of poses: charts (..., 3, 3), states (..., 6), covariances (..., 6, 6)."""

    chart: Array
    state: Array
    covariance: Array

    @classmethod
    def of(cls, parts: Sequence[Hypothesis]) -> _Poses:
        """Those of parts, along one axis."""
        states, covariances, _ = zip(*(part.gaussian for part in parts), strict=True)
        charts = np.array([part.chart for part in parts])
        return cls(charts, np.array(states)[:, POSE], np.array(covariances)[:, _ROWS, _COLUMNS])

    def take(self, places: Any) -> _Poses:
        """Some of them."""
        return _Poses(self.chart[places], self.state[places], self.covariance[places])

    def apart(self, others: _Poses) -> Array:
        """Squares (...) of the distances to others, by both covariances, in the charts of these; both broadcast."""
        relative = np.swapaxes(self.chart, -1, -2) @ others.chart
        turned, slope = _turned(relative, others.state[..., 3:])
        away = np.concatenate([rotated(relative, others.state[..., :3]), turned], axis=-1) - self.state
        transport = np.zeros((*relative.shape[:-2], 6, 6))
        transport[..., :3, :3], transport[..., 3:, 3:] = relative, slope
        both = self.covariance + transport @ others.covariance @ np.swapaxes(transport, -1, -2)
        squares: Array = np.sum(away * solved(both, away[..., None])[..., 0], axis=-1)
        return squares


def apart(ones: Sequence[Hypothesis], other: Hypothesis) -> Array:
    """Squares (N,) of the distances of poses from another one, by their covariances."""
    return _Poses.of(ones).apart(_Poses.of([other]))


def covariance_about(
    best: Hypothesis, parts: tuple[Hypothesis, ...], arm: Array, claim: Array, scale: float = 1.0
) -> Array:
    """Mean square (n, n) of the deviations of all parts from the state of one of them, in its chart.

    So what is claimed for the likeliest pose covers the others, too; those that trust the same sensors with a
    probability of at least 1 % each, as nothing but the motion tells them apart. They may be far: a deviation is the
    one whose linear image is the other part's pose, of the point of the platform that is ``arm`` (3,) m from the
    state's. Constants of the machine count with the root ``claim`` (p, p), covariances ``scale`` times.
    """
    q, here = best.gaussian[0][ATTITUDE], rotation_of(best.gaussian[0][ATTITUDE])
    scalar = scalar_part(q)
    by_q = 2.0 * (scalar * np.eye(3) + skew(q) + np.outer(q, q) / scalar)  # rotation by a change of q
    states, covariances, carried = (np.array(values) for values in zip(*(part.gaussian for part in parts), strict=True))
    covariances, sensitivity = scale * covariances, carried[:, :, CARRIED_NOISES:] @ claim
    if sensitivity.shape[2]:
        covariances += sensitivity @ sensitivity.transpose(0, 2, 1)
    relative = best.chart.T @ np.array([part.chart for part in parts])
    transport = np.zeros_like(covariances) + np.eye(states.shape[1])
    states[:, POSITION], transport[:, POSITION, POSITION] = rotated(relative, states[:, POSITION]), relative
    states[:, ATTITUDE], transport[:, ATTITUDE, ATTITUDE] = _turned(relative, states[:, ATTITUDE])
    away = states - best.gaussian[0]
    there, _ = rotations_of(states[:, ATTITUDE])
    turns = rotation_log(there @ here.T)
    away[:, ATTITUDE] = np.linalg.solve(by_q, turns.T).T
    away[:, POSITION] += (there - here) @ arm - cross(turns, here @ arm)
    weights = np.exp([part.logarithm for part in parts])
    alike = np.array([part.label == best.label for part in parts])
    weights[alike] = np.maximum(weights[alike], _LEAST_CLAIMED)
    moved = transport @ covariances @ np.swapaxes(transport, 1, 2)
    others = np.array([part.label.uses_imu != best.label.uses_imu for part in parts])
    if others.any():  # what are biases with an IMU are none without
        away[others, BIASES] = 0.0
        moved[others, BIASES, :], moved[others, :, BIASES] = 0.0, 0.0
        moved[others, BIASES, BIASES] = covariances[0][BIASES, BIASES]
    total = np.tensordot(weights, moved, 1) + (weights * away.T) @ away
    return np.asarray(0.5 * (total + total.T))


def are_young(logarithms: Array, scans: Sequence[int], least: float) -> NDArray[np.bool_]:
    """Which hypotheses (N,) stay for some more measurements; of them those that are not improbable by the likeliest.

    One that begins anew knows no speed, and its first predictions are vague. What it is worth the next measurements
    tell (deferred decision: Blackman 2004).
    """
    young = np.array(scans) > 0
    likeliest = np.max(logarithms, where=young, initial=-np.inf)
    return np.asarray(young & (logarithms >= likeliest + np.log(least)))


def normalised(parts: list[Hypothesis], least: float) -> tuple[Hypothesis, ...]:
    """Parts whose probability is at least ``least``, of together 1, the likeliest first, and young ones."""
    logarithms = np.array([part.logarithm for part in parts])
    logarithms -= np.logaddexp.reduce(logarithms)
    stays = (np.exp(logarithms) >= least) | are_young(logarithms, [part.scans for part in parts], least)
    # of equal ones the first stays the first, whatever rounding says
    kept = sorted(np.flatnonzero(stays).tolist(), key=lambda place: -round(logarithms.item(place), DIGITS))
    total = float(np.logaddexp.reduce(logarithms[kept]))
    return tuple(parts[place]._replace(logarithm=logarithms.item(place) - total) for place in kept)


def reduced(parts: list[Hypothesis], most: int) -> list[Hypothesis]:
    """At most so many parts: those are joined that move the least probability over the least distance."""
    parts = list(parts)
    if len(parts) <= most:
        return parts
    poses = _Poses.of(parts)
    far = np.full((len(parts), len(parts)), np.inf)  # of all pairs, below the diagonal
    later, former = np.tril_indices(len(parts), -1)
    far[later, former] = _far(poses.take(former), poses.take(later))
    while len(parts) > most:
        later, former = np.tril_indices(len(parts), -1)
        logarithms = np.array([part.logarithm for part in parts])
        # part of the probability that is moved, and how far
        weights = -np.logaddexp(-logarithms[former], -logarithms[later])
        best = int(np.argmin(weights + far[later, former]))
        i, j = int(former[best]), int(later[best])
        parts[i] = joined(parts[i], parts[j])
        del parts[j]
        left = np.delete(np.arange(len(far)), j)
        far, poses, new = far[np.ix_(left, left)], poses.take(left), _Poses.of([parts[i]])
        for values, value in zip(poses, new, strict=True):
            values[i] = value[0]
        far[i, :i], far[i + 1 :, i] = _far(poses.take(slice(i)), new), _far(new, poses.take(slice(i + 1, None)))
    return parts


def _far(ones: _Poses, others: _Poses) -> Array:
    """Logarithm (N,) that grows with the distance of poses; infinite where that is no number."""
    return np.nan_to_num(np.log1p(ones.apart(others)), nan=np.inf, posinf=np.inf)


def turn_between(one: Hypothesis, other: Hypothesis) -> Array:
    """Rotation (3, 3) from the platform of one part to that of another."""
    attitudes = [part.chart @ rotation_of(part.gaussian[0][ATTITUDE]) for part in (one, other)]
    turn: Array = attitudes[0].T @ attitudes[1]
    return turn
