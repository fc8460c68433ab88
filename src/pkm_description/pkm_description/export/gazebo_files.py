"""Everything that Gazebo and ros_gz_bridge read about a machine, as files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

import yaml

from pkm_description.export.sdf import sdf_text
from pkm_description.export.sdf_systems import SdfOptions
from pkm_description.machine import Machine
from pkm_description.writing import make_folder, write_text

#: joint states as Gazebo has them: positions count from the start, and there are no efforts
GAZEBO_JOINT_STATES = 'gazebo/joint_states'

#: types of ROS 2 and of Gazebo, and the direction, as ros_gz_bridge knows them
_KINDS = {
    'clock': ('rosgraph_msgs/msg/Clock', 'Clock', 'GZ_TO_ROS'),
    'imu': ('sensor_msgs/msg/Imu', 'IMU', 'GZ_TO_ROS'),
    'joint_states': ('sensor_msgs/msg/JointState', 'Model', 'GZ_TO_ROS'),
    'command': ('std_msgs/msg/Float64', 'Double', 'ROS_TO_GZ'),
}

#: Gazebo's topic of the command of a joint
_COMMANDS = {'force': 'joint/{}/cmd_force', 'position': 'joint/{}/0/cmd_pos'}


class GazeboFiles(NamedTuple):
    """Paths: a world with the machine, the machine alone for a world that runs, configuration of ros_gz_bridge."""

    world: Path
    model: Path
    bridge: Path


def write_gazebo_files(
    machine: Machine, options: SdfOptions, directory: Path, clock: bool = True
) -> GazeboFiles:
    """Write world, model and bridge configuration; the directory is made, files in it are replaced.

    Raises
    ------
    KinematicsError
        As :func:`pkm_description.export.sdf.sdf_text`.
    """
    make_folder(directory)
    files = GazeboFiles(directory / 'world.sdf', directory / 'model.sdf', directory / 'bridge.yaml')
    name = options.model_name_of(machine)
    title = f'# ros_gz_bridge for {name} in Gazebo {options.gazebo}, drives take: {options.drive}\n'
    texts = (
        sdf_text(machine, dataclasses.replace(options, world=True)),
        sdf_text(machine, dataclasses.replace(options, world=False)),
        title + str(yaml.safe_dump(bridge_entries(machine, options, clock), sort_keys=False)),
    )
    for path, text in zip(files, texts, strict=True):
        write_text(path, text)
    return files


def command_topic(number: int) -> str:
    """Topic of ROS 2 with the command of the drive with a number, from 1: N, N m, or m, rad from the start."""
    return f'gazebo/drive{number}/command'


def bridge_entries(machine: Machine, options: SdfOptions, clock: bool = True) -> list[dict[str, str]]:
    """Topics of one machine.

    Parameters
    ----------
    machine : any
    options : of its SDF
    clock : also the clock, which only one bridge may publish

    Returns
    -------
    list
        As ros_gz_bridge reads it from a file. Topics of ROS 2 are relative, so that a namespace works; only the clock
        belongs to all.
    """
    entries = []

    def add(kind: str, ros_topic: str, gazebo_topic: str) -> None:
        ros_type, gazebo_type, direction = _KINDS[kind]
        entries.append(
            {
                'ros_topic_name': ros_topic,
                'gz_topic_name': gazebo_topic,
                'ros_type_name': ros_type,
                'gz_type_name': f'{options.version.messages}.{gazebo_type}',
                'direction': direction,
            }
        )

    if clock:
        add('clock', '/clock', '/clock')
    if machine.has_imu:
        add('imu', 'imu/data_raw', options.topic(machine, 'imu'))
    if options.drive == 'ros2_control':  # has joint states and commands of its own
        return entries
    add('joint_states', GAZEBO_JOINT_STATES, options.topic(machine, 'joint_state'))
    for number, name in enumerate(machine.actuated_joint_names, start=1):
        add('command', command_topic(number), options.topic(machine, _COMMANDS[options.drive].format(name)))
    return entries
