"""Constants estimated together with the motion: consistent standard deviations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_estimation.filtering.constants import ConstantStates
from pkm_estimation.filtering.start import start_std
from pkm_estimation.filters import CovarianceError
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import rotation_of
from pkm_estimation.sensors import SensorConditions, simulate_sensors
from pkm_estimation.sensors.simulated import feed
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline

from verification.consistency.calibration import calibration_check, calibration_scenario
from verification.consistency.scenarios import sines

SRS = load_machine('srs')
GRAVITY = np.array([0.0, 0.0, -9.81])
SHORT, LONG = 10.0, 20.0
RICH, MP1, SINES = ('rich motion', SHORT), ('MP1', LONG), ('sines', LONG)  # and lengths [s]


@pytest.mark.parametrize(
    ('machine', 'scenario', 'names', 'duration'),
    [
        ('srs', RICH, ('leg_offsets',), SHORT),
        ('srs', MP1, ('imu_delay',), 12.0),
        ('srs', MP1, ('imu_rotation',), 12.0),
        ('srs', RICH, ('imu_position',), SHORT),
        ('khalifa_3prr', SINES, ('imu_position',), SHORT),
        pytest.param('valencia_3rps', SINES, ('imu_delay', 'imu_rotation'), SHORT, marks=pytest.mark.campaign),
        pytest.param('delta', SINES, ('leg_offsets',), LONG, marks=pytest.mark.campaign),
        pytest.param('srs', MP1, ('imu_delay', 'imu_rotation'), LONG, marks=pytest.mark.campaign),
        pytest.param('srs', MP1, ('imu_delay', 'imu_rotation', 'imu_position'), LONG, marks=pytest.mark.campaign),
    ],
)
def test_deviations_are_true(machine, scenario, names, duration):
    """Normalised errors of three seeds: limits that true claims pass with a probability of 99.9 %."""
    motion, length = scenario
    check = calibration_check(calibration_scenario(f'{machine}, {motion}', length), names, 3, duration)
    assert check.status == 'met', (check.what, check.required, check.measured)


def test_start_in_motion_with_an_unknown_delay_is_claimed_right():
    """The pose of the legs is not that of the IMU's time: where that was left out, squares were in the thousands."""
    machine, delay = SRS, 0.04
    late, time = SensorConditions(imu_delay=delay), np.arange(60) / 100.0
    data = simulate_sensors(machine, partial(sines, SRS, 1.0), time, late, 3)
    pipeline = EstimatorPipeline(machine, EstimatorConfig(baseline=False, estimate=('imu_delay',)))
    truth = sines(SRS, 1.0, time - delay)  # the state is that of the samples' time
    for output, position, rotation in zip(
        feed(pipeline, data), truth.position, truth.rotation_base_platform, strict=True
    ):
        state, covariance, chart = output.filter_state[:3]
        error = state[:3] - chart.T @ (position + rotation @ SRS.imu.position)
        assert error @ np.linalg.solve(covariance[:3, :3], error) < 16.0  # 99.9 % of chi-square with 3 degrees


# -- certainty that is taken back ------------------------------------------------------------------------------------


class Belief:
    """What ConstantStates needs of a filter."""

    def __init__(self, std):
        self.state, self.covariance, self.carried = np.zeros(len(std)), np.diag(std**2), np.ones((len(std), 18))


def make(names):
    layout, config = StateLayout.of(15, 6, names), EstimatorConfig(estimate=names)
    std = start_std(config, layout, 1e-4, 1e-4)
    return layout, std, ConstantStates(layout, std, (1.0, 1.0))


def wait(constants, belief, duration=0.2):
    for _ in range(round(duration / 0.01)):
        constants.grow(belief, GRAVITY, np.eye(3), np.zeros(6), np.zeros(6), 0.01)
        constants.look(belief)


def test_first_certainty_is_taken_back_once():
    layout, std, constants = make(('imu_delay',))
    belief, row = Belief(std), layout.imu_delay
    belief.state[row], belief.covariance[row, row] = 0.02, 1e-4**2  # 30 ms became 0.1 ms
    wait(constants, belief)
    assert belief.state[row][0] == pytest.approx(0.02, rel=2e-3)
    assert np.sqrt(belief.covariance[row, row].item()) == pytest.approx(1e-3, rel=2e-3)
    # now from near the truth: what was linear before may stay
    belief.covariance[row, row] = 0.9e-5**2
    wait(constants, belief)
    assert np.sqrt(belief.covariance[row, row].item()) == pytest.approx(0.9e-5)


def test_what_is_hardly_known_stays_within_its_prior():
    """A direction that was not seen gets no wider than it was at first, whatever else is taken back."""
    layout, std, constants = make(('imu_delay', 'imu_position'))
    belief = Belief(std)
    belief.covariance[layout.imu_delay, layout.imu_delay] = 1e-4**2
    wait(constants, belief)
    found = np.sqrt(belief.covariance.diagonal()[layout.imu_position])
    assert (found <= std[layout.imu_position]).all() and (found > 0.99 * std[layout.imu_position]).all()


@pytest.mark.parametrize(('turn', 'is_seen'), [(0.02, True), (2e-4, False)])
def test_place_along_an_axis_is_not_seen_by_turning_about_it(turn, is_seen):
    """What noise of the attitude seems to say of it is taken back, without moving the platform."""
    layout, std, constants = make(('imu_position',))
    belief, place, named = Belief(std), layout.imu_position, np.array([0.03, 0.01, -0.02])
    belief.covariance[6:9, 6:9] = 1e-10 * np.eye(3)  # 20 urad
    belief.state[:3], belief.state[6:9], belief.state[place] = 0.1, [0.1, 0.0, 0.05], named
    belief.covariance[place, place] = np.diag([0.01, 0.04, 0.001]) ** 2  # of 0.05
    attitude = rotation_of(belief.state[6:9])

    def platform(of):
        return of[:3] - attitude @ of[place]

    before, spread = belief.state.copy(), np.zeros((3, layout.size))
    spread[:, :3], spread[:, place] = np.eye(3), -attitude
    pose_covariance = spread @ belief.covariance @ spread.T
    for k in range(110):
        about_z = rotation_exp(np.array([0.0, 0.0, turn * np.sin(0.1 * k)]))
        constants.grow(belief, GRAVITY, about_z, np.zeros(6), np.zeros(6), 0.01)
        constants.look(belief)
    seen = np.array([is_seen, is_seen, False])
    np.testing.assert_allclose(belief.state[place], seen * named, atol=1e-8)
    found = np.sqrt(belief.covariance.diagonal()[place])
    np.testing.assert_allclose(found, np.where(seen, [0.01, 0.04, 0.001], 0.05), rtol=1e-4)
    np.testing.assert_allclose(platform(belief.state), platform(before))
    np.testing.assert_allclose(spread @ belief.covariance @ spread.T, pose_covariance, atol=1e-12)


def test_constants_wait_for_speed_and_biases():
    layout, std, constants = make(('imu_delay',))
    belief, row = Belief(std), layout.imu_delay
    before = belief.state.copy(), belief.covariance.copy(), belief.carried.copy()
    belief.state += 1.0
    belief.covariance *= 0.5
    belief.carried *= 0.5
    constants.after_update(belief, *before)
    assert belief.state[row][0] == 0.0 and belief.covariance[row, row] == before[1][row, row]
    assert belief.state[0] == 1.0 and belief.covariance[0, 0] == 0.5 * before[1][0, 0]
    assert (belief.carried[row] == 1.0).all() and (belief.carried[0] == 0.5).all()


def test_lost_covariance_is_said():
    _, std, constants = make(('imu_delay',))
    belief = Belief(std)
    belief.covariance[0, 0] = np.nan
    with pytest.raises(CovarianceError):
        wait(constants, belief)


def test_constants_cost_the_plain_filter_nothing():
    assert EstimatorPipeline(SRS).filter._constants is None


@pytest.mark.parametrize(('std', 'is_raised'), [(2.9e-3, False), (3.1e-3, True)])
def test_offsets_of_up_to_three_millimetres_are_linear_enough(std, is_raised):
    """An offset that is known a thousand times better at once is taken back where it was large before."""
    layout = StateLayout.of(15, 6, ('leg_offsets',))
    prior = start_std(EstimatorConfig(estimate=('leg_offsets',), leg_offset_std=std), layout, 1e-4, 1e-4)
    constants, belief, row = ConstantStates(layout, prior, (1.0, 1.0)), Belief(prior), layout.leg_offsets.start
    belief.covariance[row, row] = (1e-3 * std) ** 2
    wait(constants, belief)
    assert np.sqrt(belief.covariance[row, row]) == pytest.approx((1e-2 if is_raised else 1e-3) * std, rel=1e-3)


def test_biases_are_as_uncertain_as_at_first_where_certainty_is_taken_back():
    layout, std, constants = make(('imu_delay',))
    belief = Belief(std)
    belief.covariance[9:15, 9:15] *= 1e-8
    belief.covariance[layout.imu_delay, layout.imu_delay] = 1e-4**2
    wait(constants, belief)
    assert np.sqrt(belief.covariance.diagonal()[9:15]) == pytest.approx(std[9:15], rel=1e-4)


def test_what_the_platform_is_accelerated_by_is_felt_less_gravity_and_bias():
    """At rest on a slope nothing, whatever the bias; a push is its size."""
    _, std, constants = make(('imu_delay',))
    belief, gravity, bias = Belief(std), np.array([0.0, 0.0, -9.81]), np.array([0.3, -0.2, 0.1])
    belief.state[6:9], belief.state[9:12] = [0.2, -0.3, 0.1], bias
    felt = -rotation_of(belief.state[6:9]).T @ gravity + bias
    for push in (np.zeros(3), np.array([1.0, 2.0, -2.0])):
        sample = np.concatenate([felt + push, np.zeros(3)])
        constants.grow(belief, gravity, rotation_of(belief.state[6:9]), sample, sample, 0.01)
        assert constants.memory.acceleration == pytest.approx(np.linalg.norm(push), abs=1e-12)


def test_an_unknown_mounting_makes_velocity_and_attitude_less_certain():
    """By products of its variance with itself and with those of the biases; a second of error that lasts a second."""
    layout, std, constants = make(('imu_rotation',))
    belief = Belief(std)
    before, sample = belief.covariance.diagonal().copy(), np.array([1.0, 2.0, 2.0, 0.3, 0.0, 0.4])
    constants.grow(belief, GRAVITY, np.eye(3), sample, sample, 1.0)
    turn = std[layout.imu_rotation][0] ** 2
    grown = belief.covariance.diagonal() - before
    assert grown[3:6] == pytest.approx(np.full(3, turn * (9.0 * turn + std[9] ** 2)))
    assert grown[6:9] == pytest.approx(np.full(3, 0.25 * turn * (0.25 * turn + std[12] ** 2)))
    assert not np.delete(grown, slice(3, 9)).any()
