"""Noisy positions of redundant drives contradict each other: the estimator lives with noise, and names what is more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from pkm_description.errors import PkmError
from pkm_description.kinematics import drive_positions, forward_kinematics, measured_tolerance
from pkm_description.loading import load_machine
from pkm_description.loading.yaml_reader import as_lists, by_name
from pkm_description.machine import Pose
from pkm_description.motion.profiles import drives_profile
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import SensorConditions, simulate_sensors
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.tracking.start_poses import contradiction

NAMES = ('octopod_8ups', 'four_rrr')


@pytest.fixture(scope='module')
def four_strut_tricept(tmp_path_factory):
    """A strut too many, and a leg that takes freedoms: what fits noisy drives best is no pose that the legs admit."""
    path = load_machine('tricept').path
    file = by_name(path, yaml.safe_load(path.read_text()))
    legs = {'middle': file['legs']['middle']}
    for leg, angle in enumerate(0.5 * np.pi * np.arange(4.0), start=1):
        outward = np.array([np.cos(angle), np.sin(angle), 0.0])
        points = {'base_point': (0.45 * outward).tolist(), 'platform_point': (0.22 * outward).tolist()}
        legs[f'leg{leg}'] = {'chain': 'drive', 'base_rpy': [0.0, 0.0, float(angle)], **points}
    path = tmp_path_factory.mktemp('machine') / 'tricept_4.yaml'
    path.write_text(yaml.safe_dump(as_lists(file | {'name': 'tricept_4', 'legs': legs}), sort_keys=False))
    return load_machine(path)


def recorded(machine, count=600, seed=1):
    time = 12.0 + np.arange(count) / 100.0
    evaluate = drives_profile(machine, 40.0).evaluate
    return machine, simulate_sensors(machine, evaluate, time, SensorConditions(), seed), evaluate(time)


@pytest.mark.parametrize('name', NAMES)
def test_leg_whose_zero_moves_is_named(name):
    machine, data, motion = recorded(load_machine(name))
    positions = data.drive_positions.copy()
    positions[300:400, 2] += 5e-3
    result = estimate(machine, replace(data, drive_positions=positions))
    assert {'leg_off_prediction', 'leg_offset', 'started'} <= {event.name for event in result.health.events}
    assert result.health.counters['started'] == 1 and not result.by_legs_alone.any()
    error = np.linalg.norm(result.motion.position - motion.position, axis=1)
    assert error.max() < 10.0 * float(machine.leg_sensors.position_noise.max())
    # the baseline, which leaves no leg out, has a pose all the same
    assert np.isfinite(result.baseline.position).all()


@pytest.mark.parametrize('name', NAMES)
def test_zeros_that_contradict_each_other_are_no_fault_of_the_imu(name):
    """Before: the IMU was left out, and poses were wrong by up to 1e29 m."""
    machine, data, _ = recorded(load_machine(name))
    positions = data.drive_positions.copy()
    positions[:, 2] += 5e-4
    with pytest.raises(PkmError, match='redundant drives contradict each other: leg.* Calibrate the zeros'):
        estimate(machine, replace(data, drive_positions=positions))


def test_estimated_offsets_explain_a_contradiction():
    machine, data, motion = recorded(load_machine('octopod_8ups'))
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
    machine, _, motion = recorded(load_machine(name))
    std = machine.leg_sensors.position_noise
    pose = replace(machine.home, position=motion.position[0], rotation_base_platform=motion.rotation_base_platform[0])
    noise = np.random.default_rng(0)
    ideal = np.ravel(drive_positions(machine, pose.position, pose.rotation_base_platform))
    said = sum(bool(contradiction(machine, ideal + std * noise.normal(size=len(std)), pose, std)) for _ in range(1000))
    assert 0 <= said <= 5  # 1e-3 of 1000 is 1
    assert sum(bool(contradiction(machine, ideal + 3.0 * std * noise.normal(size=len(std)), pose, std))
               for _ in range(50)) > 10  # fmt: skip


def noisy_run(machine, noise):
    sensors = replace(machine.leg_sensors, position_noise=np.full(machine.actuated_count, noise))
    return recorded(replace(machine, leg_sensors=sensors), 300, 3)


@pytest.mark.parametrize('noise', [5e-6, 2e-4])
def test_start_where_legs_hold_the_platform_too(four_strut_tricept, noise):
    """Before: no start as long as noise of the drives led to a pose that the middle leg does not admit."""
    machine, data, motion = noisy_run(four_strut_tricept, noise)
    result = estimate(machine, data, EstimatorConfig(baseline=False))
    assert result.health.counters.get('start_failed', 0) == 0
    assert len(result.motion.stamps) == len(data.stamps)
    error = np.linalg.norm(result.motion.position - motion.position, axis=1)
    assert error.max() < 5.0 * noise


def test_noise_contradicts_as_seldom_where_legs_hold_the_platform(four_strut_tricept):
    """The pose is the one that fits best, as at a start."""
    machine, _, motion = noisy_run(four_strut_tricept, 2e-4)
    std, noise = machine.leg_sensors.position_noise, np.random.default_rng(1)
    ideal = np.ravel(drive_positions(machine, motion.position[0], motion.rotation_base_platform[0]))
    said, wrong = 0, 0
    for _ in range(150):
        for factor in (1.0, 4.0):
            positions = ideal + factor * std * noise.normal(size=4)
            found = forward_kinematics(machine, positions, tolerance=measured_tolerance(machine))
            pose = Pose(found.position[0], found.rotation_base_platform[0])
            named = bool(contradiction(machine, positions, pose, std))
            said, wrong = said + (named and factor == 1.0), wrong + (named and factor > 1.0)
    assert said <= 2  # 0.15 are expected
    assert wrong > 38
