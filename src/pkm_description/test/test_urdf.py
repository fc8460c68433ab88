"""The URDF against the machine object, check_urdf, Pinocchio's reader and the analytic model."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from drive_motions import drive_motion
from exported_machines import KINDS, exported_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.export.urdf import urdf_text
from pkm_description.export.urdf_loops import link_poses, moving_joints, urdf_joints
from pkm_description.importing.graph import ImportMachineError
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine, write_overlay
from pkm_description.machine import Machine, PlatformMotion
from uneven_machine import write_uneven_machine
from urdf_trees import XACRO_FILE
from warm_programs import run_program

from verification.engines.pinocchio import PinocchioTree

pin = pytest.importorskip('pinocchio')


@pytest.fixture(scope='module')
def uneven_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_uneven_machine(tmp_path_factory.mktemp('uneven'))


@pytest.fixture(scope='module', params=['srs', 'palida', 'uneven'])
def machine(request: pytest.FixtureRequest) -> Machine:
    return load_machine(request.getfixturevalue('uneven_file') if request.param == 'uneven' else request.param)


@pytest.fixture(scope='module')
def text(machine: Machine) -> str:
    return urdf_text(machine)


class UrdfOracle(PinocchioTree):
    """The oracle on the model that Pinocchio reads from the URDF: only gravity and names come from the machine."""

    def __init__(self, machine: Machine, text: str) -> None:
        self.use(machine, pin.buildModelFromXML(text))

    def configuration(self, joint_positions: np.ndarray, position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        """The floating joint's origin lies at home: its coordinates are the pose relative to home."""
        home = self.machine.home
        turn = home.rotation_base_platform.T
        return super().configuration(joint_positions, turn @ (position - home.position), turn @ rotation)


@pytest.fixture(scope='module')
def oracle(machine: Machine, text: str) -> UrdfOracle:
    return UrdfOracle(machine, text)


def _states(machine: Machine, count: int) -> PlatformMotion:
    """Home, and random states."""
    home = machine.home
    random = random_states(machine, count, seed=3, turn=0.2, move=0.08)
    at_rest = PlatformMotion.at_rest(home.position, home.rotation_base_platform)
    parts = [field.name for field in dataclasses.fields(PlatformMotion)]
    return PlatformMotion(**{name: np.concatenate([getattr(at_rest, name), getattr(random, name)]) for name in parts})


@pytest.mark.skipif(shutil.which('check_urdf') is None, reason='check_urdf (liburdfdom-tools) is not installed')
@pytest.mark.parametrize('kind', KINDS)
def test_check_urdf_accepts_every_kind_of_machine(kind: str, tmp_path: Path) -> None:
    machine, path = exported_machine(kind, tmp_path), tmp_path / 'machine.urdf'
    path.write_text(urdf_text(machine))
    done = subprocess.run(['check_urdf', path], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ''
    assert f'root Link: base_link has {len(machine.legs) + machine.has_platform} child(ren)' in done.stdout


@pytest.mark.parametrize('argument', ['machine', 'machine_file'])
def test_xacro_says_nothing(machine: Machine, text: str, argument: str) -> None:
    """As a launch file calls it; every warning would stand on stderr."""
    if argument == 'machine' and machine.name == 'uneven':
        pytest.skip('is not a machine of the package')
    value = machine.name if argument == 'machine' else machine.path
    command = [sys.executable, '-c', 'import xacro; xacro.main()', str(XACRO_FILE), f'{argument}:={value}']
    done = run_program(command)
    assert (done.returncode, done.stderr) == (0, '')
    assert [joint.name for joint in urdf_joints(done.stdout)] == [joint.name for joint in urdf_joints(text)]


def test_configuration_is_legs_then_platform(machine: Machine, oracle: UrdfOracle) -> None:
    """What the oracle of the dynamics relies on; the floating joint is a free flyer."""
    model = oracle.model
    assert (model.nq, model.nv) == (25, 24)
    assert list(model.names)[1:] == [*machine.joint_names, f'{machine.platform.name}_pose']
    assert model.joints[19].shortname() == 'JointModelFreeFlyer'


def test_limits_and_friction_are_the_machine_files(machine: Machine, text: str) -> None:
    elements = {element.get('name'): element for element in ElementTree.fromstring(text).findall('joint')}
    for joint in machine.joints:
        limit, losses = elements[joint.name].find('limit'), elements[joint.name].find('dynamics')
        for key in ('lower', 'upper', 'velocity', 'effort'):
            if np.isfinite(getattr(joint.limits, key)):
                assert float(limit.get(key)) == getattr(joint.limits, key)
        assert float(losses.get('damping')) == joint.friction.viscous
        assert float(losses.get('friction')) == joint.friction.coulomb


def test_link_poses_agree_with_pinocchio(machine: Machine, text: str, oracle: UrdfOracle) -> None:
    states = _states(machine, 5)
    positions = joint_motion(machine, states).positions
    joints = urdf_joints(text)
    assert [joint.name for joint in moving_joints(joints)] == list(machine.joint_names)
    for sample in range(len(states)):
        position, rotation = states.position[sample], states.rotation_base_platform[sample]
        pin.framesForwardKinematics(
            oracle.model, oracle.data, oracle.configuration(positions[sample], position, rotation)
        )
        values = dict(zip(machine.joint_names, positions[sample], strict=True))
        poses = link_poses(joints, values, 'base_link')
        below = link_poses(joints, values, machine.platform.name)
        poses |= {name: (position + rotation @ at, rotation @ turn) for name, (at, turn) in below.items()}
        assert len(poses) == len(joints) + 1
        for name, (at, turn) in poses.items():
            frame = oracle.data.oMf[oracle.model.getFrameId(name)]
            assert at == pytest.approx(frame.translation, abs=1e-12), name
            assert turn == pytest.approx(frame.rotation, abs=1e-12), name


def test_forces_of_the_urdf_model_are_the_inverse_dynamics(machine: Machine, oracle: UrdfOracle) -> None:
    states = _states(machine, 20)
    positions = joint_motion(machine, states).positions
    forces = inverse_dynamics(machine, states, friction=False)
    expected = np.array([oracle.drive_forces(positions[i], states, i) for i in range(len(states))])
    assert np.abs(forces - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize('kind', ['valencia_3rps', 'khalifa_3prr', 'hexaglide_6pus'])
def test_forces_of_other_kinds_of_machines(kind: str) -> None:
    """Legs that hold the platform, a plane, sliders; rotors come from the machine, no URDF reader has them."""
    machine = load_machine(kind)
    oracle = UrdfOracle(machine, urdf_text(machine))
    motion = drive_motion(machine, np.linspace(0.0, 1.0, 15))
    forces = inverse_dynamics(machine, motion, friction=False)
    positions = joint_motion(machine, motion).positions
    expected = np.array([oracle.drive_forces(positions[i], motion, i) for i in range(len(motion))])
    assert np.abs(forces - expected).max() < 1e-9 * np.abs(expected).max()


def test_urdf_with_an_overlay(machine: Machine, tmp_path: Path) -> None:
    overlay = write_overlay(
        tmp_path / 'overlay.yaml',
        machine.name,
        {
            'platform.body.mass': 1.01 * machine.platform.mass,
            'leg_chain.prismatic.friction.viscous': [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        },
        date='2026-11-21',
        data='test',
        method='by hand',
    )
    root = ElementTree.fromstring(urdf_text(load_machine(machine.path, overlay)))
    mass = root.find(f"link[@name='{machine.platform.name}']/inertial/mass")
    assert float(mass.get('value')) == 1.01 * machine.platform.mass
    damping = [root.find(f"joint[@name='{joint.name}']/dynamics") for joint in machine.actuated_joints]
    assert [float(one.get('damping')) for one in damping] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('<robot', 'is not XML'),
        ('<robot><joint name="a" type="fixed"><parent link="b"/></joint></robot>', "'a': has no parent or no child"),
        ('<robot><joint name="a" type="fixed"><parent link="b"/><child link="c"/><origin xyz="0 0"/></joint></robot>',
         "xyz = '0 0'"),
        ('<robot><joint name="a" type="fixed"><parent link="b"/><child link="c"/><origin rpy="0 0 x"/></joint></robot>',
         "rpy = '0 0 x'"),
    ],
)  # fmt: skip
def test_unusable_urdf_text(text: str, words: str) -> None:
    with pytest.raises(ImportMachineError, match=words):
        urdf_joints(text)
