"""The estimator on machines that are no 6-UPS hexapods, by their files alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pkm_description.errors import ConfigurationError, KinematicsError
from pkm_description.kinematics import drive_positions
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_estimation.models.drives import DriveModel
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorPipeline

from pkm_estimation.config import EstimatorConfig

#: files of machines with legs of any kind
MACHINES = Path(__file__).parents[2] / 'pkm_description' / 'config'


@pytest.mark.parametrize('name', ['valencia_3rps', 'khalifa_3prr', 'hexaglide_6pus', 'octopod_8ups', 'four_rrr'])
def test_machine_of_another_kind_is_estimated(name: str) -> None:
    machine = load_machine(name)
    motion = profile('drives', machine, 12.0, 100.0)
    data = measure(machine, motion, seed=1)
    pipeline = EstimatorPipeline(machine, EstimatorConfig(baseline=False))
    names = [joint.name for joint in machine.actuated_joints]
    outputs = []
    for k, stamp in enumerate(data.stamps):
        outputs += pipeline.add_imu(int(stamp), data.specific_force[k], data.angular_rate[k])
        outputs += pipeline.add_joint_positions(int(stamp), names, data.drive_positions[k])
    assert len(outputs) == len(motion)
    late = slice(600, None)
    position = np.array([output.motion.position for output in outputs])[late]
    error = np.linalg.norm(position - motion.position[late], axis=1)
    noise = float(np.max(machine.leg_sensors.position_noise))
    assert np.sqrt(np.mean(error**2)) < 3.0 * noise + 1e-6
    velocity = np.array([o.motion.rotation_base_platform @ o.motion.velocity for o in outputs])[late]
    assert np.sqrt(np.mean((velocity - motion.linear_velocity[late]) ** 2)) < 2e-3
    nis = np.array([output.innovation.nis for output in outputs[600:]])
    # not overconfident. An IMU sample acts in two neighbouring steps, half in each: where its noise is greater than the
    # drives', as on khalifa_3prr, innovations are smaller than those of independent steps, which the filter assumes
    assert 0.65 * machine.actuated_count < nis.mean() < 1.2 * machine.actuated_count
    assert pipeline.health.counters['started'] == 1


@pytest.mark.parametrize('name', ['valencia_3rps', 'khalifa_3prr', 'hexaglide_6pus'])
def test_measurement_is_the_machines_kinematics(name: str) -> None:
    machine = load_machine(name)
    motion = profile('drives', machine, 4.0, 5.0)
    imu = machine.imu.position
    from pkm_description.kinematics.rotation import quaternion_from_matrix

    states = np.zeros((len(motion), 15))
    states[:, :3] = motion.position + motion.rotation_base_platform @ imu
    states[:, 6:9] = quaternion_from_matrix(motion.rotation_base_platform)[:, :3]
    model = DriveModel(machine, imu)
    values = model.observe(states)
    drives = drive_positions(machine, motion.position, motion.rotation_base_platform)
    np.testing.assert_allclose(values[:, : machine.actuated_count], drives, atol=1e-10)
    np.testing.assert_allclose(values[:, machine.actuated_count :], 0.0, atol=1e-10)
    assert values.shape[1] == machine.actuated_count + machine.constraint_count


def test_constants_that_the_model_lacks_are_refused() -> None:
    with pytest.raises(ConfigurationError, match='imu_delay.*valencia_3rps'):
        EstimatorPipeline(load_machine('valencia_3rps'), EstimatorConfig(estimate=('imu_delay',)))


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
