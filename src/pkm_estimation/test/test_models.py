"""Process and measurement model against worked-out vectors and against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_estimation.filters import INTEGRATORS
from pkm_estimation.kernels.carried import INTERVALS, USUAL
from pkm_estimation.kernels.input_noise import is_loud
from pkm_estimation.models import EstimatorGeometry, InertialProcess, LegLengthModel
from pkm_estimation.models.extra_states import EXTRA_STATES, StateLayout
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from verification.miletovic_2017.data import BASE_POINTS, PLATFORM_POINTS, POSITION, QUATERNION_VECTOR, D
from verification.miletovic_2017.model import BIASES, GRAVITY, INPUT, STATE_RATE, VELOCITY

#: check state of the paper, z down
STATE = np.concatenate([POSITION, VELOCITY, QUATERNION_VECTOR, BIASES])


@pytest.fixture
def process():
    return InertialProcess(GRAVITY, INTEGRATORS['heun'])


def random_states(count, seed=0):
    random = np.random.default_rng(seed)
    states = random.normal(size=(count, 15)) * 0.3
    states[:, 6:9] *= 0.5
    return states


def textbook_rate(state, imu):
    """Write the equations out for one state, with scipy's rotation."""
    scalar = np.sqrt(1.0 - state[6:9] @ state[6:9])
    rotation = Rotation.from_quat([*state[6:9], scalar]).as_matrix()
    force, omega = imu[:3] - state[9:12], imu[3:] - state[12:15]
    rates = np.zeros(15)
    rates[0:3] = rotation @ state[3:6]
    rates[3:6] = force + rotation.T @ GRAVITY - np.cross(omega, state[3:6])
    rates[6:9] = 0.5 * (scalar * omega + np.cross(state[6:9], omega))
    return rates


def test_rate_in_z_up_axes_is_the_same_motion():
    signs = np.tile(np.diag(D), 5)
    rate = InertialProcess(D @ GRAVITY, INTEGRATORS['heun']).rate(signs * STATE, signs[:6] * INPUT)
    assert signs * rate == pytest.approx(STATE_RATE, abs=1e-9)


def test_rate_is_the_textbook_equation(process):
    for state in random_states(40):
        assert process.rate(state, INPUT) == pytest.approx(textbook_rate(state, INPUT), abs=1e-13)


def test_input_matrix_is_the_derivative_of_the_rate(process):
    state, step = random_states(1, seed=4)[0], 1e-6
    columns = [
        (process.rate(state, INPUT + e) - process.rate(state, INPUT - e)) / (2 * step)
        for e in step * np.eye(6)
    ]
    assert np.array(columns).T[3:9] == pytest.approx(process.input_matrix(state), abs=1e-9)
    # Q enters as duration^2 G Q G^T
    root = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    process.set_noise(root @ root)
    factor = process.noise_factor(state, 0.01)
    expected = np.array(columns).T @ root @ root @ np.array(columns) * 1e-4
    assert factor @ factor.T == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(('name', 'order'), [('euler', 1), ('heun', 2), ('rk3', 3), ('rk4', 4)])
def test_integrators_have_their_order(name, order):
    process = InertialProcess(GRAVITY, INTEGRATORS[name])
    start = INPUT + np.array([0, 0, 0, 1.0, 2.0, 0])
    end = INPUT + np.array([3.0, 1.0, 0.5, 1.5, 1.0, -1.0])

    def error(steps):
        duration, state = 0.4, STATE[None].copy()
        for k in range(steps):
            ends = [start + (end - start) * (k + offset) / steps for offset in (0, 1)]
            process.propagate(state, ends[0], ends[1], duration / steps)
        exact = solve_ivp(
            lambda t, x: textbook_rate(x, start + (end - start) * t / duration),
            (0, duration),
            STATE,
            rtol=1e-12,
            atol=1e-13,
            method='DOP853',
        )
        return np.abs(state[0] - exact.y[:, -1]).max()

    assert np.log2(error(8) / error(16)) == pytest.approx(order, abs=0.25)


@pytest.mark.parametrize('count', [1, 31])
def test_points_do_not_influence_each_other(process, count):
    states = random_states(count, seed=2)
    alone = [process.propagate(s[None].copy(), INPUT, 1.1 * INPUT, 0.01)[0] for s in states]
    together = process.propagate(states.copy(), INPUT, 1.1 * INPUT, 0.01)
    np.testing.assert_array_equal(together, alone)


def test_points_in_columns_are_refused(process):
    with pytest.raises(ValueError, match=r'\(15, 2\)'):
        process.propagate(np.zeros((15, 2)), INPUT, INPUT, 0.01)


def test_points_outside_the_unit_sphere_are_counted_and_give_numbers(process):
    states = random_states(3)
    states[1, 6:9] = [0.9, 0.9, 0.0]
    model = LegLengthModel(BASE_POINTS, PLATFORM_POINTS)
    assert np.isfinite(model.observe(states)).all()
    assert np.isfinite(process.propagate(states, INPUT, INPUT, 0.01)).all()
    assert (process.outside_unit_sphere, model.outside_unit_sphere) == (1, 1)


def test_first_rows_of_further_states_and_of_those_that_are_not_estimated():
    layout = StateLayout.of(15, 6, ('leg_offsets', 'imu_position'))
    found = dict(zip(EXTRA_STATES, layout.first_rows.tolist(), strict=True))
    assert found == {'leg_offsets': 15, 'imu_delay': -1, 'imu_rotation': -1, 'imu_position': 21}


def test_a_machine_without_struts_has_no_points_of_struts():
    geometry = EstimatorGeometry.from_machine(load_machine('delta'))
    assert geometry.base_points.shape == geometry.platform_points.shape == (0, 3)


@pytest.mark.parametrize(('force', 'rate', 'leg', 'loud'), [
    (0.0, 2e-3, 1.9e-4, True), (0.0, 2e-3, 2.1e-4, False), (0.4, 0.0, 3.9e-4, True), (0.4, 0.0, 4.1e-4, False),
])  # fmt: skip
def test_noise_of_a_sample_is_loud_by_what_it_moves_a_joint_within_its_interval(process, force, rate, leg, loud):
    """Half a metre from the origin, 10 ms: 2 mrad/s by 10 um, 0.4 m/s^2 by 40 um; a tenth of the legs' noise counts."""
    process.set_noise(np.diag([1e-9, force + 1e-9, 1e-9, 1e-9, 1e-9, rate + 1e-9]) ** 2)
    process.set_loudness(0.5, 0.5 * leg if rate else leg)
    process.take([10_000_000, 0], [np.zeros(6), np.zeros(6)])
    assert is_loud(process.struct) == loud


def test_intervals_count_anew_from_the_second_stamp_after_everything_was_forgotten(process):
    for stamp in (0, 10_000_000):
        process.observe_imu_stamp(stamp)
        process.observe_leg_stamp(stamp)
    process.forget()
    for stamp in (90_000_000, 100_000_000):
        process.observe_imu_stamp(stamp)
        process.observe_leg_stamp(stamp)
    for scatter in (process.data.imu_scatter, process.data.leg_scatter):
        assert scatter[INTERVALS] == 2.0 and scatter[USUAL] == pytest.approx(0.01)
