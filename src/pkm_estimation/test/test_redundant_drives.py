"""Noisy positions of redundant drives contradict each other: the estimator lives with noise, and names what is more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.errors import PkmError
from pkm_description.kinematics import drive_positions
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import drives_profile
from pkm_estimation.legs.contradiction import contradiction
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import SensorConditions, simulate_sensors
from pkm_estimation.stream import EstimatorConfig

NAMES = ('octopod_8ups', 'four_rrr')


def recorded(name, seed=1):
    machine = load_machine(name)
    time = 12.0 + np.arange(600) / 100.0
    evaluate = drives_profile(machine, 40.0).evaluate
    return machine, simulate_sensors(machine, evaluate, time, SensorConditions(), seed), evaluate(time)


@pytest.mark.parametrize('name', NAMES)
def test_leg_that_fails_is_named_and_left_out(name):
    machine, data, motion = recorded(name)
    positions = data.drive_positions.copy()
    positions[300:400, 2] += 5e-3
    result = estimate(machine, replace(data, drive_positions=positions))
    assert {'leg_off_prediction', 'leg_returned', 'started'} <= {event.name for event in result.health.events}
    assert result.health.counters['started'] == 1 and not result.by_legs_alone.any()
    error = np.linalg.norm(result.motion.position - motion.position, axis=1)
    assert error.max() < 10.0 * float(machine.leg_sensors.position_noise.max())
    # the baseline, which leaves no leg out, has a pose all the same
    assert np.isfinite(result.baseline.position).all()


@pytest.mark.parametrize('name', NAMES)
def test_zeros_that_contradict_each_other_are_no_fault_of_the_imu(name):
    """Before: the IMU was left out, and poses were wrong by up to 1e29 m."""
    machine, data, _ = recorded(name)
    positions = data.drive_positions.copy()
    positions[:, 2] += 5e-4
    with pytest.raises(PkmError, match='redundant drives contradict each other: leg.* Calibrate the zeros'):
        estimate(machine, replace(data, drive_positions=positions))


def test_estimated_offsets_explain_a_contradiction():
    machine, data, motion = recorded('octopod_8ups')
    positions = data.drive_positions.copy()
    positions[:, 2] += 5e-4
    config = EstimatorConfig(estimate=('leg_offsets',), baseline=False)
    result = estimate(machine, replace(data, drive_positions=positions), config)
    assert not result.by_legs_alone.any()
    error = result.motion.position[-100:] - motion.position[-100:]
    std = np.sqrt(result.motion.pose_covariance.diagonal(axis1=1, axis2=2)[-100:, :3])
    assert (np.abs(error) < 3.0 * std).all()


@pytest.mark.parametrize('name', NAMES)
def test_noise_contradicts_as_seldom_as_it_should(name):
    machine, _, motion = recorded(name)
    std = machine.leg_sensors.position_noise
    pose = replace(machine.home, position=motion.position[0], rotation_base_platform=motion.rotation_base_platform[0])
    noise = np.random.default_rng(0)
    ideal = np.ravel(drive_positions(machine, pose.position, pose.rotation_base_platform))
    said = sum(bool(contradiction(machine, ideal + std * noise.normal(size=len(std)), pose, std)) for _ in range(3000))
    assert 0 <= said <= 12  # 1e-3 of 3000 is 3
    assert sum(bool(contradiction(machine, ideal + 3.0 * std * noise.normal(size=len(std)), pose, std))
               for _ in range(100)) > 20  # fmt: skip
