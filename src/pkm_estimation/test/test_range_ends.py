"""An IMU whose range no file states shows where it ends: a number that was moving fast stops at its extreme."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import drives_profile
from pkm_estimation.exchange.imu_watch import RangeEnds
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import ImuFault, SensorConditions, simulate_sensors
from pkm_estimation.stream import EstimatorConfig

TIME = np.arange(3000) / 100.0
RATES = np.array([0.7, 0.9, 1.1, 1.3, 1.5, 1.7])


def moving(noise, seed=0):
    """Six sines of 1 and their noise."""
    random = np.random.default_rng(seed)
    sines = np.sin(2.0 * np.pi * RATES * TIME[:, None] + random.uniform(0.0, 6.0, 6))
    return sines + noise * random.normal(size=sines.shape)


def test_both_ends_of_each_axis_are_found():
    clean = moving(0.01)
    low, high = np.array([-0.8, -0.7, -0.9, -0.5, -0.9, -np.inf]), np.array([0.7, 0.8, 0.6, 0.9, np.inf, 0.8])
    values = np.clip(clean, low, high)
    found = RangeEnds().find(values)
    at_end = (values == low) | (values == high)
    # every axis has had its first runs by then
    late = slice(600, None)
    np.testing.assert_array_equal(found[late] > 0, at_end[late].any(axis=1))
    places = np.flatnonzero(found)
    assert at_end[places, found[places] - 1].all()


def test_samples_one_by_one_give_the_same():
    values = np.clip(moving(0.01), -0.8, 0.7)
    whole, single = RangeEnds().find(values), RangeEnds()
    np.testing.assert_array_equal(whole, np.concatenate([single.find(value[None]) for value in values]))


@pytest.mark.parametrize('steps', [1.0, 0.3, 0.05])
def test_a_quantised_sensor_at_rest_or_moving_is_not_clipped(steps):
    """Steps of the sensor by its noise."""
    random = np.random.default_rng(1)
    for seed in range(20):
        rest = random.normal(size=(3000, 6)) + random.uniform(-3.0, 3.0, 6)
        for values in (rest, moving(0.01, seed) / 0.01):
            assert not RangeEnds().find(np.round(values / steps)).any()


def test_what_is_held_between_its_samples_is_not_clipped():
    """A driver that publishes ten times as fast as its accelerometer samples, beside a gyroscope that is as fast."""
    values = np.round(moving(0.01), 3)
    values[:, :3] = np.repeat(values[::10, :3], 10, axis=0)
    assert not RangeEnds().find(values).any()


def test_a_constant_axis_beside_others_is_not_clipped():
    values = moving(0.01)
    values[:, 2] = 9.81
    values[:, 4] = 0.0
    assert not RangeEnds().find(values).any()


def test_an_end_that_is_passed_is_none():
    clean = moving(0.01)
    first = np.clip(clean, -0.6, 0.6)
    ends = RangeEnds()
    assert ends.find(first).any()
    assert not ends.find(clean * 1.2)[300:].any()


def test_a_clipped_imu_without_a_range_is_named_and_what_is_claimed_holds():
    """Before, squares of the errors by their variances were 2.0 on this machine, and 3.9 on another one."""
    machine = load_machine('delta')
    evaluate, time = drives_profile(machine, 40.0).evaluate, 12.0 + np.arange(600) / 100.0
    clean = simulate_sensors(machine, evaluate, time, SensorConditions(), 0)
    end = 0.99 * float(np.abs(clean.specific_force).max())
    fault = ImuFault('clipped', ranges=(end, np.inf))
    data = simulate_sensors(machine, evaluate, time, SensorConditions(imu_faults=(fault,)), 0)
    result = estimate(machine, data, EstimatorConfig(baseline=False))
    named = next(event for event in result.health.events if event.name == 'imu_clipped')
    assert f'stops at {end:.4g} m/s^2' in named.detail and 'range in the machine file' in named.detail
    error = result.motion.linear_velocity - evaluate(time).linear_velocity
    rotations = evaluate(time).rotation_base_platform
    in_base = rotations @ result.motion.twist_covariance[:, :3, :3] @ rotations.transpose(0, 2, 1)
    squares = np.einsum('ni,nij,nj->n', error, np.linalg.inv(in_base), error)[50:]
    assert squares.mean() / 3.0 < 1.5
