"""Files with closed loops become machine files: the same five-bar in every format, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from loop_files import TIP, WRITERS, urdf, write_mjcf, write_sdf, write_urdf_with_loops
from pkm_description.importing import comparison
from pkm_description.importing.closing import Loops
from pkm_description.importing.comparison import compared
from pkm_description.importing.graph import ImportMachineError
from pkm_description.importing.importer import Imported, imported
from pkm_description.importing.selection import Choice
from pkm_description.loading import load_machine
from pkm_description.machine.idle_freedoms import closing_equations
from pkm_description.nodes.import_machine import main as import_main

LOOPS = Path(__file__).parent / 'loops'
FORMATS = list(WRITERS)


def read(format_name, tmp_path) -> Imported:
    if format_name == 'mjcf':
        pytest.importorskip('mujoco')
    return imported(WRITERS[format_name](tmp_path), choice=Choice(platform='tool'))


@pytest.mark.parametrize('format_name', FORMATS)
def test_five_bar_is_the_same_in_every_format(format_name, tmp_path):
    result = read(format_name, tmp_path)
    mechanism = result.mechanism
    assert sorted(joint.name for joint in mechanism.joints if joint.actuated) == ['motor_1', 'motor_2']
    np.testing.assert_allclose(mechanism.home.position, TIP, atol=1e-9)
    assert np.abs(closing_equations(Loops(mechanism).at_home)[0]).max() < 1e-11
    # the first leg reaches the tool by crank and rod, the second by its crank: the rod is the platform
    bodies = {joint.body.name for joint in mechanism.joints}
    assert {'crank_1', 'rod_1', 'crank_2'} <= bodies
    masses = sum(joint.body.mass for joint in mechanism.joints) + mechanism.platform.mass
    np.testing.assert_allclose(masses, 0.8 + 0.5 + 0.9 + 0.6, atol=1e-6)


@pytest.mark.parametrize('format_name', FORMATS)
def test_written_file_loads_with_provenance(format_name, tmp_path):
    result = read(format_name, tmp_path)
    path = tmp_path / 'machine.yaml'
    path.write_text(result.text)
    machine = load_machine(path)
    assert machine.degrees_of_freedom == machine.actuated_count == 2
    assert machine.provenance['leg_chains'] == f'printed: imported from {result.path.name}'
    motor = next(joint for leg in machine.legs for joint in leg.joints if joint.name.endswith('motor_1'))
    assert (motor.limits.lower, motor.limits.upper, motor.limits.effort) == (-1.5, 1.5, 50.0)
    assert (motor.friction.viscous, motor.friction.coulomb) == (0.02, 0.03)


def test_likely_platform_is_the_tool_and_is_said(tmp_path):
    result = imported(write_urdf_with_loops(tmp_path))
    assert result.selection.link == 'tool'
    assert any("platform is taken to be 'tool'" in note for note in result.mechanism.notes)


def test_another_base_and_held_joints(tmp_path):
    held = imported(write_urdf_with_loops(tmp_path), choice=Choice('tool', '', (), ('motor_2',)))
    assert [joint.name for joint in held.mechanism.joints if joint.actuated] == ['motor_1']
    assert any('motor_2' in note for note in held.mechanism.notes)


def test_freedoms_without_a_drive_are_refused_with_their_joints(tmp_path):
    with pytest.raises(ImportMachineError, match=r'1 of the freedoms .*elbow') as error:
        imported(write_urdf_with_loops(tmp_path), choice=Choice('tool', '', ('motor_1',)))
    assert '--drives' in str(error.value)


def test_rod_between_balls_is_held_in_its_idle_turn(tmp_path):
    """A loop closed by balls at both ends of a rod leaves the rod's turn about itself to nobody."""
    path = write_urdf_with_loops(tmp_path)
    loops = tmp_path / 'robot.yaml'
    loops.write_text(loops.read_text() + "joint_name: ['elbow_1']\njoint_type: ['SPHERICAL']\n")
    mechanism = imported(path, choice=Choice('tool')).mechanism
    assert any('without moving anything else' in note for note in mechanism.notes)
    assert sum(joint.name.startswith('elbow_1') for joint in mechanism.joints) == 2


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('no xml', 'is not XML'),
        ('<robots/>', 'its root is <robots>'),
        (urdf('<constraint name="c" type="screw"><parent link="rod_1"/><child link="rod_2"/></constraint>'), "'screw'"),
        (urdf('<joint name="j" type="gear"><parent link="rod_1"/><child link="tool"/></joint>'), "type 'gear'"),
        (urdf('<joint name="j" type="fixed"><parent link="rod_1"/><child link="tool"/></joint>'), 'several parents'),
        (urdf('<joint name="j" type="fixed"><parent link="rod_1"/><child link="gone"/></joint>'), "link 'gone'"),
        (urdf(), 'no body has a closed loop'),
    ],
)
def test_wrong_files_are_refused_with_what_is_wrong(tmp_path, text, message):
    path = tmp_path / 'wrong.urdf'
    path.write_text(text)
    with pytest.raises(ImportMachineError, match=message):
        imported(path)


def test_missing_file_and_wrong_names(tmp_path):
    with pytest.raises(ImportMachineError, match='no such file'):
        imported(tmp_path / 'none.urdf')
    path = write_urdf_with_loops(tmp_path)
    with pytest.raises(ImportMachineError, match="no link 'nobody'"):
        imported(path, choice=Choice('nobody'))
    with pytest.raises(ImportMachineError, match="no joint 'nobody'"):
        imported(path, choice=Choice('tool', '', ('nobody',)))
    write_urdf_with_loops(tmp_path, '5d')
    with pytest.raises(ImportMachineError, match="'5d' cannot be imported"):
        imported(path)


def test_loops_file_belongs_to_a_urdf(tmp_path):
    path = write_sdf(tmp_path)
    with pytest.raises(ImportMachineError, match='belong to a URDF'):
        imported(path, tmp_path / 'robot.yaml')


def test_mjcf_without_its_meshes(tmp_path):
    pytest.importorskip('mujoco')
    path = write_mjcf(tmp_path)
    mesh = '<asset><mesh name="m" file="missing.stl"/></asset><worldbody>'
    shape = path.read_text().replace('<worldbody>', mesh, 1)
    path.write_text(shape.replace('<joint name="elbow_2"', '<geom type="mesh" mesh="m"/><joint name="elbow_2"'))
    mechanism = imported(path, choice=Choice('tool')).mechanism
    assert sum(joint.body.mass for joint in mechanism.joints) + mechanism.platform.mass == pytest.approx(2.8, abs=1e-6)
    without = path.read_text()
    start = without.index('<inertial pos="-0.1 0.0 0.13"')
    path.write_text(without[:start] + without[without.index('/>', start) + 2 :])
    with pytest.raises(ImportMachineError, match=r"takes its mass from the mesh 'm'"):
        imported(path, choice=Choice('tool'))


def test_unknown_keyframe(tmp_path):
    pytest.importorskip('mujoco')
    with pytest.raises(ImportMachineError, match="no keyframe 'home2'"):
        imported(write_mjcf(tmp_path), keyframe='home2')


@pytest.mark.parametrize('format_name', WRITERS)
def test_five_bar_moves_and_pushes_as_its_source(format_name, tmp_path):
    pytest.importorskip('mujoco')
    result = imported(WRITERS[format_name](tmp_path), choice=Choice('tool'))
    path = tmp_path / 'machine.yaml'
    path.write_text(result.text)
    figures = compared(result, samples=6)
    assert figures.gap < 1e-11
    assert max(figures.position, figures.rotation) < 1e-9
    assert figures.force < 1e-9


def test_says_so_where_the_engine_is_missing(tmp_path, monkeypatch):
    result = imported(WRITERS['urdf and loops'](tmp_path), choice=Choice('tool'))
    monkeypatch.setattr(comparison, 'mujoco', None)
    assert 'MuJoCo is not installed' in compared(result)


@pytest.mark.parametrize(
    ('name', 'note', 'away'),
    [
        ('mj_fourbar_1e-8.xml', 'miss by 4.9e-09 m', 1e-8),
        ('mj_fourbar_1e-9.xml', 'miss by 4.9e-10 m', 1e-9),
        ('mj_lighter.xml', 'too light for a machine file.*: rod0, ', 1e-12),
        ('mjcf_tied.xml', 'what ties r_drive and l_drive is left out', 1e-12),
        ('sdf_1g.sdf', 'too light for a machine file.*: top', 1e-12),
        ('sdf_low0_75.sdf', "platform is taken to be 'top'", 1e-12),
        ('sdf_univ_idle.sdf', 'up0_1: held, for it turns without moving anything else', 1e-12),
    ],
)
def test_small_flaws_of_a_file_are_forgiven_with_a_note(name, note, away):
    """Rounded loops, light bodies, ties to held joints, idle turns: the machine moves and pushes as its source."""
    choice = Choice('l_tip', '', (), ('r_drive',)) if name == 'mjcf_tied.xml' else None
    result = imported(LOOPS / name, choice=choice)
    assert re.search(note, ' '.join(result.mechanism.notes))
    pytest.importorskip('mujoco')
    figures = compared(result, samples=4)
    assert figures.gap < 1e-11
    assert max(figures.position, figures.rotation) < away
    assert figures.force < 1e-9


def test_tied_joints_that_both_move_are_refused():
    with pytest.raises(ImportMachineError, match=r"'r_drive' is tied to 'l_drive'.*--hold"):
        imported(LOOPS / 'mjcf_tied.xml', choice=Choice('r_tip', 'l_tip'))


def test_home_at_the_end_of_a_stroke_keeps_the_limits(tmp_path):
    path = write_urdf_with_loops(tmp_path)
    path.write_text(path.read_text().replace('lower="-1.5"', 'lower="1e-9"'))
    motor = imported(path, choice=Choice('tool')).machine.actuated_joints[0]
    assert -1e-9 <= motor.limits.lower <= motor.home
    assert motor.limits.upper == 1.5


def test_drives_are_guessed_where_the_file_drives_none(tmp_path):
    write_urdf_with_loops(tmp_path)
    loops = tmp_path / 'robot.yaml'
    loops.write_text(loops.read_text().replace("name_mot: ['motor_1', 'motor_2']", ''))
    result = imported(tmp_path / 'robot.urdf', choice=Choice('tool'))
    assert result.machine.actuated_count == 2
    assert any('taken to be driven: motor_1, motor_2' in note for note in result.mechanism.notes)


def test_xacro_is_read_directly(tmp_path):
    pytest.importorskip('xacro')
    text = write_urdf_with_loops(tmp_path).read_text()
    text = text.replace('<robot ', '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ')
    path = tmp_path / 'robot.urdf.xacro'
    path.write_text(text.replace('<link name="base"/>', '<xacro:property name="m" value="0.5"/><link name="base"/>')
                    .replace('mass value="0.5"', 'mass value="${m}"'))  # fmt: skip
    assert imported(path, choice=Choice('tool')).machine.actuated_count == 2


def test_serial_joint_below_a_parallel_machine_is_taken_as_fixed(tmp_path):
    """A turret under a 6-RSS: seven drives, six freedoms of the platform."""
    pytest.importorskip('mujoco')
    text = (LOOPS / 'mj_lighter.xml').read_text()
    fixed, top = text.split('<body name="top"')
    head, legs = fixed.split('<worldbody>')
    turret = '<body name="turret"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint name="yaw" axis="0 0 1"/>'
    path = tmp_path / 'turret.xml'
    path.write_text(f'{head}<worldbody>{turret}{legs}</body><body name="top"{top}')
    result = imported(path)
    assert any('taken as fixed' in note for note in result.mechanism.notes)
    assert 'yaw' not in {joint.name for joint in result.mechanism.joints}
    assert result.machine.actuated_count == 6


def test_floating_base_that_is_turned_is_fixed_as_it_stands(tmp_path):
    pytest.importorskip('mujoco')
    path = write_mjcf(tmp_path)
    base = '<body name="floor" pos="0.1 0 0.3" euler="0.5 0.3 0.2"><freejoint/><inertial pos="0 0 0" mass="2" '
    text = path.read_text().replace('<worldbody>', f'<worldbody>{base}diaginertia="1 1 1"/>')
    path.write_text(text.replace('</worldbody>', '</body></worldbody>'))
    figures = compared(imported(path, choice=Choice('tool')), samples=3)
    assert max(figures.position, figures.rotation, figures.force) < 1e-9


def test_verdict_of_the_comparison_counts(tmp_path, capsys):
    """A rod gets a possible inertia; where that changes the forces by more than 1 %, nothing is written."""
    pytest.importorskip('mujoco')
    path, output = write_urdf_with_loops(tmp_path), tmp_path / 'machine.yaml'
    path.write_text(path.read_text().replace('ixx="0.005"', 'ixx="0.05"'))
    assert import_main([str(path), '--platform', 'tool', '-o', str(output), '--samples', '3']) == 1
    assert re.search(r'drive forces differ .* %; the inertia of rod_1 had to be raised', capsys.readouterr().err)
    assert not output.exists()
