"""Every mistake in a driver's settings is refused by an error that names file, key and value and says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from driver_files import FOREIGN, write_driver
from other_machines import six_rus
from pkm_description.errors import MachineFileError
from pkm_description.loading import load_machine
from pkm_description.loading.read_driver import driver_of, read_driver
from pkm_description.loading.yaml_reader import Section
from wrong_machines import CONTENT, written

JOINTS: list[dict[str, str]] = FOREIGN['joints']
CURRENT = {'quantity': 'current', 'gain': 10.0}

# changed keys, key that is named, value, parts of what is said
MISTAKES: list[tuple[dict[str, Any], str, object, str]] = [
    ({'machine': None}, 'driver.machine', None, 'is missing; say whose driver ... machine: srs'),
    ({'machine': 'palida'}, 'driver.machine', 'palida', "is for another machine; here it is 'srs'"),
    ({'joint_topics': 'x'}, 'driver.joint_topics', 'x', "unknown key; did you mean 'joint_topic'?"),
    ({'joint_topic': 'my topic'}, 'driver.joint_topic', 'my topic', 'is no name of a topic'),
    ({'imu_topic': 7}, 'driver.imu_topic', 7, 'must be a text'),
    ({'ignore': 'gripper'}, 'driver.ignore', 'gripper', 'must be a list of names'),
    ({'joints': [*JOINTS, {'actuator_7': 'leg2'}]}, 'driver.joints.actuator_7', 'leg2', "leg2 stands here twice; "),
    ({'joints': [*JOINTS[:-1], {'actuator_3': 'leg6'}]}, 'driver.joints.actuator_3', 'leg6', 'a name is of one joint'),
    ({'joints': [*JOINTS, {'actuator_7': 'leg7'}]}, 'driver.joints.actuator_7', 'leg7', 'is no drive of srs ... leg1'),
    ({'joints': [{7: 'leg1'}]}, 'driver.joints.7', 'leg1', 'put it in quotes'),
    ({'joints': [{'a': 'leg1'}, {'b': 'leg4'}]}, 'driver.joints', {'a': 'leg1', 'b': 'leg4'},
     'lacks leg2, leg3, leg5, leg6'),
    ({'position': {'scale': 0.0}}, 'driver.position.scale', 0.0, 'must be greater than 0 ... give sign: -1'),
    ({'position': {'scale': -1.0}}, 'driver.position.scale', -1.0, 'must be greater than 0 ... give sign: -1'),
    ({'position': {'scale': [1.0] * 5}}, 'driver.position.scale', [1.0] * 5, 'has 5 entries for 6 legs'),
    ({'position': {'scale': {'leg1': 1.0}}}, 'driver.position.scale.leg2', None, 'is missing; add it'),
    ({'position': {'sign': 2}}, 'driver.position.sign', 2, 'must be 1 or -1'),
    ({'position': {'unit': 'deg'}}, 'driver.position.unit', 'deg', 'must be one of m, dm, cm, mm'),
    ({'position': {'unit': 'mm', 'scale': 0.001}}, 'driver.position.scale', 0.001, 'says what unit says already'),
    ({'position': {'unit': 'counts'}}, 'driver.position.scale', None, 'is missing: how many m is one of the counts'),
    ({'position': {'quantity': 'angle'}}, 'driver.position.quantity', 'angle', 'must be one of extension, length'),
    ({'position': {'quantity': 'lenght'}}, 'driver.position.quantity', 'lenght', "did you mean 'length'?"),
    ({'position': {'offset': '1e-3'}}, 'driver.position.offset', '1e-3', 'is a text to YAML'),
    ({'position': {'periodic_error': {'pitch': 0.0, 'cosine': [0.0], 'sine': [0.0]}}},
     'driver.position.periodic_error.pitch', 0.0, 'must be greater than 0'),
    ({'position': {'periodic_error': {'pitch': 0.03, 'cosine': [0.0], 'sine': [0.0, 0.0]}}},
     'driver.position.periodic_error.sine', [0.0, 0.0], 'has 2 harmonics, cosine has 1'),
    ({'position': {'periodic_error': {'pitch': 0.03, 'cosine': [30.0], 'sine': [0.0]}}},
     'driver.position.periodic_error.pitch', 0.03, 'two positions would have the same reading'),
    ({'velocity': {'unit': 'mm'}}, 'driver.velocity.unit', 'mm', 'must be one of m/s'),
    ({'effort': {'quantity': 'amps'}}, 'driver.effort.quantity', 'amps', 'must be one of force, torque, current'),
    ({'effort': {'quantity': 'current'}}, 'driver.effort.gain', None, 'is missing; add it'),
    ({'effort': {'quantity': 'voltage', 'gain': 5.0}}, 'driver.effort.amplifier', None, 'is missing; add it'),
    ({'effort': {'quantity': 'current', 'gain': 0.0}}, 'driver.effort.gain', 0.0, 'must be greater than 0'),
    ({'effort': {'quantity': 'torque'}}, 'driver.effort.lead', None, 'the lead of the screw, m per turn'),
    ({'effort': {**CURRENT, 'gear': 3.0}}, 'driver.effort.lead', None, 'the lead of the screw, m per turn'),
    ({'effort': {**CURRENT, 'unit': 'V'}}, 'driver.effort.unit', 'V', 'must be one of A, mA'),
    ({'effort': {**CURRENT, 'entry': 'current'}}, 'driver.effort.entry', 'current', 'must be a text with {name}'),
    ({'effort': {'quantity': 'pressure', 'chambers': {'extend': {'area': 1.0, 'entry': '{name}'}}}},
     'driver.effort.chambers.retract', None, 'is missing; add it'),
    ({'effort': {'quantity': 'pressure_difference'}}, 'driver.effort.area', None, 'is missing; add it'),
    ({'command': {'quantity': 'pressure'}}, 'driver.command.quantity', 'pressure', 'valves need their own controller'),
    ({'command': {'quantity': 'force', 'order': ['actuator_1']}}, 'driver.command.order', ['actuator_1'],
     'must have each of actuator_3, actuator_2'),
    ({'imu': {'acceleration': 'G'}}, 'driver.imu.acceleration', 'G', 'must be one of m/s2'),
    ({'imu': {'gravity': 'inverted'}}, 'driver.imu.gravity', 'inverted', 'must be one of up, down'),
    ({'imu': {'rpy': [0, 0, 0]}}, 'driver.imu.rpy', [0, 0, 0], 'unknown key'),
    ({'csv': {'columns': {'s1': 'actuator_1'}}}, 'driver.csv.columns.s1', 'actuator_1', 'is no name that can be read'),
    ({'csv': {'columns': {'t': 'time', 'u': 'time'}}}, 'driver.csv.columns.u', 'time', 'two columns have this meaning'),
]  # fmt: skip


#: loaded once: most of the time of these tests
MACHINES = {name: load_machine(name) for name in ('srs', 'hexaglide_6pus', 'palida', 'valencia_3rps')}


def refused(driver: Path, machine: str = 'srs') -> MachineFileError:
    with pytest.raises(MachineFileError) as caught:
        driver_of(MACHINES[machine], {}, driver)
    return caught.value


@pytest.mark.parametrize(
    ('changes', 'key', 'value', 'words'), MISTAKES, ids=[f'{one[1]}={one[2]}'[:60] for one in MISTAKES]
)
def test_one_mistake(tmp_path: Path, changes: dict[str, Any], key: str, value: object, words: str) -> None:
    path = write_driver(tmp_path, **changes)
    if changes == {'machine': None}:
        path.write_text(path.read_text().replace('machine: srs', ''))
    error = refused(path)
    assert (error.path, error.key, error.value) == (path, key, value), error
    for part in (str(path), *words.split(' ... ')):
        assert part in str(error), error


def test_a_leg_named_twice_by_one_name_is_refused_by_yaml(tmp_path: Path) -> None:
    path = tmp_path / 'driver.yaml'
    path.write_text('driver:\n  machine: srs\n  joints:\n    a: leg1\n    a: leg2\n')
    assert "key 'a' stands twice" in str(refused(path))


def test_files_that_are_no_driver(tmp_path: Path) -> None:
    assert 'cannot be read: No such file' in str(refused(tmp_path / 'nowhere.yaml'))
    path = tmp_path / 'driver.yaml'
    path.write_text('joints: {a: leg1}\n')
    error = refused(path)
    assert error.key == 'joints' and "unknown key; did" not in str(error) and 'known here: driver' in str(error)


def test_the_section_of_a_machine_file_has_the_same_errors_and_a_settings_file_takes_its_place(tmp_path: Path) -> None:
    content = CONTENT['srs'] | {'driver': {'position': {'unit': 'mm'}}}
    path = written(tmp_path, content)
    machine = load_machine(path)
    assert machine.driver.position is not None and machine.driver.path == path
    assert load_machine(path, driver='standard').driver.is_standard
    assert load_machine(path, driver=write_driver(tmp_path)).driver.joint_names[0] == 'actuator_3'
    content['driver']['position'] = {'unit': 'mile'}
    written(tmp_path, content)
    with pytest.raises(MachineFileError, match=r'driver\.position\.unit') as caught:
        load_machine(path)
    assert (caught.value.path, caught.value.key) == (path, 'driver.position.unit')


def test_absolute_lengths_need_legs_whose_drive_lies_along_them(tmp_path: Path) -> None:
    """Sliders at the base are no length between the joints of a leg."""
    content = dict.fromkeys(FOREIGN) | {'machine': 'hexaglide_6pus', 'position': {'quantity': 'length'}}
    error = refused(write_driver(tmp_path, **content), 'hexaglide_6pus')
    assert error.key == 'driver.position.quantity' and 'use quantity: extension and an offset' in str(error)
    for machine in ('palida', 'valencia_3rps'):
        content['machine'] = machine
        assert driver_of(MACHINES[machine], {}, write_driver(tmp_path, **content)).position is not None


def test_turning_drives_have_no_lead() -> None:
    section = Section(Path('here.yaml'), 'driver', {'effort': {'quantity': 'torque', 'lead': 0.01}})
    with pytest.raises(MachineFileError, match='is of a screw; the drives of this machine turn'):
        read_driver(six_rus(), section)
