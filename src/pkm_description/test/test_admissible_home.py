"""Home poses of machines whose legs hold the platform: solved, nearest, and written into the file."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml
from other_machines import cart_with_pendulum, three_rps
from pkm_description.errors import ConvergenceError, KinematicsError, MachineFileError
from pkm_description.kinematics import forward_kinematics, joint_positions
from pkm_description.kinematics.closed_legs import admissible_home
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.loading import load_machine
from pkm_description.loading.load import unchecked_machine
from pkm_description.loading.yaml_reader import by_name
from pkm_description.machine import Machine, Pose
from pkm_description.nodes import new_machine
from pkm_description.skeleton import KINDS, skeleton_text, with_admissible_home
from pkm_description.skeleton.text import with_value

HOLDING = ['3rps', '3prs', '3rrs']


def asymmetric_file(kind: str, folder: Path) -> Path:
    """A skeleton whose legs do not meet a level platform: other points and another leg frame."""
    text = skeleton_text(kind)
    content = by_name(folder, yaml.safe_load(text))
    for leg, shift in (('leg2', [0.02, -0.03, 0.01]), ('leg3', [-0.01, -0.02, 0.0])):
        point = np.add(content['legs'][leg]['platform_point'], shift)
        text = with_value(text, ('legs', leg, 'platform_point'), str(point.tolist()))
    text = with_value(text, ('legs', 'leg1', 'base_rpy'), '[0.02, 0.0, 0.1]')
    path = folder / 'asymmetric.yaml'
    path.write_text(text)
    return path


@pytest.fixture(params=HOLDING)
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    path = asymmetric_file(request.param, tmp_path)
    return unchecked_machine(path, by_name(path, yaml.safe_load(path.read_text())))


def test_asymmetric_machines_get_a_home_that_loads(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    path = machine.path
    before = path.read_text()
    with pytest.raises(MachineFileError, match='new_machine --from'):
        load_machine(path)
    assert new_machine.main(['--from', str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith('home is ')
    assert path.read_text() == before
    assert new_machine.main(['--from', str(path), '-o', str(path)]) == 1
    assert path.read_text() == before
    assert new_machine.main(['--from', str(path), '-o', str(path), '--force']) == 0
    assert path.read_text() == printed.out
    solved = load_machine(path)
    home = solved.home
    positions = joint_positions(solved, home.position[None], home.rotation_base_platform[None])[0]
    assert positions == pytest.approx(solved.home_positions, abs=1e-6)  # six digits in the file
    # nothing but home has changed, no comment is lost
    changed = [(a, b) for a, b in zip(before.splitlines(), printed.out.splitlines(), strict=True) if a != b]
    assert len(changed) == 1 + len(solved.legs[0].joints)
    assert all('home:' in line for pair in changed for line in pair)


def test_the_home_is_the_nearest(machine: Machine) -> None:
    """Moves that the legs allow are normal to the way from the wished pose."""
    found = admissible_home(machine)
    assert found.distance > 1e-3
    at_home = dataclasses.replace(machine, home=found.pose)
    drives = found.joint_positions[machine.drive_columns]
    step = 1e-5

    def squared(shift: np.ndarray) -> float:
        closed = forward_kinematics(at_home, (drives + shift)[None]).require()
        move = closed.position[0] - machine.home.position
        turn = rotation_log(closed.rotation_base_platform[0] @ machine.home.rotation_base_platform.T)
        return float(move @ move + machine.platform_radius**2 * (turn @ turn))

    least = squared(np.zeros(3))
    assert least == pytest.approx(found.distance**2 + (machine.platform_radius * found.angle) ** 2, rel=1e-9)
    for direction in np.eye(3):
        further, nearer = squared(step * direction), squared(-step * direction)
        assert further > least and nearer > least
        assert abs(further - nearer) < 1e-4 * (further + nearer - 2.0 * least)


def test_drives_may_be_given(machine: Machine) -> None:
    home = admissible_home(machine)
    at_home = dataclasses.replace(machine, home=home.pose)
    drives = home.joint_positions[machine.drive_columns] + [0.01, -0.02, 0.03]
    found = admissible_home(machine, drives=drives)
    closed = forward_kinematics(at_home, drives[None]).require()
    assert found.joint_positions[machine.drive_columns] == pytest.approx(drives, abs=1e-13)
    assert found.joint_positions == pytest.approx(closed.joint_positions[0], abs=1e-10)
    assert found.pose.position == pytest.approx(closed.position[0], abs=1e-11)
    assert found.pose.rotation_base_platform == pytest.approx(closed.rotation_base_platform[0], abs=1e-11)


def test_height_and_drives_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = asymmetric_file('3rps', tmp_path)
    assert new_machine.main(['--from', str(path), '--height', '0.65']) == 0
    higher = yaml.safe_load(capsys.readouterr().out)['platform']['home']['xyz'][2]
    assert higher == pytest.approx(0.65, abs=0.005)
    assert new_machine.main(['--from', str(path), '--drives', '0.1', '0.12', '0.14']) == 0
    content = by_name(path, yaml.safe_load(capsys.readouterr().out))
    assert content['leg_chain']['prismatic']['home'] == [0.1, 0.12, 0.14]
    assert new_machine.main(['--from', str(path), '--drives', '0.1']) == 1
    assert 'drives has shape (1,), expected (3,)' in capsys.readouterr().err


@pytest.mark.parametrize('kind', KINDS)
def test_an_admissible_pose_stays_as_it_is(kind: str, tmp_path: Path) -> None:
    path = tmp_path / 'machine.yaml'
    path.write_text(skeleton_text(kind))
    machine = load_machine(path)
    found = admissible_home(machine)
    assert found.pose is machine.home
    assert (found.distance, found.angle) == (0.0, 0.0)
    assert with_admissible_home(path)[0] == path.read_text()


def test_planar_machines_and_hexapods_take_drive_positions_too(tmp_path: Path) -> None:
    for kind in ('3prr', '3rrr', '6ups', '6rus'):
        path = tmp_path / f'{kind}.yaml'
        path.write_text(skeleton_text(kind))
        machine = load_machine(path)
        home = machine.home
        start = joint_positions(machine, home.position[None], home.rotation_base_platform[None])[0]
        drives = start[machine.drive_columns] + 0.01 * np.cos(np.arange(machine.leg_count))
        closed = forward_kinematics(machine, drives[None]).require()
        found = admissible_home(machine, drives=drives)
        assert found.pose.position == pytest.approx(closed.position[0], abs=1e-10)
        assert found.joint_positions == pytest.approx(closed.joint_positions[0], abs=1e-9)


def test_out_of_reach_is_said() -> None:
    machine = three_rps()
    far = Pose(np.array([0.0, 0.0, 0.6]), rotation_exp(np.array([0.0, 0.0, 1.0])))
    assert admissible_home(machine, far).angle > 0.5
    with pytest.raises(ConvergenceError, match=r'leg\d misses its platform joint by'):
        admissible_home(machine, drives=np.array([0.0, 3.0, 9.0]))
    with pytest.raises(KinematicsError, match='is an open chain'):
        admissible_home(cart_with_pendulum())


@pytest.mark.parametrize(
    ('text', 'place', 'expected'),
    [
        ('a: {b: 1, c: 2} # x\n', ('a', 'b'), 'a: {b: 9, c: 2} # x\n'),
        ('a: {b: 1}\n', ('a', 'd'), 'a: {d: 9, b: 1}\n'),
        ('a:\n  b: [1,\n   2]  # x\n  c: 3\n', ('a', 'b'), 'a:\n  b: 9  # x\n  c: 3\n'),
        ('a:\n  # x\n  b: 1\n', ('a', 'd'), 'a:\n  # x\n  d: 9\n  b: 1\n'),
        ('a:\n  b:\n  - 1\n  - 2  # x\n  c: 3\n', ('a', 'b'), 'a:\n  b:\n  9  # x\n  c: 3\n'),
    ],
)
def test_single_values_of_a_text(text: str, place: tuple[str, ...], expected: str) -> None:
    assert with_value(text, place, '9') == expected
    with pytest.raises(KeyError):
        with_value(text, ('z', 'y'), '9')
