"""The estimator on machines that are no 6-UPS hexapods, by their files alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import drive_positions
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import drives_profile, profile
from pkm_estimation.filtering.parts import measurement_model
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.models.extra_states import EXTRA_STATES, StateLayout
from pkm_estimation.models.leg_model import DriveModel
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import measure
from pkm_estimation.sensors.conditions import imu_truth
from pkm_estimation.stream import EstimatorPipeline

from pkm_estimation.config import EstimatorConfig

#: files of machines with legs of any kind
MACHINES = Path(__file__).parents[2] / 'pkm_description' / 'config'


@pytest.mark.parametrize('name', ['valencia_3rps', 'khalifa_3prr', 'hexaglide_6pus', 'octopod_8ups', 'four_rrr'])
def test_machine_of_another_kind_is_estimated(name: str) -> None:
    machine = load_machine(name)
    motion = profile('drives', machine, 9.0, 100.0)
    data = measure(machine, motion, seed=1)
    result = estimate(machine, data, EstimatorConfig(baseline=False))
    assert len(result) == len(motion)
    late = slice(450, None)
    error = np.linalg.norm(result.motion.position[late] - motion.position[late], axis=1)
    noise = float(np.max(machine.leg_sensors.position_noise))
    assert np.sqrt(np.mean(error**2)) < 3.0 * noise + 1e-6
    found, turned = result.motion.linear_velocity[late], motion.rotation_base_platform[late]
    assert np.sqrt(np.mean((np.einsum('nij,nj->ni', turned, found) - motion.linear_velocity[late]) ** 2)) < 2e-3
    # not overconfident. An IMU sample acts in two neighbouring steps, half in each: where its noise is greater than the
    # drives', as on khalifa_3prr, innovations are smaller than those of independent steps, which the filter assumes
    assert 0.65 * machine.actuated_count < result.nis[late].mean() < 1.2 * machine.actuated_count
    assert result.health.counters['started'] == 1


@pytest.mark.parametrize('name', ['valencia_3rps', 'khalifa_3prr', 'hexaglide_6pus'])
def test_measurement_is_the_machines_kinematics(name: str) -> None:
    machine = load_machine(name)
    motion = profile('drives', machine, 4.0, 5.0)
    imu = machine.imu.position
    states = np.zeros((len(motion), 15))
    states[:, :3] = motion.position + motion.rotation_base_platform @ imu
    states[:, 6:9] = quaternion_from_matrix(motion.rotation_base_platform)[:, :3]
    model = DriveModel(machine, imu)
    values = model.observe(states)
    drives = drive_positions(machine, motion.position, motion.rotation_base_platform)
    np.testing.assert_allclose(values[:, : machine.actuated_count], drives, atol=1e-10)
    np.testing.assert_allclose(values[:, machine.actuated_count :], 0.0, atol=1e-10)
    assert values.shape[1] == machine.actuated_count + machine.constraint_count


@pytest.mark.parametrize('name', ['valencia_3rps', 'khalifa_3prr', 'delta', 'octopod_8ups'])
def test_constants_of_the_sensors_act_as_they_are_defined(name: str) -> None:
    """States of 3 ms ago, an IMU at another place, offsets: what the drives measure now, to the third order of time."""
    machine = load_machine(name)
    source = drives_profile(machine, 10.0)
    layout = StateLayout.of(15, machine.actuated_count, ('leg_offsets', 'imu_delay', 'imu_position'))
    model = DriveModel(machine, machine.imu.position, layout)
    delay, arm, begin = 3e-3, np.array([0.02, -0.01, 0.03]), np.array([4.7, 4.71])
    offsets = 1e-3 * np.arange(1.0, 1.0 + machine.actuated_count)
    motion, now = source.evaluate(begin), source.evaluate(begin + delay)
    place = machine.imu.position + arm
    sampled = np.hstack(imu_truth(motion, machine.gravity, place, np.eye(3)))
    model.follow(sampled[0], sampled[1], 0.01)
    state, rotation = np.zeros((1, layout.size)), motion.rotation_base_platform[1]
    state[0, :3] = motion.position[1] + rotation @ place
    velocity = motion.linear_velocity[1] + np.cross(motion.angular_velocity[1], rotation @ place)
    state[0, 3:6] = rotation.T @ velocity
    state[0, 6:9] = quaternion_from_matrix(rotation[None])[0, :3]
    state[0, layout.leg_offsets], state[0, layout.imu_delay], state[0, layout.imu_position] = offsets, delay, arm
    found = model.observe(state)[0]
    wanted = drive_positions(machine, now.position, now.rotation_base_platform)[1] + offsets
    before = drive_positions(machine, motion.position, motion.rotation_base_platform)[1] + offsets
    np.testing.assert_allclose(found[: machine.actuated_count], wanted, atol=1e-3 * np.abs(wanted - before).max())
    np.testing.assert_allclose(found[machine.actuated_count :], 0.0, atol=1e-6)


def test_struts_and_drives_of_any_kind_are_one_model() -> None:
    """With all constants as states; two implementations of what the drives measure."""
    machine, random = load_machine('srs'), np.random.default_rng(0)
    layout, geometry = StateLayout.of(15, 6, tuple(EXTRA_STATES)), EstimatorGeometry.from_machine(machine)
    struts = measurement_model(geometry, layout, None)
    drives = DriveModel(machine, machine.imu.position, layout)
    states = 0.02 * random.normal(size=(7, layout.size))
    states[:, :3] += machine.home.position + machine.imu.position
    samples = random.normal(size=(2, 6)) - np.array([0.0, 0.0, 9.8, 0.0, 0.0, 0.0])
    for model in (struts, drives):
        model.set_chart(np.eye(3))
        model.follow(*samples, 0.01)
    lengths = struts.observe(states) - machine.lengths_at_zero
    np.testing.assert_allclose(drives.observe(states), lengths, atol=1e-12)


def test_machine_with_too_few_drives_is_refused() -> None:
    machine = load_machine('valencia_3rps')
    first = machine.legs[0]
    joints = tuple(replace(joint, actuated=False) for joint in first.joints)
    sensors = replace(machine.leg_sensors, position_noise=machine.leg_sensors.position_noise[1:])
    idle = replace(machine, legs=(replace(first, joints=joints), *machine.legs[1:]), leg_sensors=sensors)
    with pytest.raises(KinematicsError, match='2 drive positions do not determine .* 3 degrees of freedom'):
        EstimatorPipeline(idle, EstimatorConfig(baseline=False))


@pytest.mark.parametrize('name', ['delta', 'five_bar', 'four_rrr', 'octopod_8ups', 'three_upu', 'tricept'])
def test_legs_of_any_kind_are_measured_at_home(name: str) -> None:
    """Legs without a drive, more drives than freedoms, couplings of other kinds."""
    machine = load_machine(MACHINES / name / 'machine.yaml')
    filter_ = EstimatorPipeline(machine, EstimatorConfig(baseline=False)).filter
    filter_.start_at(machine.home)
    values = filter_.legs.observe(filter_.ukf.state[None])[0]
    drives = machine.model.home_joints[machine.drive_columns]
    constraints = np.zeros(len(values) - machine.actuated_count)
    expected = np.concatenate([drives + filter_.geometry.lengths_at_zero * (name == 'octopod_8ups'), constraints])
    np.testing.assert_allclose(values, expected, atol=1e-9)
