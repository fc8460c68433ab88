"""URDF with loops in a YAML file or as constraint elements: imported again, it moves and pushes as the machine."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
import yaml
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.sdf import sdf_text
from pkm_description.export.sdf_systems import SdfOptions
from pkm_description.export.urdf_loops import urdf_with_constraints, urdf_with_loops, write_urdf_with_loops
from pkm_description.importing.comparison import compared
from pkm_description.importing.importer import imported
from pkm_description.loading import load_machine, machine_names
from pkm_description.nodes.export_machine import main as export_main
from pkm_description.nodes.import_machine import main as import_main

FORMS = ['urdf_loops', 'urdf_constraints']


def export(machine, form, folder):
    if form == 'urdf_loops':
        return write_urdf_with_loops(machine, folder)[0]
    path = folder / {'urdf_constraints': 'robot.urdf', 'mjcf': 'robot.xml', 'sdf': 'robot.sdf'}[form]
    if form == 'sdf':
        path.write_text(sdf_text(machine, SdfOptions(loop='native')))
    else:
        path.write_text(mjcf_text(machine) if form == 'mjcf' else urdf_with_constraints(machine))
    return path


@pytest.mark.parametrize('form', [*FORMS, 'mjcf', 'sdf'])
@pytest.mark.parametrize('name', machine_names())
def test_every_export_with_loops_is_imported_again(name, form, tmp_path):
    """The machine made of the export moves and pushes as the export does in MuJoCo."""
    machine = load_machine(name)
    if not machine.has_platform:
        pytest.skip('no loops')
    pytest.importorskip('mujoco')
    result = imported(export(machine, form, tmp_path))
    assert result.machine.degrees_of_freedom == machine.degrees_of_freedom
    assert result.machine.actuated_count == machine.actuated_count
    figures = compared(result, samples=2)
    assert max(figures.gap, figures.position, figures.rotation) < 1e-10
    assert figures.force < 1e-9


def test_loops_name_frames_of_the_urdf_and_the_drives():
    urdf, loops = urdf_with_loops(load_machine('srs'))
    links = {link.get('name') for link in ElementTree.fromstring(urdf).findall('link')}
    content = yaml.safe_load(loops)
    assert content['type'] == ['3d'] * 6
    assert {frame for pair in content['closed_loop'] for frame in pair} <= links
    assert content['name_mot'] == [f'leg{number}_prismatic' for number in range(1, 7)]


def test_pins_become_hinges_or_revolute_constraints():
    machine = load_machine('khalifa_3prr')
    assert yaml.safe_load(urdf_with_loops(machine)[1])['type'] == ['6d'] * 3
    constraints = ElementTree.fromstring(urdf_with_constraints(machine)).findall('constraint')
    assert [one.get('type') for one in constraints] == ['revolute'] * 3
    assert {one.find('parent_axis').get('xyz') for one in constraints} == {'0 0 1'}


def test_programs_write_and_read_back(tmp_path, capsys):
    assert export_main(['srs', 'urdf_loops', '-o', str(tmp_path / 'srs')]) == 0
    arguments = [str(tmp_path / 'srs' / 'robot.urdf'), '-o', str(tmp_path / 'srs.yaml'), '--samples', '0']
    assert import_main(arguments) == 0
    assert load_machine(tmp_path / 'srs.yaml').actuated_count == 6
    assert import_main(arguments) == 1
    assert 'or --force to replace it' in capsys.readouterr().err
