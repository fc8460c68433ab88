"""Sums of Gaussians keep their moments; adapted noise follows the innovations as it is stated."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from pkm_description.kinematics.rotation import quaternion_from_matrix, rotation_exp
from pkm_estimation.filtering.noise_adaptation import NoiseAdaptation
from pkm_estimation.filters import Innovation
from pkm_estimation.kernels.unscented import CARRIED_NOISES
from pkm_estimation.models.inertial_process import rotation_of
from pkm_estimation.tracking.hypotheses import (
    Hypothesis,
    _turned,
    apart,
    covariance_about,
    cut,
    joined,
    normalised,
    reduced,
    turn_between,
)

RANDOM = np.random.default_rng(4)
SIZE = 15
CHART = rotation_exp(np.array([0.3, -0.5, 0.8]))


def part(state=None, scale=0.1, logarithm=0.0, chart=CHART, family=0):
    root = scale * RANDOM.normal(size=(SIZE, SIZE))
    state = np.zeros(SIZE) if state is None else state
    carried = RANDOM.normal(size=(SIZE, 18))
    snapshot = state, root @ root.T, chart, 'legs', 'noise', 'constants', (carried, 18, 7), 'process'
    return Hypothesis(snapshot, logarithm, family=family)


def moments(parts):
    weights = np.exp([one.logarithm for one in parts])
    weights /= weights.sum()
    states, covariances, carried = (np.array(values) for values in zip(*(one.gaussian for one in parts), strict=True))
    mean = weights @ states
    away = states - mean
    covariance = np.einsum('k,kij->ij', weights, covariances) + away.T * weights @ away
    return mean, covariance, np.einsum('k,kij->ij', weights, carried)


@pytest.mark.parametrize(('curvature', 'count'), [(0.1, 3), (2.0, 3), (5.0, 9), (1e3, 15)])
def test_a_gaussian_that_is_cut_keeps_its_moments(curvature, count):
    whole = part(RANDOM.normal(size=SIZE), logarithm=-0.7)
    along = np.linalg.cholesky(whole.gaussian[1])[:, 2]
    pieces = cut(whole, along, curvature, 1.0)
    assert len(pieces) == count
    mean, covariance, carried = moments(pieces)
    assert mean == pytest.approx(whole.gaussian[0]) and carried == pytest.approx(whole.gaussian[2])
    assert covariance == pytest.approx(whole.gaussian[1])
    assert np.logaddexp.reduce([one.logarithm for one in pieces]) == pytest.approx(-0.7)
    left = pieces[0].gaussian[1]
    variance = 1.0 - np.linalg.norm(whole.gaussian[1] - left, 2) / (along @ along)
    assert curvature * variance <= 1.0 or count == 15
    for one in pieces:
        assert one.snapshot[2:6] == whole.snapshot[2:6] and one.snapshot[6][1:] == (18, 7)


def test_two_that_are_joined_keep_their_moments():
    one, other = part(RANDOM.normal(size=SIZE), logarithm=-0.3), part(RANDOM.normal(size=SIZE), logarithm=-1.9)
    found = joined(one, other)
    for value, expected in zip(found.gaussian, moments([one, other]), strict=True):
        assert value == pytest.approx(expected)
    assert found.logarithm == pytest.approx(np.logaddexp(-0.3, -1.9))


def test_a_part_seen_from_another_chart_is_the_same_pose():
    state = 0.1 * RANDOM.normal(size=SIZE)
    one, chart = part(state, scale=1e-4), CHART @ rotation_exp(np.array([0.1, 0.2, -0.3]))
    seen, covariance, carried = one.seen_from(chart)
    assert chart @ seen[:3] == pytest.approx(CHART @ state[:3])
    np.testing.assert_allclose(chart @ rotation_of(seen[6:9]), CHART @ rotation_of(state[6:9]), atol=1e-12)
    assert np.array_equal(seen[9:], state[9:]) and np.array_equal(seen[3:6], state[3:6])
    # deviations go along: to first order, by difference quotients
    slope, step = np.zeros((SIZE, SIZE)), 1e-6
    for axis in range(SIZE):
        ends = []
        for sign in (1.0, -1.0):
            moved = state + sign * step * np.eye(SIZE)[axis]
            rotation = chart.T @ CHART @ rotation_of(moved[6:9])
            vector = quaternion_from_matrix(rotation)[:3]
            ends.append(np.concatenate([chart.T @ CHART @ moved[:3], moved[3:6], vector, moved[9:]]))
        slope[:, axis] = (ends[0] - ends[1]) / (2.0 * step)
    scale = np.abs(covariance).max()
    assert covariance / scale == pytest.approx(slope @ one.gaussian[1] @ slope.T / scale, abs=1e-6)
    assert carried == pytest.approx(slope @ one.gaussian[2], abs=1e-6)
    same = one.seen_from(CHART.copy())
    assert all(np.array_equal(a, b) for a, b in zip(same, one.gaussian, strict=True)) and same[0] is not one.gaussian[0]
    assert turn_between(one, one) == pytest.approx(np.eye(3), abs=1e-12)


def test_attitudes_at_once_are_turned_as_each_is():
    relative = rotation_exp(0.3 * RANDOM.normal(size=(3, 3)))
    q = 0.2 * RANDOM.normal(size=(3, 3))
    turned, slopes = _turned(relative, q)
    for k in range(3):
        np.testing.assert_allclose(rotation_of(turned[k]), relative[k] @ rotation_of(q[k]), atol=1e-12)
        assert slopes[k] == pytest.approx(_turned(relative[k], q[k])[1])


def test_distance_of_two_poses_is_by_both_covariances():
    one, other = part(RANDOM.normal(size=SIZE) * 0.1), part(RANDOM.normal(size=SIZE) * 0.1)
    rows = [0, 1, 2, 6, 7, 8]
    away = (other.gaussian[0] - one.gaussian[0])[rows]
    both = (one.gaussian[1] + other.gaussian[1])[np.ix_(rows, rows)]
    assert apart([one], other)[0] == pytest.approx(away @ np.linalg.solve(both, away))


def test_parts_of_small_probability_are_dropped_and_the_rest_is_one():
    parts = [part(logarithm=log(value), family=k) for k, value in enumerate((1.0, 2.0, 1.0))]
    kept = normalised(parts, 0.25)
    assert [one.family for one in kept] == [1, 0, 2]
    assert np.exp([one.logarithm for one in kept]) == pytest.approx([0.5, 0.25, 0.25])
    kept = normalised(parts, 0.26)
    assert [one.family for one in kept] == [1] and kept[0].logarithm == pytest.approx(0.0)


def test_the_nearest_and_the_least_probable_are_joined_first():
    def at(place, logarithm, family):
        made = part(np.eye(SIZE)[0] * place, logarithm=logarithm, family=family)
        return made.with_gaussian(made.gaussian[0], 1e-4 * np.eye(SIZE), made.gaussian[2], logarithm)

    parts = [at(0.0, -1.0, 0), at(5.0, -1.0, 1), at(0.01, -1.0, 2), at(9.0, -1.0, 3)]
    found = reduced(parts, 3)
    assert sorted(round(one.gaussian[0][0], 3) for one in found) == [0.005, 5.0, 9.0]
    assert len(reduced(parts, 4)) == 4 and len(parts) == 4
    unlikely = reduced([at(0.0, -1.0, 0), at(1.0, -1.0, 1), at(5.0, -30.0, 2)], 2)
    assert sorted(round(one.gaussian[0][0], 3) for one in unlikely) == [0.0, 1.0]
    assert len(reduced(parts, 1)) == 1


def test_what_is_claimed_covers_all_parts_with_a_hundredth_at_least():
    best, near, rare = part(scale=1e-3), part(scale=1e-3), part(scale=1e-3)
    near = near.with_gaussian(1e-5 * RANDOM.normal(size=SIZE), *near.gaussian[1:], log(0.3))
    rare = rare.with_gaussian(1e-5 * RANDOM.normal(size=SIZE), *rare.gaussian[1:], log(1e-5))
    best = best._replace(logarithm=log(0.7))
    claim = np.eye(best.gaussian[2].shape[1] - CARRIED_NOISES)
    found = covariance_about(best, (best, near, rare), np.zeros(3), claim)
    expected = 0.7 * best.gaussian[1]
    for one, weight in ((near, 0.3), (rare, 0.01)):
        away = one.gaussian[0] - best.gaussian[0]
        expected = expected + weight * (one.gaussian[1] + np.outer(away, away))
    scale = np.abs(expected).max()
    assert found / scale == pytest.approx(expected / scale, abs=1e-6)
    alone = best._replace(logarithm=0.0)
    larger = covariance_about(alone, (alone,), np.zeros(3), claim, 4.0)
    assert larger / scale == pytest.approx(4.0 * best.gaussian[1] / scale, abs=1e-6)  # as innovations say
    # a pose that is far: the deviation is that of the point of the platform, along the turn
    far = best.with_gaussian(np.concatenate([[0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0], np.zeros(6)]),
                             np.zeros((SIZE, SIZE)), best.gaussian[2], 0.0)  # fmt: skip
    certain = best.with_gaussian(np.zeros(SIZE), np.zeros((SIZE, SIZE)), best.gaussian[2], -50.0)
    arm = np.array([0.0, 0.0, 1.0])
    total = covariance_about(certain, (far,), arm, claim)
    angle = 2.0 * np.arcsin(0.3)
    assert total[6, 6] == pytest.approx((0.5 * angle) ** 2)
    there = rotation_of(np.array([0.3, 0.0, 0.0]))
    moved = np.array([0.1, 0.0, 0.0]) + (there - np.eye(3)) @ arm - np.cross([angle, 0.0, 0.0], arm)
    assert np.diag(total)[:3] == pytest.approx(moved**2)


# -- noise ------------------------------------------------------------------------------------------------------------


def innovations(squares, correlation=0.0, count=100, variance=1.0):
    """Innovations of six legs with a mean square, in units of their variance, and a correlation of neighbours."""
    sign = 1.0
    for k in range(count):
        size = np.sqrt(squares)
        if correlation:
            sign = sign if correlation > 0.0 else -sign
            error = np.full(6, sign * size)
        else:  # orthogonal to the one before
            error = size * np.tile([1.0, 1.0] if k % 2 else [1.0, -1.0], 3)
        yield Innovation(error * np.sqrt(variance), np.full(6, variance), 6.0 * squares)


def adapted(mode, made, leg_variance=0.5):
    noise = NoiseAdaptation(mode, np.full(6, leg_variance))
    changed = [noise.accept(innovation) for innovation in made]
    return noise, changed


@pytest.mark.parametrize(
    ('squares', 'factor'), [(1.0, 1.0), (2.0, 2.0**0.7), (0.5, 0.5**0.7), (100.0, 5.0), (0.01, 0.2)]
)
def test_both_noises_follow_the_size_of_the_innovations(squares, factor):
    noise, changed = adapted('q_and_r', innovations(squares))
    assert (noise.q_factor, noise.r_factor) == pytest.approx((factor, factor))
    assert changed == [False] * 99 + [True]


def test_noise_of_the_legs_is_kept_where_innovations_say_nothing_of_it():
    for mode, variance in (('q', 0.5), ('q_and_r', 0.199)):
        noise, _ = adapted(mode, innovations(2.0), variance)
        assert noise.q_factor == pytest.approx(2.0**0.7) and noise.r_factor == 1.0
    assert adapted('q_and_r', innovations(2.0), 0.2)[0].r_factor == pytest.approx(2.0**0.7)
    assert adapted('off', innovations(2.0))[0].q_factor == 1.0


def test_an_outlier_counts_ten_standard_deviations_and_missing_legs_nothing():
    made = list(innovations(1.0))
    made[5] = Innovation(np.array([1e6, 0.0, 0.0, 0.0, 0.0, np.nan]), np.array([1.0] * 5 + [np.nan]), 1e12)
    noise, _ = adapted('q', made)
    assert noise.q_factor == pytest.approx(((99 * 6.0 + 100.0) / (99 * 6 + 5)) ** 0.7)


def test_factors_have_bounds():
    quiet, loud = NoiseAdaptation('q', np.full(6, 0.5)), NoiseAdaptation('q', np.full(6, 0.5))
    for _ in range(12):
        for small, large in zip(innovations(1e-6, count=120), innovations(99.0, count=120), strict=True):
            quiet.accept(small)
            loud.accept(large)
    assert quiet.q_factor == 1e-4 and loud.q_factor == 1e7
    assert not loud.rescue(1.0)


def test_a_lost_filter_is_rescued_four_times_in_a_row():
    noise = NoiseAdaptation('q', np.full(6, 0.5))
    assert not noise.rescue(25.0) and not NoiseAdaptation('off', np.full(6, 0.5)).rescue(1.0)
    assert [noise.rescue(24.9) for _ in range(5)] == [True] * 4 + [False]
    assert noise.q_factor == pytest.approx(25.0**4) and noise.constant_for == 119
    for innovation in innovations(1.0, count=120):
        noise.accept(innovation)
    assert noise.rescue(1.0)
