"""Small parts of the filters, each against its definition: integrators, sigma points, mounting of states."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_estimation.filters import (
    INTEGRATORS,
    CovarianceError,
    FunctionModel,
    Reading,
    ScaledUnscentedTransform,
    UnscentedKalmanFilter,
)
from pkm_estimation.filters.interface import ProcessStep
from pkm_estimation.kernels.process import attitudes
from pkm_estimation.models import InertialProcess
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import InertialStep, move_chart
from pkm_estimation.models.leg_model import LegLengthModel
from scipy.spatial.transform import Rotation


@pytest.mark.parametrize('power', [0, 1, 2, 3])
def test_third_order_takes_inputs_up_to_cubics_exactly(power):
    """First and second integral over a step: of a velocity, and of the position that it moves."""
    method = INTEGRATORS['rk3']
    stages = np.array(method.mixture) @ np.array(method.looks) ** power
    weights, nodes = np.array(method.weights), np.array(method.nodes)
    assert weights @ stages == pytest.approx(1.0 / (power + 1.0))
    # the velocity at a stage is that of the slope of the stage before, times the stage's node
    assert weights[1:] * nodes[1:] @ stages[:-1] == pytest.approx(1.0 / ((power + 1.0) * (power + 2.0)))
    if power < 2:  # an input that is linear is the same at the nodes where weights count
        assert (stages - nodes**power)[weights > 0.0] == pytest.approx(0.0)


@pytest.mark.parametrize('name', ['euler', 'heun', 'rk3', 'rk4'])
def test_weights_of_a_step_sum_to_one(name):
    method = INTEGRATORS[name]
    assert sum(method.weights) == pytest.approx(1.0)
    assert sum(weight * node for weight, node in zip(method.weights, method.nodes, strict=True)) == pytest.approx(
        0.0 if name == 'euler' else 0.5
    )
    assert len(method.weights) == len(method.nodes) and method.nodes[0] == 0.0


@pytest.mark.parametrize(
    'value', [{'alpha': 1.0}, {'alpha': 1e-3}, {'kappa': -3.999}, {'alpha': 1e-4, 'least_alpha': 1e-4}]
)
def test_scaling_at_the_edge_of_what_is_allowed(value):
    transform = ScaledUnscentedTransform(4, **value)
    assert transform.spread == pytest.approx(transform.alpha**2 * (4 + transform.kappa))
    assert transform.centre_mean_weight + 8 * transform.weight == pytest.approx(1.0)
    assert 2 * transform.weight * transform.spread == pytest.approx(1.0)
    assert transform.shift_weight == pytest.approx(2.0 - transform.alpha**2)
    assert transform.centre_covariance_weight == pytest.approx(transform.centre_mean_weight + 3.0 - transform.alpha**2)


def test_kappa_that_leaves_no_spread_is_refused():
    with pytest.raises(ValueError, match='kappa'):
        ScaledUnscentedTransform(4, kappa=-4.0)


def test_places_of_further_states():
    names = ('leg_offsets', 'imu_delay', 'imu_rotation', 'imu_position')
    layout = StateLayout.of(15, 6, names)
    rows = sorted(row for part in layout.groups.values() for row in range(layout.size)[part])
    assert rows == list(range(15, layout.size)) and layout.size == 15 + 6 + 1 + 3 + 3
    assert StateLayout.of(15, 6, ()).size == 15


@pytest.mark.parametrize(('longest', 'settles'), [(0.2, True), (0.01, False)])
def test_iterated_updates_move_no_further_than_their_longest_step(longest, settles):
    """A linear measurement that wants a move of 1, within 30 iterations of ``longest`` each."""
    steps = np.array([9.0, longest])
    filter_ = UnscentedKalmanFilter(
        ScaledUnscentedTransform(2), np.zeros(2), np.eye(2), iteration_nis=0.0, longest_step=steps
    )
    wanted = np.array([0.0, 1.0])
    reading = Reading(FunctionModel(lambda x: x), wanted, 1e-12 * np.eye(2))
    if settles:
        filter_.update_from(None, reading)
        assert filter_.state == pytest.approx(wanted, abs=1e-6)
    else:
        with pytest.raises(CovarianceError, match='settle within 30'):
            filter_.update_from(None, reading)


def test_iterated_updates_count_what_a_straight_line_does_not_explain():
    """A parabola h = x + c x^2 / 2: about N(m, P) its slope is 1 + c m, and c^2 P^2 / 2 of its variance remains.

    Mean and variance of the result are those of a line with this slope and this noise more.
    """
    prior, bend, noise, measured = 4.0, 1.0, 1.0, 1.0
    transform = ScaledUnscentedTransform(1, alpha=1.0, kappa=0.0)
    filter_ = UnscentedKalmanFilter(
        transform, np.zeros(1), np.array([[prior]]), iteration_nis=0.0, longest_step=np.array([10.0])
    )
    model = FunctionModel(lambda x: x + 0.5 * bend * x**2)
    filter_.update_from(np.ones(1), Reading(model, np.array([measured]), np.array([[noise]])))
    mean, variance = filter_.state[0], filter_.covariance[0, 0]
    slope, rest = 1.0 + bend * mean, 0.5 * (bend * variance) ** 2
    predicted = mean + 0.5 * bend * (mean**2 + variance)
    gain = prior * slope / (slope**2 * prior + noise + rest)
    assert rest > 0.05 * noise
    assert variance == pytest.approx(prior - gain * slope * prior, rel=1e-2)
    assert mean == pytest.approx(gain * (measured - predicted + slope * mean), abs=1e-2 * np.sqrt(variance))


def test_a_moved_chart_keeps_the_covariance_symmetric_to_the_last_bit():
    random = np.random.default_rng(0)
    root, state = random.normal(size=(15, 15)), random.normal(size=15)
    state[6:9] = 0.2, -0.1, 0.3
    covariance = root @ root.T
    move_chart(np.eye(3), state, covariance, np.zeros((15, 18)), slice(0, 3), slice(6, 9))
    assert np.array_equal(covariance, covariance.T)


def test_a_step_by_itself_leaves_nothing_for_the_next_one():
    """What was propagated between two samples is no earlier sample of the step that follows."""
    random, moved = np.random.default_rng(1), []
    first, second, third = random.normal(size=(3, 6))
    for alone in (True, False):
        process = InertialProcess(np.array([0.0, 0.0, -9.8]), INTEGRATORS['rk3'])
        if not alone:
            process.propagate(np.zeros((1, 15)), first, second, 0.01)
        process.take_next(second, third, 0.01)
        moved.append(InertialStep(process).over(0.0, 0.01).propagate(np.zeros((1, 15))))
    assert np.array_equal(*moved)


def test_legs_measure_the_distance_of_their_joints():
    random = np.random.default_rng(0)
    base, platform = random.normal(size=(4, 3)), random.normal(size=(4, 3)) + np.array([0.0, 0.0, 3.0])
    state = np.zeros((2, 15))
    state[1, :3] = 0.1, -0.2, 0.3
    state[1, 6:9] = 0.0, 0.0, np.sin(0.25)
    turn = np.array([[np.cos(0.5), -np.sin(0.5), 0.0], [np.sin(0.5), np.cos(0.5), 0.0], [0.0, 0.0, 1.0]])
    moved = [platform, state[1, :3] + platform @ turn.T]
    expected = np.array([np.linalg.norm(points - base, axis=1) for points in moved])
    assert LegLengthModel(base, platform).observe(state) == pytest.approx(expected)


class Doubled(ProcessStep):
    """A process that doubles the state."""

    def propagate(self, points):
        return 2.0 * points

    def noise_factor(self, state):
        return np.eye(len(state))[:, :1]


def test_a_process_in_python_predicts_and_one_without_a_covariance_stays_where_it_was():
    filter_ = UnscentedKalmanFilter(ScaledUnscentedTransform(2), np.array([1.0, -2.0]), np.diag([1.0, 4.0]))
    filter_.predict(Doubled())
    assert filter_.state == pytest.approx([2.0, -4.0])
    assert filter_.covariance == pytest.approx(np.diag([5.0, 16.0]))
    filter_.covariance[:] = np.diag([1.0, -1.0])
    with pytest.raises(CovarianceError, match='state'):
        filter_.predict(Doubled())
    assert filter_.state.tolist() == pytest.approx([2.0, -4.0])
    assert np.array_equal(filter_.covariance, np.diag([1.0, -1.0]))


@pytest.mark.parametrize('length', [0.0, 0.6, 0.99, 1.2])
def test_an_attitude_is_a_rotation_also_beyond_the_unit_sphere(length):
    """Of the unit quaternion along the same four numbers."""
    q = length * np.array([0.36, -0.48, 0.8])
    states, chart = np.zeros((1, 15)), np.eye(3)[None].copy()
    states[0, 6:9] = q
    turn, orientation, by_q = np.empty((1, 3, 3)), np.empty((1, 4)), np.empty((1, 3, 3))
    attitudes(states, 6, chart, np.array([[0.0, 0.0, 0.0, 1.0]]), 0.01, turn, orientation, by_q)
    numbers = np.append(q, max(0.01, 1.0 - q @ q) ** 0.5)
    assert orientation[0] == pytest.approx(numbers / np.linalg.norm(numbers))
    assert turn[0] == pytest.approx(Rotation.from_quat(numbers).as_matrix(), abs=1e-12)
