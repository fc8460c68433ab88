"""Delay, mounting and place of the IMU as states: applied once, with derivatives that are those of the motion."""

import numpy as np
import pytest
from pkm_description.kernels.jit import compiled_kernels
from pkm_description.kinematics.rotation import quaternion_from_matrix, rotation_exp, rotation_log
from pkm_description.loading import load_machine
from pkm_estimation.filtering.point_motion import FilterStates, point_motions, turn_jacobian
from pkm_estimation.models import ATTITUDE, POSITION, STATE_SIZE, EstimatorGeometry
from pkm_estimation.models.extra_states import StateLayout, with_constants
from pkm_estimation.models.inertial_process import ImuMotion, rotation_of
from pkm_estimation.models.leg_model import LegLengthModel

SRS = load_machine('srs')
GEOMETRY = EstimatorGeometry.from_machine(SRS)
IMU = np.array([0.5, -0.8, 9.6, 0.4, -0.3, 0.6])
TURNING = np.array([1.5, -2.0, 0.8])
POINT = np.array([0.3, -0.2, 0.5])
CHART = rotation_exp(np.array([0.3, -0.4, 0.2]))


def some_state(layout):
    random = np.random.default_rng(3)
    state = 0.1 * random.normal(size=layout.size)
    state[3:6] = 0.4, -0.6, 0.3
    if layout.imu_delay is not None:
        state[layout.imu_delay] = 0.02
    return state


def motion_of(layout, state, covariance=None):
    covariance = np.zeros((layout.size, layout.size)) if covariance is None else covariance
    quaternion = np.zeros(4)
    known = FilterStates(state, covariance, CHART, quaternion, IMU, TURNING, np.zeros((6, 6)))
    return point_motions(layout, GEOMETRY, FilterStates(*(values[None] for values in known)), POINT)[0]


@pytest.mark.parametrize(
    'estimate',
    [('imu_delay',), ('imu_rotation',), ('imu_position',), ('imu_delay', 'imu_rotation', 'imu_position')],
    ids='+'.join,
)
def test_covariances_are_those_of_finite_differences(estimate):
    layout = StateLayout.of(STATE_SIZE, 6, estimate)
    state, step = some_state(layout), 1e-6
    here = motion_of(layout, state)
    slope = np.zeros((12, layout.size))
    for index in range(layout.size):
        change = np.zeros(layout.size)
        change[index] = step
        plus, minus = motion_of(layout, state + change), motion_of(layout, state - change)
        turn = rotation_log(plus.rotation_base_platform @ minus.rotation_base_platform.T)
        slope[:, index] = np.concatenate(
            [plus.position - minus.position, turn, plus.velocity - minus.velocity,
             plus.angular_velocity - minus.angular_velocity]
        ) / (2.0 * step)  # fmt: skip
    # one state at a time, so that signs and sizes of all columns show in the covariance
    for index in range(layout.size):
        covariance = np.zeros((layout.size, layout.size))
        covariance[index, index] = 1.0
        found = motion_of(layout, state, covariance)
        expected = np.outer(slope[:, index], slope[:, index])
        np.testing.assert_allclose(found.pose_covariance, expected[:6, :6], atol=1e-7)
        np.testing.assert_allclose(found.twist_covariance, expected[6:, 6:], atol=1e-7)
    assert np.isfinite(here.position).all()


def test_attitude_is_moved_on_with_the_angular_acceleration():
    """Against many small turns; without half the angular acceleration it would be 1e-4 rad off."""
    layout = StateLayout.of(STATE_SIZE, 6, ('imu_delay',))
    state, imu = some_state(layout), IMU.copy()
    rest, steps = state[layout.imu_delay].item(), 2000
    rotation = exact = rotation_of(state[ATTITUDE])
    rate = imu[3:] - state[12:15]
    for k in range(steps):
        exact = exact @ rotation_exp((rate + (k + 0.5) * rest / steps * TURNING) * rest / steps)
    motion = ImuMotion.of(state[None], state[None, POSITION], rotation[None], imu, TURNING, np.zeros(3))
    moved = with_constants(layout, state[None], motion, SRS.gravity)
    assert np.abs(moved.rotation[0] - exact).max() < 1e-6
    assert np.abs(rotation @ rotation_exp(rest * rate) - exact).max() > 1e-4


def test_values_that_all_states_share_compile_nothing_more():
    """What is copied from one row to many would lie column by column, for which kernels are compiled again, live."""
    layout = StateLayout.of(STATE_SIZE, 6, ('imu_delay',))
    states = np.array([some_state(layout)] * 4)
    rotation = np.array([rotation_of(state[ATTITUDE]) for state in states])
    motion = ImuMotion.of(states, states[:, POSITION], rotation, IMU, TURNING, np.array([0.1, 0.2, 0.3]))
    alone = with_constants(layout, states[:1], ImuMotion(*(np.atleast_2d(one)[:1] for one in motion)), SRS.gravity)
    compiled = len(compiled_kernels())
    moved = with_constants(layout, states, motion, SRS.gravity)
    assert len(compiled_kernels()) == compiled
    for one, many in zip(alone, moved, strict=True):
        np.testing.assert_array_equal(many, np.repeat(one, 4, axis=0))


@pytest.mark.parametrize('size', [0.0, 1e-5, 9.9e-4, 1.1e-3, 0.1, 2.0])
def test_left_jacobian(size):
    vector = size * np.array([0.6, -0.64, 0.48])
    for axis in np.eye(3):
        step = 1e-6
        turn = rotation_exp(vector + step * axis) @ rotation_exp(vector - step * axis).T
        np.testing.assert_allclose(turn_jacobian(vector[None])[0] @ axis, rotation_log(turn) / (2 * step), atol=1e-8)


def test_orientations_are_the_quaternions_of_the_rotations():
    """Of charts that turn all the way round, with the sign that leaves w positive."""
    layout, random, count = StateLayout.of(STATE_SIZE, 6, ()), np.random.default_rng(6), 40
    states = np.array([some_state(layout)] * count)
    states[:, ATTITUDE] = random.uniform(-0.5, 0.5, (count, 3))
    vectors = random.normal(size=(count, 3))
    vectors *= np.linspace(0.1, 2.0 * np.pi - 0.1, count)[:, None] / np.linalg.norm(vectors, axis=1, keepdims=True)
    charts = np.array([rotation_exp(vector) for vector in vectors])
    none = np.zeros((count, layout.size, layout.size)), np.zeros((count, 6)), np.zeros((count, 3))
    covariance, imu, turning = none
    known = FilterStates(
        states, covariance, charts, quaternion_from_matrix(charts), imu, turning, np.zeros((count, 6, 6))
    )
    rotation, orientation, _ = known.attitudes
    expected = np.array([chart @ rotation_of(state[ATTITUDE]) for chart, state in zip(charts, states, strict=True)])
    np.testing.assert_allclose(rotation, expected, atol=1e-12)
    np.testing.assert_allclose(orientation, quaternion_from_matrix(expected), atol=1e-12)
    assert (orientation[:, 3] >= 0.0).all()


def test_legs_are_measured_where_the_platform_is_after_the_delay():
    """Their lengths are the distances at the pose that the constants give, with specific force and gravity."""
    layout, random = StateLayout.of(STATE_SIZE, 6, ('imu_delay', 'imu_position')), np.random.default_rng(7)
    base, platform = random.normal(size=(6, 3)), random.normal(size=(6, 3)) + np.array([0.0, 0.0, 2.0])
    legs, state = LegLengthModel(base, platform, 0.0, SRS.gravity, layout), some_state(layout)
    state[layout.imu_delay] = 0.2  # a long one, so that accelerations show
    legs.data.imu[:], legs.data.angular_acceleration[:] = IMU, TURNING
    rotation = rotation_of(state[ATTITUDE])
    motion = ImuMotion.of(state[None], state[None, POSITION], rotation[None], IMU, TURNING, np.zeros(3))
    moved = with_constants(layout, state[None], motion, SRS.gravity)
    points = moved.position[0] + (platform - state[layout.imu_position]) @ moved.rotation[0].T
    expected = np.linalg.norm(points - base, axis=1)
    assert legs.observe(state[None])[0] == pytest.approx(expected, abs=1e-12)
