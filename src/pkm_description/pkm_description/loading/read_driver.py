"""Read the section ``driver`` of a machine file, or a driver's settings file; write such a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pkm_description.driver import STANDARD_DRIVER, CommandConversion, Driver, ImuConversion
from pkm_description.driver.csv_names import JOINT_FIELDS, NAMES
from pkm_description.driver.driver import ACCELERATION, ANGULAR_RATE, COMMAND_TOPIC, IMU_TOPIC, JOINT_TOPIC
from pkm_description.loading.driver_values import read_command, read_effort, read_position, texts, topic
from pkm_description.loading.yaml_reader import Section, read_yaml
from pkm_description.machine import Machine
from pkm_description.writing import write_text

#: name of the copy in a bag's folder
COPY = 'driver.yaml'
#: word in place of a settings file: the streams follow the suite's convention, whatever the machine file says
STANDARD = 'standard'

_KEYS = (
    'machine', 'joint_topic', 'imu_topic', 'joints', 'ignore', 'position', 'velocity', 'effort', 'command', 'imu',
    'csv',
)  # fmt: skip


def driver_of(machine: Machine, content: dict[str, Any], driver: str | Path | None) -> Driver:
    """Driver of a machine: of a settings file, of the machine file, or the standard one.

    Parameters
    ----------
    machine : names and kinds of the driven joints
    content : content of the machine file
    driver : path of a settings file; ``'standard'``: as the suite has it; None: what the machine file says

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    if driver is None:
        if 'driver' not in content:
            return STANDARD_DRIVER
        return read_driver(machine, Section(machine.path, '', content).section('driver'))
    if str(driver) == STANDARD:
        return STANDARD_DRIVER
    path = Path(driver).expanduser()
    file = Section(path, '', read_yaml(path))
    file.expect_keys(['driver'])
    section = file.section('driver')
    if 'machine' not in section.content:
        raise section.error('machine', None, f'is missing; say whose driver it is, e.g. machine: {machine.name}')
    return read_driver(machine, section)


def read_driver(machine: Machine, section: Section) -> Driver:
    """Read one section ``driver`` for a machine.

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    section.expect_keys([], _KEYS)
    if 'machine' in section.content and section.text('machine') != machine.name:
        raise section.error(
            'machine', section.content['machine'], f'this driver is for another machine; here it is {machine.name!r}'
        )
    foreign, order = _read_joints(section, machine)
    names = foreign or machine.actuated_joint_names
    position, effort = None, None
    sign = np.ones(machine.actuated_count)
    if 'position' in section.content or 'velocity' in section.content:
        position = read_position(section, machine)
        sign = np.sign(position.linear.scale)
    # a drive that counts backwards counts its forces so, too
    if 'effort' in section.content:
        effort = read_effort(section.section('effort'), machine, names, sign)
    elif (sign < 0.0).any():
        effort = read_effort(Section(section.path, f'{section.place}.effort', {}), machine, names, sign)
    command, command_topic = None, COMMAND_TOPIC
    if 'command' in section.content:
        command, command_topic = read_command(section.section('command'), machine, names, order, sign)
    elif effort is not None and effort.takes_commands:
        command = CommandConversion(effort.channels[0].scale, order, effort.quantity)
    elif effort is None and foreign:
        command = CommandConversion(sign, order, 'force')
    return Driver(
        joint_names=foreign,
        order=order,
        ignore=texts(section, 'ignore'),
        joint_topic=topic(section, 'joint_topic', JOINT_TOPIC),
        imu_topic=topic(section, 'imu_topic', IMU_TOPIC),
        command_topic=command_topic,
        position=position,
        effort=effort,
        command=command,
        imu=_read_imu(section.section('imu')) if 'imu' in section.content else ImuConversion(),
        columns=read_columns(section.section('csv'), names) if 'csv' in section.content else {},
        path=section.path,
    )


def _read_joints(section: Section, machine: Machine) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The driver's names by drive, and the drives in the order of the driver's list."""
    if 'joints' not in section.content:
        return (), tuple(range(machine.actuated_count))
    entries, legs = section.content['joints'], list(machine.drive_labels)
    if isinstance(entries, dict):
        reason = "must be a list: write '- name: leg'; the program convert_machine does it"
        raise section.error('joints', list(entries), reason)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and len(entry) == 1 for entry in entries):
        raise section.error('joints', entries, "must be a list of entries '- name: leg', in the order of commands")
    pairs = [pair for entry in entries for pair in entry.items()]
    joints = Section(section.path, f'{section.place}.joints', dict(pairs))
    by_leg: dict[str, str] = {}
    for name, leg in pairs:
        if not isinstance(name, str) or not name:
            raise joints.error(str(name), leg, "a joint's name must be a text; put it in quotes")
        if leg not in legs:
            raise joints.error(name, leg, f'is no drive of {machine.name}; its drives are {", ".join(legs)}')
        if leg in by_leg:
            raise joints.error(name, leg, f'{leg} stands here twice; {by_leg[leg]!r} is it already')
        if name in by_leg.values():
            raise joints.error(name, leg, f'{name!r} stands here twice; a name is of one joint')
        by_leg[leg] = name
    missing = [leg for leg in legs if leg not in by_leg]
    if missing:
        raise section.error(
            'joints', dict(joints.content), f'lacks {", ".join(missing)}; every drive needs the name of its joint'
        )
    return tuple(by_leg[leg] for leg in legs), tuple(legs.index(leg) for leg in by_leg)


def _read_imu(section: Section) -> ImuConversion:
    """Units of the IMU, and whether it reports gravity in place of its reaction."""
    section.expect_keys([], ['acceleration', 'angular_rate', 'gravity'])
    acceleration = ACCELERATION[section.choice('acceleration', ACCELERATION, 'm/s2')]
    at_rest = section.choice('gravity', ('up', 'down'), 'up')
    return ImuConversion(
        acceleration if at_rest == 'up' else -acceleration,
        ANGULAR_RATE[section.choice('angular_rate', ANGULAR_RATE, 'rad/s')],
    )


def read_columns(section: Section, names: tuple[str, ...]) -> dict[str, str]:
    """Read ``csv``: column of the file -> name that the suite knows (see the page on CSV recordings).

    Parameters
    ----------
    names : the driver's names of the joints

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    section.expect_keys(['columns'])
    columns = section.section('columns')
    targets: dict[str, str] = {}
    for column in columns.content:
        target = columns.text(column)
        name, _, part = target.rpartition('.')
        if target not in NAMES and (part not in JOINT_FIELDS or not name):
            raise columns.error(
                str(column), target,
                f'is no name that can be read: use time (s), time_ms, time_us or stamp (ns), {names[0]}.position, '
                f'{names[0]}.velocity, {names[0]}.effort, or imu.linear_acceleration.x and the like',
            )  # fmt: skip
        if target in targets.values():
            raise columns.error(str(column), target, 'two columns have this meaning; leave one out')
        targets[str(column)] = target
    return targets


def keep_driver(machine: Machine, folder: Path) -> None:
    """Write :data:`COPY` into a recording's folder, unless the machine file alone tells how to read the recording.

    Of standard streams of a machine whose file has a driver of its own, it says that they are standard.

    Raises
    ------
    MachineFileError
        The driver's file is not there any more.
    """
    if not machine.driver.is_standard or 'driver' in read_yaml(machine.path):
        write_text(folder / COPY, driver_text(machine))


def driver_text(machine: Machine) -> str:
    """Text of a settings file that says the same of the machine's driver: a copy, where it came from such a file.

    Of the section of a machine file, or of a file whose topics were replaced, the values.

    Raises
    ------
    MachineFileError
        The file is not there any more.
    """
    driver = machine.driver
    if driver.path is None:  # only its topics are not the suite's
        content: dict[str, object] = {}
    else:
        content = dict(read_yaml(driver.path)['driver'])
        if driver.path != machine.path:
            told = read_driver(machine, Section(driver.path, 'driver', content))
            if (told.joint_topic, told.imu_topic) == (driver.joint_topic, driver.imu_topic):
                return driver.path.read_text(encoding='utf-8')
    topics = {'joint_topic': driver.joint_topic, 'imu_topic': driver.imu_topic}
    return yaml.safe_dump({'driver': {**content, 'machine': machine.name, **topics}}, sort_keys=False)
