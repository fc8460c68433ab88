"""Sensors and servo may be missing where only kinematics or dynamics is wanted; who needs them says what to add."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import ConfigurationError, MachineFileError
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.sdf import sdf_text
from pkm_description.export.sdf_systems import SdfOptions
from pkm_description.export.urdf import urdf_text
from pkm_description.inspection.describe import describe
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine, machine_file
from pkm_description.machine import NO_IMU, NO_LEG_SENSORS, NO_SERVO, Machine
from wrong_machines import MISSING, changed, written


def without(folder: Path, *sections: str) -> Machine:
    """PaLiDA without sections of its file, written into a folder."""
    return load_machine(written(folder, changed('palida', dict.fromkeys(sections, MISSING))))


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    return without(tmp_path, 'sensors', 'servo')


def test_a_machine_without_sensors_moves_and_is_exported(bare: Machine) -> None:
    whole = load_machine('palida')
    assert (bare.has_imu, bare.has_leg_sensors, bare.has_servo) == (False, False, False)
    assert (whole.has_imu, whole.has_leg_sensors, whole.has_servo) == (True, True, True)
    motion = random_states(whole, 5)
    np.testing.assert_array_equal(inverse_dynamics(bare, motion), inverse_dynamics(whole, motion))
    for text in (urdf_text(bare), sdf_text(bare, SdfOptions(drive='force')), mjcf_text(bare)):
        assert 'imu_' not in text and '<imu>' not in text
    assert mujoco.MjModel.from_xml_string(mjcf_text(bare)).nv == mujoco.MjModel.from_xml_string(mjcf_text(whole)).nv
    assert not [line for line in describe(bare) if line.startswith(('imu', 'sensors'))]
    assert [line for line in describe(whole) if line.startswith(('imu', 'sensors'))]


def test_who_needs_a_missing_section_says_what_to_add(bare: Machine) -> None:
    with pytest.raises(ConfigurationError, match=r'no section sensors\.imu, whose rate is needed .*link: imu_link'):
        _ = bare.imu.rate
    with pytest.raises(ConfigurationError, match=r'no section sensors\.legs, whose position_noise is needed'):
        _ = bare.leg_sensors.position_noise
    with pytest.raises(ConfigurationError, match=r'no section servo, .*servo: \{stiffness: '):
        sdf_text(bare)


def test_missing_sections_survive_copies(bare: Machine) -> None:
    for again in (copy.deepcopy(bare), pickle.loads(pickle.dumps(bare))):
        assert (again.has_imu, again.has_leg_sensors, again.has_servo) == (False, False, False)
        with pytest.raises(ConfigurationError, match='no section servo'):
            _ = again.servo.damping


@pytest.mark.parametrize(
    ('section', 'value'), [('sensors.imu', NO_IMU), ('sensors.legs', NO_LEG_SENSORS), ('servo', NO_SERVO)]
)
def test_the_advice_of_the_error_makes_the_file_whole(tmp_path: Path, section: str, value: Any) -> None:
    """The example of the message, put into an overlay, gives the section; and standard deviations of its numbers."""
    path, overlay = tmp_path / 'machine.yaml', tmp_path / 'overlay.yaml'
    machine = without(tmp_path, section)
    attribute = {'sensors.imu': 'imu', 'sensors.legs': 'leg_sensors', 'servo': 'servo'}[section]
    assert getattr(machine, attribute) is value
    rate = 'servo.stiffness' if section == 'servo' else f'{section}.rate'
    overlay.write_text(f'overlay: {{machine: palida}}\n{value.example}\nstandard_deviations: {{{rate}: 1.0}}\n')
    whole = load_machine(path, overlay)
    assert whole.has_imu and whole.has_leg_sensors and whole.has_servo
    assert 'overlay.yaml' in whole.provenance[rate]


def test_overlays_add_whole_sections_only(tmp_path: Path) -> None:
    path, overlay = tmp_path / 'machine.yaml', tmp_path / 'overlay.yaml'
    without(tmp_path, 'sensors.legs')
    for text, key in (
        ('sensors: {legs: {rate: 100.0}}', 'sensors.legs.position_noise'),
        ('sensors: {legs: {rate: -1.0, position_noise: 0.0, velocity_noise: 0.0, effort_noise: 0.0}}',
         'sensors.legs.rate'),
        ('sensors: {cameras: {rate: 100.0}}', 'sensors.cameras'),
        ('ball_joint: {cone: 0.5}', 'ball_joint'),
    ):  # fmt: skip
        overlay.write_text(f'overlay: {{machine: palida}}\n{text}\n')
        with pytest.raises(MachineFileError) as caught:
            load_machine(path, overlay)
        assert caught.value.key == key
        assert 'overlay.yaml' in str(caught.value)


def _with_tolerances(tmp_path: Path, text: str) -> Path:
    path = tmp_path / 'machine.yaml'
    lines = machine_file('srs').read_text(encoding='utf-8').replace('tolerances: 0.0', text).splitlines(keepends=True)
    path.write_text(''.join(line for line in lines if 'simulated as this file says' not in line), encoding='utf-8')
    return path


def test_tolerances(tmp_path: Path) -> None:
    """One number, one per leg, and usual machining where the file says nothing."""
    assert load_machine('srs').tolerances.are_zero and str(load_machine('srs').tolerances) == 'exact'
    usual = load_machine(_with_tolerances(tmp_path, '')).tolerances
    assert not usual.is_stated and 'usual machining' in str(usual) and '0.1 mm' in str(usual)
    text = 'tolerances: {joint_centres: [1.0e-4, 1.0e-4, 3.0e-4, 1.0e-4, 1.0e-4, 1.0e-4], leg_zeros: 5.0e-5}'
    given = load_machine(_with_tolerances(tmp_path, text)).tolerances
    assert given.is_stated and str(given) == 'joint centres 0.1 to 0.3 mm, zeros of the drives 0.05 mm or mrad'
    text = 'tolerances: {joint_centres: 0.0, leg_zeros: 0.0, gravity: 0.02, imu_scale: 1.0e-3}'
    of_imu = load_machine(_with_tolerances(tmp_path, text)).tolerances
    assert not of_imu.are_zero and str(of_imu).endswith('gravity 0.02 m/s^2, scale of the IMU 0.001')
    for wrong in ('tolerances: -1.0', 'tolerances: {joint_centres: [1.0e-4]}', 'tolerances: {centres: 0.0}'):
        with pytest.raises(MachineFileError, match='centres|tolerances'):
            load_machine(_with_tolerances(tmp_path, wrong))
