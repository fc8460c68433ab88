"""The default filter: charts of the attitude, iterated updates, constants as further states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.kinematics.rotation import quaternion_from_matrix, rotation_exp
from pkm_description.motion.profiles import mp1
from pkm_estimation.filtering.singular_reach import AssemblySide
from pkm_estimation.models.inertial_process import move_chart, rotation_of
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig
from test_filter import SRS, first_pose, follow, make_filter

POSITION, ATTITUDE = slice(0, 3), slice(6, 9)


def test_a_moved_chart_describes_the_same_distribution():
    """Samples drawn before and after the move have the same positions and attitudes."""
    random = np.random.default_rng(0)
    root = 1e-3 * random.normal(size=(15, 15))
    state, covariance = random.normal(size=15), root @ root.T
    state[ATTITUDE] = [0.2, -0.1, 0.3]
    chart = rotation_exp(np.array([0.4, -0.9, 1.3]))
    moved_state, moved_covariance = state.copy(), covariance.copy()
    new_chart, _ = move_chart(chart, moved_state, moved_covariance, np.zeros((15, 18)), POSITION, ATTITUDE)
    np.testing.assert_allclose(new_chart, chart @ rotation_of(state[ATTITUDE]), atol=1e-15)
    np.testing.assert_allclose(new_chart @ moved_state[POSITION], chart @ state[POSITION], atol=1e-14)
    # linear transport: each deviation of the old coordinates has its place in the new ones
    for std in np.linalg.cholesky(covariance).T:
        attitude = chart @ rotation_of((state + std)[ATTITUDE])
        q = quaternion_from_matrix(new_chart.T @ attitude)[:3]
        position = new_chart.T @ chart @ (state + std)[POSITION]
        expected = np.concatenate([position - moved_state[POSITION], q])
        linear = moved_std(moved_covariance, covariance, std, state)
        np.testing.assert_allclose(linear, expected, atol=2e-5)


def moved_std(moved, covariance, std, state):
    """First-order image of a deviation; checks on the way that the whole covariance was transported like it."""
    q = state[ATTITUDE]
    transport = np.eye(15)
    rotation = rotation_of(q)
    step = 1e-7
    for axis in range(3):  # numeric derivative of q_mean^-1 q: independent of the formula in the code
        moved_q = q + step * np.eye(3)[axis]
        turned = rotation.T @ rotation_of(moved_q)
        transport[ATTITUDE, 6 + axis] = quaternion_from_matrix(turned)[:3] / step
    transport[POSITION, POSITION] = rotation.T
    np.testing.assert_allclose(transport @ covariance @ transport.T, moved, atol=1e-9)
    image = transport @ std
    return np.concatenate([image[POSITION], image[ATTITUDE]])


def test_manifold_and_printed_filter_agree_where_both_are_valid():
    motion = mp1(SRS, duration=30.0)[slice(1000, 2000)]
    data, states = measure(SRS, motion, 3), []
    for kind in ('manifold', 'paper'):
        filter_ = make_filter(SRS, EstimatorConfig(filter=kind, noise_inflation=1.1))
        filter_.process.set_loudness(0.0, np.inf)
        filter_.process.data.longest_gap[0] = filter_.process.data.is_measured[0] = 0
        filter_.start_at(first_pose(motion))
        states.append(follow(filter_, SRS, data))
    np.testing.assert_allclose(states[0][300:, :9], states[1][300:, :9], atol=2e-7)


def test_platform_that_turns_all_the_way_round():
    """A printed filter's quaternion ends at half a turn; here a carousel goes through two whole turns."""
    motion = mp1(SRS, duration=20.0)[slice(0, 1200)]
    filter_ = make_filter()
    start = first_pose(motion)
    filter_.start_at(start)
    rate = np.array([0.0, 0.0, 2 * np.pi / 5.0])
    for k in range(1000):
        rotation = start.rotation_base_platform @ rotation_exp(rate * 0.01 * k)
        arm = filter_.geometry.imu_position
        force = np.cross(rate, np.cross(rate, arm)) - rotation.T @ SRS.gravity
        imu = np.concatenate([force, rate])
        filter_.predict(imu, imu, 0.01)
        # a machine without stroke limits: lengths of the turned platform
        points = start.position + filter_.geometry.platform_points @ (rotation @ rotation_exp(rate * 0.01)).T
        lengths = np.linalg.norm(points - filter_.geometry.base_points, axis=1)
        filter_.update(lengths - SRS.lengths_at_zero)
    estimate = filter_.point_motion(np.concatenate([force, rate]))
    expected = start.rotation_base_platform @ rotation_exp(rate * 10.0)
    np.testing.assert_allclose(estimate.rotation_base_platform, expected, atol=1e-5)
    assert filter_.outside_unit_sphere == 0


@pytest.mark.parametrize('seed', range(12))
def test_broad_prior_converges_without_forward_kinematics(seed):
    """Starts drawn from the paper's own prior: 16 of 40 converge there, one in six of them begins below the base."""
    machine = replace(SRS, imu=replace(SRS.imu, position=np.zeros(3)))
    motion = mp1(machine, duration=20.0)[slice(1000, 1600)]
    filter_ = make_filter(machine)
    filter_.start_as_printed()
    random = np.random.default_rng(seed)
    filter_.ukf.state[:] = filter_.ukf.state + random.normal(size=15) * np.sqrt(np.diag(filter_.covariance))
    data = measure(machine, motion, seed)
    assert filter_.first_update(data.drive_positions[0], AssemblySide(machine).is_home_mode) is not None
    follow(filter_, machine, data)
    assert np.abs(filter_.imu_point - motion.position[-1]).max() < 5e-4
    assert np.linalg.eigvalsh(filter_.covariance)[0] > 0.0


def test_place_of_the_imu_is_found_across_the_axis_of_rotation():
    """MP1 turns about the body axis (1, 1, 0): what lies along it cannot be seen, and the filter says so."""
    arm = np.array([0.03, -0.02, 0.01])
    moved = replace(SRS.imu, position=SRS.imu.position + arm)
    motion, filter_ = mp1(SRS, duration=45.0), make_filter(SRS, EstimatorConfig(estimate=('imu_position',)))
    filter_.start_at(first_pose(motion))
    follow(filter_, SRS, measure(replace(SRS, imu=moved), motion, 4))
    rows = filter_.layout.imu_position
    place, std = filter_.state[rows], np.sqrt(np.diag(filter_.covariance))[rows]
    # z up: the paper's axis (1, 1, 0) is (1, -1, 0) here
    across = np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
    assert across @ (place - arm) == pytest.approx(0.0, abs=1e-3)
    assert place[2] == pytest.approx(arm[2], abs=1e-3)
    assert std[0] > 1e-2
