"""Several simulated machines side by side: each in a namespace, all in one tf tree, with one clock and one rviz."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from launch import LaunchContext, LaunchDescription
from launch.actions import (
    GroupAction,
    OpaqueFunction,
    SetLaunchConfiguration,
)
from pkm_bringup.launching import RELIABILITY_ARGUMENT, included
from pkm_description.errors import ConfigurationError
from pkm_description.launching import (
    declared,
    machine_parameters,
    rviz_of_robots,
    suite_node,
)
from pkm_description.loading import load_machine
from pkm_description.viewing.rviz_view import ShownRobot, machine_extent

WORLD = 'world'

#: distance between two machines, in sizes of the larger one
SPACING = 1.2


def _robots(text: str) -> dict[str, str]:
    """Machine (name or path) by name of the robot, of ``'left:srs right:palida'``."""
    robots: dict[str, str] = {}
    for entry in text.split():
        name, _, machine = entry.partition(':')
        if not machine or not name.isidentifier() or name in robots:
            raise ConfigurationError(
                f"robots:='{text}': expected name:machine name:machine, e.g. 'left:srs right:palida'; names are "
                'namespaces, each of its own'
            )
        robots[name] = machine
    if not robots:
        raise ConfigurationError("robots:='': name at least one, e.g. 'left:srs right:palida'")
    return robots


def _start(context: LaunchContext) -> list[Any]:
    """Start what each robot needs, then what they have in common."""
    value = context.launch_configurations
    robots = {name: load_machine(machine) for name, machine in _robots(value['robots']).items()}
    sizes = [machine_extent(machine)[1] for machine in robots.values()]
    spacing = float(value['spacing'] or SPACING * max(sizes))
    places = spacing * (0.5 * (len(robots) - 1) - np.arange(len(robots)))  # the first is on the left
    actions: list[Any] = []
    for number, (name, machine) in enumerate(robots.items()):
        actions.append(_robot(value, name, str(machine.path), f'0 {places[number]:g} 0 0 0 0', owner=number == 0))
    common: list[Any] = [SetLaunchConfiguration('namespace', '')]
    if value['bag']:
        parameters = {'output': value['bag'], 'storage': value['storage'], 'namespaces': list(robots)}
        common.append(suite_node('pkm_bringup', 'recorder', [parameters]))
    if value['rviz'] == 'true':
        shown = [ShownRobot(machine, name, f'{name}/', WORLD) for name, machine in robots.items()]
        common += rviz_of_robots(shown, 'rviz2 is not installed: frames and leg forces are only published')
    return [*actions, GroupAction(common)]


def _robot(value: Mapping[str, str], name: str, machine: str, place: str, owner: bool) -> GroupAction:
    """Simulator, estimator, identification and frames of one robot; ``owner`` sets the time."""
    own = {
        'machine': '', 'machine_file': machine, 'overlay': '', 'namespace': name, 'frame_prefix': f'{name}/',
        'use_sim_time': value['use_sim_time'],
    }  # fmt: skip

    actions: list[Any] = [SetLaunchConfiguration(argument, text) for argument, text in own.items()]
    actions.append(
        included(
            'simulation',
            bag='',  # one for all of them; an included file would take this one's argument of the same name
            publish_clock='true' if owner else 'false',
            **{name: value[name] for name in ('real_time_factor', 'seed', 'start_paused', 'motion', 'motion_duration')},
        )
    )
    actions.append(
        included(
            'estimation',
            base_pose=place,
            world_frame=WORLD,
            rviz='false',
            reliability=value['reliability'],
            state_publisher=value['state_publisher'],
        )
    )
    if value['identification'] == 'true':
        output = str(Path(value['output'] or '~/.ros/pkm_identification').expanduser() / name)
        actions.append(included('identification', output=output, reliability=value['reliability']))
    if value['rviz'] == 'true':
        remappings = [('joint_states', 'platform/joint_states')]
        actions.append(
            suite_node('pkm_description', 'force_markers', [machine_parameters()], remappings=remappings)
        )
    return GroupAction(actions)


def generate_launch_description() -> LaunchDescription:
    """Start the robots."""
    return LaunchDescription(
        [
            *declared(
                robots=(
                    'left:srs right:palida',
                    'name:machine of each, with spaces between; a machine is a name or the path of a file',
                ),
                spacing=('', 'm from machine to machine, along y; empty: by their size'),
                use_sim_time=('true', 'take the time from /clock'),
                real_time_factor=('1.0', 'speed of the first, which the others follow'),
                seed=('0', 'seed of the sensor noise'),
                start_paused=('false', 'wait until the service NAME/simulator/start of each is called'),
                motion=('none', 'motion that each plays once'),
                motion_duration=('60.0', 'its duration, s'),
                identification=('false', 'run an identification node for each'),
                output=('', 'directory for the identifications; ~/.ros if empty'),
                bag=('', 'directory of one bag with all robots; none if empty'),
                storage=('mcap', 'format of the bag', ['mcap', 'sqlite3']),
                state_publisher=('true', 'publish the frames of all links'),
                rviz=('false', 'show all machines in one rviz2, if that is installed'),
                **RELIABILITY_ARGUMENT,
            ),
            OpaqueFunction(function=_start),
        ]
    )
