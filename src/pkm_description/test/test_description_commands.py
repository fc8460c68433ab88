"""The commands inspect_machine and export_machine."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from ament_index_python.packages import get_package_prefix
from pkm_description.export.urdf import urdf_text
from pkm_description.machine import machine_file, machine_names, write_overlay
from pkm_description.nodes import export_machine, inspect_machine

KNOWN = f'machines here: {", ".join(machine_names())}'


def _command(executable: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    program = Path(get_package_prefix('pkm_description')) / 'lib' / 'pkm_description' / executable
    command = [str(program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_inspect_machine_prints_the_figures() -> None:
    done = _command('inspect_machine', 'srs')
    assert (done.returncode, done.stderr) == (0, '')
    lines = {' '.join(line.split()) for line in done.stdout.splitlines()}
    # condition and excursions: Miletovic specification 1.3; 23 and 88: Heimann's counts for rigid bodies
    assert 'condition at home 3.273 (length Jacobian, m and rad)' in lines
    assert 'base parameters 23 (alike legs, rigid bodies)' in lines
    assert 'base parameters 88 (each leg its own, rigid bodies)' in lines
    assert 'x -1.054 to +1.340 m' in lines
    assert 'about y -26.56 to +25.92 deg' in lines
    assert any(line.startswith('leg6 2.7050 m 2.0800 to 3.3300 m 25000 N') for line in lines)


def test_inspect_machine_takes_an_overlay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = {'platform.body.mass': 9.5}
    overlay = write_overlay(tmp_path / 'o.yaml', 'palida', values, date='today', data='none', method='by hand')
    assert inspect_machine.main(['palida', '--overlay', str(overlay)]) == 0
    assert 'platform 9.5 kg' in capsys.readouterr().out


def test_export_machine_writes_both_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = _command('export_machine', 'palida', 'urdf')
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout == urdf_text('palida')
    path = tmp_path / 'palida.xml'
    assert export_machine.main([str(machine_file('palida')), 'mjcf', '-o', str(path)]) == 0
    assert capsys.readouterr().out == f'{path} written\n'
    assert ElementTree.parse(path).getroot().get('model') == 'palida'


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
