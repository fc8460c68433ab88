"""Sums of Gaussians in place of one: what a filter's estimate is where legs do not tell which of several poses it is.

A Gaussian is cut into narrower ones along a direction (Alspach and Sorenson 1972), each of which a Kalman filter can
correct; two that describe one pose become one again. Mean and covariance of the sum stay what they were.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import quaternion_from_matrix, rotation_log, skew

from pkm_estimation.filters.kalman import solved
from pkm_estimation.models import ATTITUDE, POSITION
from pkm_estimation.models.attitude import move_chart, rotation_of, scalar_part

#: the states that make the pose
POSE = [*range(POSITION.start, POSITION.stop), *range(ATTITUDE.start, ATTITUDE.stop)]
#: probability with which a part counts at least in what is claimed
_LEAST_CLAIMED = 0.01
#: parts into which a standard normal distribution is cut, and their distance
_CUTS = ((3, 1.0), (5, 0.8), (9, 0.55), (15, 0.4))


class Part(NamedTuple):
    """One Gaussian of a sum.

    Attributes
    ----------
    snapshot : of the filter, see :meth:`PlatformFilter.snapshot`
    logarithm : of its probability
    family : number of the Gaussian that it was cut from just now
    """

    snapshot: tuple[Any, ...]
    logarithm: float
    family: int = 0

    @property
    def gaussian(self) -> tuple[Array, Array, Array]:
        """State (n,), covariance (n, n), and carried covariances (n, c)."""
        return self.snapshot[0], self.snapshot[1], self.snapshot[6][0]

    @property
    def chart(self) -> Array:
        """Axes (3, 3) in which they are given."""
        chart: Array = self.snapshot[2]
        return chart

    def with_gaussian(self, state: Array, covariance: Array, carried: Array, logarithm: float) -> Part:
        """The same with another estimate."""
        _, _, chart, legs, factors, constants, (_, *others), process = self.snapshot
        snapshot = state, covariance, chart, legs, factors, constants, (carried, *others), process
        return Part(snapshot, logarithm, self.family)

    def seen_from(self, chart: Array) -> tuple[Array, Array, Array]:
        """Its Gaussian in the axes of another chart."""
        state, covariance, carried = (values.copy() for values in self.gaussian)
        if chart is self.chart or np.array_equal(chart, self.chart):
            return state, covariance, carried
        # to the own attitude, where all is small, and from there to the other chart
        own, _ = move_chart(self.chart, state, covariance, carried, POSITION, ATTITUDE)
        relative = chart.T @ own
        state[POSITION] = relative @ state[POSITION]
        turn = quaternion_from_matrix(relative)
        vector, scalar = turn[:3], turn[3]
        transport = np.eye(len(state))
        transport[POSITION, POSITION] = relative
        transport[ATTITUDE, ATTITUDE] = scalar * np.eye(3) + skew(vector)
        state[ATTITUDE] = vector
        return state, transport @ covariance @ transport.T, transport @ carried


def cut(whole: Part, along: Array, curvature: float, straight: float) -> list[Part]:
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


def joined(one: Part, other: Part) -> Part:
    """One Gaussian with mean and covariance of two, in the chart of the first."""
    state, covariance, carried = one.gaussian
    state_2, covariance_2, carried_2 = other.seen_from(one.chart)
    logarithm = float(np.logaddexp(one.logarithm, other.logarithm))
    weight = float(np.exp(other.logarithm - logarithm))
    apart = state_2 - state
    mean = state + weight * apart
    spread = (1.0 - weight) * covariance + weight * covariance_2 + weight * (1.0 - weight) * np.outer(apart, apart)
    return one.with_gaussian(mean, spread, (1.0 - weight) * carried + weight * carried_2, logarithm)


def apart(one: Part, other: Part) -> float:
    """Square of the distance of two poses, by their covariances."""
    state, covariance, _ = other.seen_from(one.chart)
    rows = np.ix_(POSE, POSE)
    away = (state - one.gaussian[0])[POSE]
    return float(away @ solved(covariance[rows] + one.gaussian[1][rows], away))


def covariance_about(best: Part, parts: tuple[Part, ...], arm: Array) -> Array:
    """Mean square (n, n) of the deviations of all parts from the state of one of them, in its chart.

    So what is claimed for the likeliest pose covers the others, too, with a probability of at least 1 % each. They may
    be far: a deviation is the one whose linear image is the other part's pose, of the point of the platform that is
    ``arm`` (3,) m from the state's.
    """
    total = np.zeros_like(best.gaussian[1])
    mean = best.gaussian[0]
    q, here = mean[ATTITUDE], rotation_of(mean[ATTITUDE])
    scalar = scalar_part(q)
    turned = 2.0 * (scalar * np.eye(3) + skew(q) + np.outer(q, q) / scalar)  # rotation by a change of q
    for part in parts:
        state, covariance, _ = part.seen_from(best.chart)
        apart = state - mean
        there = rotation_of(state[ATTITUDE])
        turn = rotation_log((there @ here.T)[None])[0]
        apart[ATTITUDE] = np.linalg.solve(turned, turn)
        apart[POSITION] += (there - here) @ arm - np.cross(turn, here @ arm)
        total += max(float(np.exp(part.logarithm)), _LEAST_CLAIMED) * (covariance + np.outer(apart, apart))
    return 0.5 * (total + total.T)


def normalised(parts: list[Part], least: float) -> tuple[Part, ...]:
    """Parts whose probability is at least ``least``, of together 1, the likeliest first."""
    logarithms = np.array([part.logarithm for part in parts])
    logarithms -= np.logaddexp.reduce(logarithms)
    kept = sorted((-value, place) for place, value in enumerate(logarithms.tolist()) if np.exp(value) >= least)
    total = float(np.logaddexp.reduce([-value for value, _ in kept]))
    return tuple(parts[place]._replace(logarithm=-value - total) for value, place in kept)


def reduced(parts: list[Part], most: int) -> list[Part]:
    """At most so many parts: those are joined that move the least probability over the least distance."""
    parts = list(parts)
    while len(parts) > most:
        best, least = (0, 1), np.inf
        for j in range(1, len(parts)):
            for i in range(j):
                # part of the probability that is moved, and how far
                weight = -float(np.logaddexp(-parts[i].logarithm, -parts[j].logarithm))
                if weight >= least:
                    continue
                cost = weight + float(np.log1p(apart(parts[i], parts[j])))
                if cost < least:
                    best, least = (i, j), cost
        i, j = best
        parts[i] = joined(parts[i], parts[j])
        del parts[j]
    return parts


def turn_between(one: Part, other: Part) -> Array:
    """Rotation (3, 3) from the platform of one part to that of another."""
    attitudes = [part.chart @ rotation_of(part.gaussian[0][ATTITUDE]) for part in (one, other)]
    turn: Array = attitudes[0].T @ attitudes[1]
    return turn
