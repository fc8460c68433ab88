"""The commands inspect_machine and export_machine."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest
from ament_index_python.packages import get_package_prefix
from driver_files import EXAMPLE
from other_machines import cart_with_pendulum, planar_prr, three_rps
from pkm_description.export.sdf import sdf_text
from pkm_description.export.sdf_systems import SdfOptions
from pkm_description.export.urdf import urdf_text
from pkm_description.inspection.describe import count_origins, describe
from pkm_description.loading import load_machine, machine_file, machine_names, write_overlay
from pkm_description.nodes import export_machine, inspect_machine
from warm_programs import run_program
from wrong_machines import changed, written

KNOWN = f'machines here: {", ".join(machine_names())}'


def _command(executable: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    program = Path(get_package_prefix('pkm_description')) / 'lib' / 'pkm_description' / executable
    command = [str(program), *map(str, arguments)]
    return run_program(command)


def test_inspect_machine_prints_the_figures() -> None:
    done = _command('inspect_machine', 'srs')
    assert (done.returncode, done.stderr) == (0, '')
    lines = {' '.join(line.split()) for line in done.stdout.splitlines()}
    # condition and excursions: S3-03 and S3-06; 23 and 88: R4-11
    assert any(line.startswith('condition at home 3.273 (Jacobian of the drives, m and rad)') for line in lines)
    assert 'degrees of freedom 6, 6 drives' in lines
    assert 'base parameters 23 of 40 (legs alike, as in this file)' in lines
    assert '88 of 190 (each leg its own)' in lines
    assert '130 of 232 (each leg its own, with friction of all joints and rotors)' in lines
    assert 'x -1.054 to +1.340 m' in lines
    assert 'about y -26.56 to +25.92 deg' in lines
    assert 'leg lengths at home 2.705 m' in lines
    assert any(line.startswith('leg6_prismatic 0.6250 m 0.000 to 1.250 m 1.5 m/s 25000 N 58') for line in lines)
    assert any(line.startswith('provenance 196 numbers: 34 printed') for line in lines)


@pytest.mark.parametrize('name', machine_names())
def test_inspect_machine_describes_every_machine(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect_machine.main([name]) == 0
    printed = capsys.readouterr().out
    machine = load_machine(name)
    assert printed.startswith(f'{name}: {machine.description}')
    for words in ('degrees of freedom', 'base parameters', 'provenance', 'gravity'):
        assert words in printed
    assert all(joint.name in printed for joint in machine.actuated_joints)
    assert ' nan' not in printed
    assert 'uncertain' not in printed
    if machine.has_platform:
        assert 'condition at home' in printed
        assert 'at a time, from home' in printed


def test_inspect_machine_lists_base_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect_machine.main(['valencia_3rps', '--base-parameters']) == 0
    lines = {' '.join(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert '15 base parameters (kg, kg m, kg m^2) of 30 parameters' in lines
    # the platform and what the rods add to it: three of 2 kg
    assert '16.248 platform_link.m + 3 leg_rod.m' in lines
    assert 'leg_rod.Iyy - leg_cylinder.Izz' in lines
    assert inspect_machine.main(['khalifa_3prr', '--base-parameters']) == 0
    assert capsys.readouterr().out.startswith('13 base parameters')


def test_inspection_of_machines_without_a_file() -> None:
    """Kinds that have neither closed form nor six drives."""
    planar = {' '.join(line.split()) for line in describe(planar_prr())}
    assert 'kind planar platform on pins: x, y and about z' in planar
    assert 'degrees of freedom 3, 3 drives' in planar
    assert '13 of 70 (each leg its own)' in planar
    assert len([line for line in planar if line.startswith(('x ', 'y ', 'about z '))]) == 3
    chain = {' '.join(line.split()) for line in describe(cart_with_pendulum())}
    assert 'degrees of freedom 3, 1 drive' in chain
    assert 'base parameters 7 of 30 (rigid bodies)' in chain
    assert not any(line.startswith('condition') for line in chain)
    held = {' '.join(line.split()) for line in describe(three_rps())}
    assert '25 of 70 (each leg its own)' in held
    assert [line.split()[0] for line in describe(three_rps())[-3:]] == ['z', 'roll', 'pitch']
    assert any('Jacobian of the drives and constraints' in line for line in held)


def test_inspection_goes_on_where_random_states_do_not_close() -> None:
    """Rods that are all but stretched at home: no range of random states closes."""
    machine = planar_prr()
    height = (machine.home.position + machine.platform_points)[:, 1]
    legs = tuple(
        leg.with_end(point=np.array([rise + 1e-5, 0.0, 0.0]))
        for leg, rise in zip(machine.legs, height, strict=True)
    )
    machine = dataclasses.replace(machine, legs=legs)
    printed = [' '.join(line.split()) for line in describe(machine)]
    assert any(line.startswith('base parameters could not be computed: sample') for line in printed)
    assert any(line.startswith('degrees of freedom 3') for line in printed)
    assert any(line.startswith(('provenance', 'sensors of drives')) for line in printed)
    assert any(line.startswith('leg1_joint0') for line in printed)
    assert any(line.startswith(('x ', 'workspace could not')) for line in printed)


def test_provenance_is_counted_by_the_longest_key() -> None:
    content = {
        'schema': 1, 'platform': {'home': {'xyz': [1.0, 2.0, 3.0]}, 'body': {'mass': 4, 'link': 'a'}},
        'legs': {'leg1': {'base_point': [0.0, [1.0, 2.0]]}}, 'flag': True, 'rate': 5.0,
    }  # fmt: skip
    provenance = {'platform': 'printed: table 1', 'platform.body': 'assumed: guess', 'legs': 'derived: drawing'}
    assert count_origins(content, provenance) == {'printed': 3, 'derived': 3, 'assumed': 1, 'not stated': 1}


def test_inspect_machine_takes_an_overlay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = {'platform.body.mass': 9.5}
    overlay = write_overlay(tmp_path / 'o.yaml', 'palida', values, date='today', data='none', method='by hand')
    assert inspect_machine.main(['palida', '--overlay', str(overlay)]) == 0
    assert 'platform 9.5 kg' in capsys.readouterr().out


def test_export_machine_writes_both_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = _command('export_machine', 'palida', 'urdf')
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout == urdf_text(load_machine('palida'))
    path = tmp_path / 'palida.xml'
    assert export_machine.main([str(machine_file('palida')), 'mjcf', '-o', str(path)]) == 0
    assert capsys.readouterr().out == f'{path} written\n'
    assert ElementTree.parse(path).getroot().get('model') == 'palida'


def test_export_machine_writes_what_its_options_ask_for(capsys: pytest.CaptureFixture[str]) -> None:
    """SDF; the format is named in its place or as an option."""
    assert (
        export_machine.main(['palida', '--format', 'sdf', '--gazebo', 'fortress', '--drive', 'force', '--world']) == 0
    )
    printed = capsys.readouterr()
    assert printed.err == ''
    options = SdfOptions(gazebo='fortress', drive='force', world=True)
    assert printed.out == sdf_text(load_machine('palida'), options)
    assert export_machine.main(['palida', 'sdf', '--loop', 'native']) == 0
    assert capsys.readouterr().out == sdf_text(load_machine('palida'), SdfOptions(loop='native'))


@pytest.mark.parametrize(
    ('arguments', 'words'), [(['srs'], 'give a format'), (['srs', 'sdf', '--format', 'urdf'], 'twice')]
)
def test_export_machine_needs_one_format(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        export_machine.main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize('format_name', export_machine.FORMATS)
def test_export_machine_says_what_a_format_loses(
    format_name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # gazebo writes files
    friction = {'law': 'power', 'viscous': 0.3, 'coulomb': 0.1, 'exponent': 0.5}
    changes = {'leg_chain.prismatic.rotor_inertia': 1.5, 'leg_chain.universal_1.friction': friction}
    path = written(tmp_path, changed('palida', changes))
    assert export_machine.main([str(path), format_name]) == 0
    warnings = capsys.readouterr().err.splitlines()
    assert all(line.startswith(f'warning: palida: {format_name.upper()} cannot express') for line in warnings)
    assert [word in warnings[-1] for word in ('friction laws', 'leg1_universal_1')] == [True, True]
    assert ('rotor_inertia (leg1_prismatic: 1.5' in warnings[0]) == (format_name not in ('mjcf', 'c'))


@pytest.mark.parametrize(
    ('program', 'arguments', 'words'),
    [
        (inspect_machine, ['nothing'], KNOWN),
        (inspect_machine, ['srs', '--overlay', '/nowhere.yaml'], '/nowhere.yaml'),
        (export_machine, ['nothing', 'urdf'], KNOWN),
        (export_machine, ['nothing', 'mjcf'], KNOWN),
        (export_machine, ['palida', 'mjcf', '-o', '/nowhere/at/all.xml'], '/nowhere/at/all.xml'),
    ],
)
def test_commands_say_what_is_wrong_in_one_line(
    program: ModuleType, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith('error: ')
    assert words in error
    assert error.count('\n') == 1


def test_inspect_machine_shows_the_driver(capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect_machine.main(['srs', '--driver', str(EXAMPLE)]) == 0
    shown = capsys.readouterr().out
    srs = load_machine('srs', driver=EXAMPLE)
    drive = srs.home_positions[srs.drive_columns[0]]
    reading = 1e3 * (drive - 0.4e-3 + srs.legs[0].length_at_zero)
    row = next(line for line in shown.splitlines() if line.startswith('leg1_prismatic') and 'actuator_3' in line)
    assert f'{reading:.6g}' in row and '0.001 x' in row and '-812.5 x' in row
    assert 'drives/state, without gripper*' in shown and '/xsens/imu, -9.80665 m/s^2 and 0.0174533 rad/s' in shown
    assert "driver's name" not in _shown(['srs'], capsys)


def _shown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert inspect_machine.main(arguments) == 0
    return capsys.readouterr().out
