"""Declared delay, assembly side and the filter by the legs alone: each rule at its edge, each number as stated."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from pkm_description.kinematics import forward_kinematics
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import Pose
from pkm_estimation.filtering.legs_alone import LegsAlone, SurpriseError
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.singular_reach import AssemblySide, PoseWatch
from pkm_estimation.filtering.start import likeliest_update
from pkm_estimation.filters import CovarianceError, ExtendedKalmanFilter, Innovation
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.models.leg_motion import LegNoise, RecentPositions
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.tracking.tracker_state import DeclaredDelay

SRS = load_machine('srs')
GEOMETRY = EstimatorGeometry.from_machine(SRS)
NOISE = np.diag(SRS.leg_sensors.position_noise**2)
CONFIG = EstimatorConfig(baseline=False)


class Belief:
    """A filter's state and variance of the remaining delay, in row 1."""

    def __init__(self, rest, std):
        self.state, self.covariance = np.array([9.0, rest]), np.diag([9.0, std**2])


def delay(configured=0.01, std=0.002):
    return DeclaredDelay(configured, std, slice(1, 2))


def test_a_long_and_significant_rest_is_declared():
    found, said, belief = delay(), [], Belief(-0.0031234567891, 1e-4)
    found.absorb(belief, lambda *words: said.append(words))
    assert found.nanoseconds == 10_000_000 - 3_123_457
    assert belief.state[1] == pytest.approx(-0.0031234567891 + 0.003123457, abs=1e-15)
    ((name, text),) = said
    assert name == 'imu_delay_declared' and '6.877 ms +- 0.1 ms' in text
    found.reset()
    assert found.nanoseconds == 10_000_000


@pytest.mark.parametrize(
    ('rest', 'std', 'declared'),
    [(0.99e-3, 1e-5, False), (1.01e-3, 1e-5, True), (-1.01e-3, 1e-5, True), (3.01e-3, 1e-3, True),
     (2.99e-3, 1e-3, False)],
)
def test_a_rest_that_is_short_or_not_certain_stays_with_the_filter(rest, std, declared):
    found, belief = delay(), Belief(rest, std)
    found.absorb(belief, lambda *words: None)
    assert (found.nanoseconds != 10_000_000) == declared == (belief.state[1] != rest)


@pytest.mark.parametrize(('rest', 'impossible'), [(0.0099, False), (0.0101, True), (-0.0101, True), (np.nan, True)])
def test_what_was_declared_counts_to_the_whole_delay(rest, impossible):
    """Five standard deviations of the prior, seen from the configured delay."""
    assert delay().is_impossible(Belief(rest, 1.0)) == impossible
    moved, belief = delay(), Belief(0.006, 1e-5)
    moved.absorb(belief, lambda *words: None)
    assert moved.is_impossible(Belief(0.0041, 1.0)) and not moved.is_impossible(Belief(0.0039, 1.0))
    assert not moved.is_impossible(Belief(-0.0159, 1.0)) and moved.is_impossible(Belief(-0.0161, 1.0))


def test_home_mode_is_side_and_sign():
    """The mirror pose below the base, and the platform turned half about its normal: neither is home."""
    side, home = AssemblySide(SRS), SRS.home
    assert side.is_home_mode(home.position, home.rotation_base_platform)
    centre = SRS.base_points.mean(axis=0)
    normal = np.linalg.svd(SRS.base_points - centre)[2][-1]
    below = home.position - 2.0 * normal * (normal @ (home.position - centre))
    assert not side.is_home_side(below) and not side.is_home_mode(below, home.rotation_base_platform)
    edge = home.position - normal * (normal @ (home.position - centre))
    up = normal * np.sign(normal @ (home.position - centre))
    assert side.is_home_side(edge + 1e-6 * up) and not side.is_home_side(edge - 1e-6 * up)
    turned = rotation_exp(0.9 * np.pi * normal) @ home.rotation_base_platform
    assert side.is_home_side(home.position) and not side.is_home_mode(home.position, turned)
    other = AssemblySide(load_machine('valencia_3rps'))
    assert other.is_home_side(-1e3 * np.ones(3)) and other.is_home_mode(-1e3 * np.ones(3), np.eye(3))


def filter_at(pose):
    made = PlatformFilter(GEOMETRY, ImuFrame(SRS.imu).noise_covariance, NOISE, CONFIG, SRS)
    made.start_at(pose)
    return made


def test_height_of_the_filter_is_that_of_its_position_in_any_chart():
    side, home = AssemblySide(SRS), SRS.home
    for turn in ([0.0, 0.0, 0.0], [0.2, -0.3, 0.5]):
        made = filter_at(Pose(home.position, rotation_exp(np.array(turn)) @ home.rotation_base_platform))
        height = float(side.normal(made) @ made.ukf.state)
        assert side.holds(made)
        centre = SRS.base_points.mean(axis=0)
        up = np.linalg.svd(SRS.base_points - centre)[2][-1]
        up = up * np.sign(up @ (home.position - centre))
        assert height == pytest.approx(float(up @ made.imu_point)) and side.height == pytest.approx(float(up @ centre))


def test_the_pose_is_looked_at_ten_times_a_second_and_events_are_told_once():
    watch, made = PoseWatch(SRS, AssemblySide(SRS), 1e9), filter_at(SRS.home)
    assert watch.quiet == (0, 0)
    assert watch.look(made, 5)[0] is None and watch.look(made, 100_000_004)[0] is None
    assert watch.quiet == (5, 100_000_005)
    pose, trouble = watch.look(made, 100_000_005)
    assert pose.position == pytest.approx(SRS.home.position) and trouble is None
    assert watch.look(made, 50)[0] is not None  # the clock went back
    turned = filter_at(Pose(SRS.home.position, rotation_exp(np.array([0.0, 0.0, 0.9 * np.pi]))))
    assert watch.look(turned, 10**9)[1][0] == 'assembly_mode_changed'
    assert watch.look(turned, 2 * 10**9)[1] is None
    assert 'home again' in watch.look(made, 3 * 10**9)[1][1]
    strict = PoseWatch(SRS, AssemblySide(SRS), 1.0)
    strict.look(made, 0)
    assert strict.look(made, 10**9)[1][0] == 'near_singular_pose'
    assert strict.look(made, 2 * 10**9)[1] is None


def test_a_broad_prior_is_searched_by_points_of_its_own_size():
    """From the mean first, then from 40 points of one and a half times its deviation; without a result it stays."""
    std = np.repeat([0.5, 0.1, 0.2, 1.0, 2.0], 3)
    ukf = ExtendedKalmanFilter(np.arange(15.0), np.diag(std**2))
    begins = []

    def none(begin):
        begins.append(begin.copy())
        ukf.state[:] = np.nan
        raise CovarianceError

    assert likeliest_update(ukf, none, lambda: True) is None
    assert np.array_equal(ukf.state, np.arange(15.0)) and np.array_equal(ukf.covariance, np.diag(std**2))
    assert np.array_equal(begins[0], np.arange(15.0)) and len(begins) == 41
    away = (np.array(begins[1:]) - np.arange(15.0)) / std
    pose = [0, 1, 2, 6, 7, 8]
    assert np.sqrt(np.mean(away[:, pose] ** 2)) == pytest.approx(1.5, rel=0.15)
    assert not np.delete(away, pose, axis=1).any()


def test_of_several_explanations_the_most_likely_one_on_the_home_mode_is_kept():
    std, found = np.full(15, 0.5), iter([0.9, 0.1, 0.3, 0.2] + [0.8] * 40)
    ukf = ExtendedKalmanFilter(np.zeros(15), np.diag(std**2))
    modes = iter([False, False, True, True])
    seen = []

    def update(begin):
        ukf.state[:] = next(found)
        seen.append(float(ukf.state[0]))
        return Innovation(ukf.state.copy(), ukf.state.copy(), 0.0)

    kept = likeliest_update(ukf, update, lambda: next(modes))
    assert kept.residual[0] == ukf.state[0] == 0.2 and len(seen) == 41
    # one that is found from the mean suffices
    ukf.state[:], seen[:], found = 0.0, [], iter([0.9] * 50)
    assert likeliest_update(ukf, update, lambda: True).residual[0] == 0.9 and len(seen) == 1


# -- legs alone -------------------------------------------------------------------------------------------------------


def alone(config=CONFIG):
    return LegsAlone(GEOMETRY, NOISE, config, SRS)


def stds(made):
    return np.sqrt(np.diag(made.filter.covariance))


def test_start_from_one_pose_knows_no_motion():
    made = alone()
    made.start_at(SRS.home)
    noise = float(SRS.leg_sensors.position_noise.max())
    std = stds(made)
    # of the pose: four times that of the legs, by the platform's radius in the attitude's quaternion
    assert std[6:9] == pytest.approx(4.0 * noise / GEOMETRY.radius, rel=1e-6)
    assert std[3:6] == pytest.approx(CONFIG.start_velocity_std)
    assert std[9:15] == pytest.approx(np.repeat([30.0, 5.0], 3))
    assert made.felt[:3] == pytest.approx(-SRS.home.rotation_base_platform.T @ SRS.gravity)
    assert made.felt[3:] == pytest.approx(np.zeros(3)) and not made.is_moving


def test_start_from_two_poses_has_their_difference_as_motion():
    made, duration = alone(), 0.02
    turn, move = np.array([0.01, -0.02, 0.03]), np.array([1e-3, 2e-3, -1e-3])
    before = Pose(SRS.home.position - move, SRS.home.rotation_base_platform @ rotation_exp(-turn))
    made.start_at(SRS.home, before, duration)
    arm, rotation = GEOMETRY.imu_position, SRS.home.rotation_base_platform
    moved = move + rotation @ arm - before.rotation_base_platform @ arm
    assert made.filter.ukf.state[3:6] == pytest.approx(rotation.T @ moved / duration)
    assert made.felt[3:] == pytest.approx(turn / duration, rel=1e-3)
    noise, std = float(SRS.leg_sensors.position_noise.max()), stds(made)
    assert std[3:6] == pytest.approx(4.0 * noise / duration + 0.5 * duration * 30.0)
    assert std[12:15] == pytest.approx(2.0 * 4.0 * noise / GEOMETRY.radius / duration + 0.5 * duration * 100.0)
    assert made.is_moving


@pytest.mark.parametrize('scale', [1.0, 10.0, 1000.0])
@pytest.mark.parametrize('jerk', [1e-3, 0.1, 10.0])
def test_noise_of_legs_is_told_from_how_lively_they_move(scale, jerk):
    """White jerk of known density, and noise above that of the sensors, at 100 Hz; also where a leg is missing."""
    random, std, interval = np.random.default_rng(5), 1e-5, 0.01
    legs, used = LegNoise(std, 1.0, 6), np.arange(6)
    state, found = np.zeros((6, 3)), []
    fine = interval / 10.0
    for k in range(600):
        for _ in range(10):
            state[:, 0] += fine * state[:, 1]
            state[:, 1] += fine * state[:, 2]
            state[:, 2] += jerk * np.sqrt(fine) * random.normal(size=6)
        positions = state[:, 0] + np.sqrt(scale) * std * random.normal(size=6)
        legs.add(interval, positions, used if k % 3 else used[:5])
        found.append((legs.scale, legs.liveliness))
    of_noise, lively = np.exp(np.log(found[100:]).mean(axis=0))
    if scale * std**2 > 1e-2 * jerk**2 * interval**5:  # else noise hardly shows in what moves so much
        assert of_noise == pytest.approx(scale, rel=0.5)
    assert lively == pytest.approx(jerk**2, rel=1.5) or scale * std**2 > 1e6 * jerk**2 * interval**5


def test_legs_at_rest_are_calm_and_as_noisy_as_their_sensors():
    random, legs = np.random.default_rng(1), LegNoise(1e-5, 1.0, 6)
    for _ in range(300):
        legs.add(0.01, 1e-5 * random.normal(size=6), np.arange(6))
    assert legs.scale == pytest.approx(1.0, abs=0.2) and legs.liveliness < 1e-8


def test_legs_that_go_on_smoothly_are_no_burst_of_noise_and_have_not_jumped():
    """Against the density of white noise about a line that is known; where legs scatter, nothing speaks against it."""
    random, legs, factor = np.random.default_rng(1), LegNoise(1e-5, 1.0, 6), 100.0
    for _ in range(300):
        legs.add(0.01, 1e-5 * random.normal(size=6), np.arange(6))
    at_rest, scattered = np.zeros(6), 1e-4 * random.normal(size=6)
    smooth, all_legs = legs.expected(0.01, at_rest), np.arange(6)
    unlikely = smooth.against_noise(factor, all_legs)
    assert unlikely == pytest.approx(-0.5 * 6 * np.log(factor), rel=0.05)
    assert legs.expected(0.01, scattered).against_noise(factor, all_legs) == 0.0
    assert smooth.against_noise(factor, all_legs[:2]) == pytest.approx(unlikely / 3.0, rel=0.05)
    jump = np.array([1e-4])
    assert smooth.against_jumps(all_legs[:1], jump, np.zeros(1)) < -40.0  # ten standard deviations
    assert legs.expected(0.01, np.full(6, 1e-4)).against_jumps(all_legs[:1], jump, np.zeros(1)) == 0.0


def test_walk_of_force_and_rate_grows_with_time_and_liveliness():
    made = alone()
    made.start_at(SRS.home)
    made.legs.liveliness = 2.0
    made.predict(0.004)
    grown = stds(made)[9:15] ** 2 - np.repeat([30.0, 5.0], 3) ** 2
    lively = np.repeat([2.0, 2.0 ** (2.0 / 3.0)], 3)  # of the rate: white angular acceleration, not white jerk
    assert grown == pytest.approx(lively * 0.004 * 0.08 * np.repeat([120.0, 10.0], 3) ** 2, rel=1e-6)


def test_far_measurements_are_admitted_until_no_motion_explains_them():
    made = alone()
    made.start_at(SRS.home)
    legs = np.zeros(6)
    position = SRS.home.position + np.array([0.0, 0.0, 1e-3])
    legs = np.linalg.norm(position + SRS.platform_points @ SRS.home.rotation_base_platform.T - SRS.base_points, axis=1)
    first = made.update(legs - SRS.lengths_at_zero, np.arange(6))
    assert first.nis > 22.5  # the one of the prediction as it was
    assert made.filter.pose.position == pytest.approx(position, abs=2e-5)
    found = forward_kinematics(SRS, (legs - SRS.lengths_at_zero)[None]).require()
    assert found.position[0] == pytest.approx(position, abs=1e-9)
    again = alone()
    again.start_at(SRS.home)
    with pytest.raises(SurpriseError, match='NIS'):
        again.update(legs - SRS.lengths_at_zero + 0.5, np.arange(6))


def test_what_is_doubted_is_known_roughly():
    made = alone()
    made.start_at(SRS.home)
    before = stds(made) ** 2
    made.doubt_motion(0.5)
    expected = (0.5 * np.repeat([5e-4, 0.1, 5e-4, 10.0, 1.0], 3)) ** 2
    assert stds(made) ** 2 - before == pytest.approx(expected)


@pytest.mark.parametrize('names', [(), ('imu_delay',)])
def test_motion_is_handed_over_without_biases_and_taken_over_with_them(names):
    config = replace(CONFIG, estimate=names)
    made, other = alone(config), PlatformFilter(GEOMETRY, ImuFrame(SRS.imu).noise_covariance, NOISE, config, SRS)
    made.start_at(SRS.home)
    made.predict(0.01)
    other.start_at(SRS.home)
    made.hand_over(other)
    std = np.sqrt(np.diag(other.covariance))
    assert not other.ukf.state[9:15].any() and not other.covariance[9:15, :9].any()
    expected = np.repeat([config.start_accelerometer_bias_std, config.start_gyroscope_bias_std], 3)
    assert std[9:15] == pytest.approx(expected)
    assert std[:9] == pytest.approx(stds(made)[:9])
    if names:
        assert std[15] == pytest.approx(config.imu_delay_std)
    imu = np.arange(1.0, 7.0)
    back = alone(config)
    back.go_on_from(other, imu, RecentPositions(), frozenset())
    assert back.felt == pytest.approx(imu) and back.is_moving
    assert back.felt_covariance == pytest.approx(np.diag(expected**2) + other.imu_covariance)
    if names:
        assert sqrt(back.filter.covariance[15, 15]) == pytest.approx(1e-9)
        assert not back.filter.covariance[15, :15].any() and not back.filter.covariance[:15, 15].any()
