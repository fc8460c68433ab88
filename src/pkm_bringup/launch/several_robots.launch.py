"""Several simulated machines side by side: each in a namespace, all in one tf tree, with one clock and one rviz."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    SetLaunchConfiguration,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from pkm_description.errors import ConfigurationError
from pkm_description.launching import (
    boolean_argument,
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

    def value(name: str) -> str:
        return str(LaunchConfiguration(name).perform(context))

    robots = {name: load_machine(machine) for name, machine in _robots(value('robots')).items()}
    sizes = [machine_extent(machine)[1] for machine in robots.values()]
    spacing = float(value('spacing') or SPACING * max(sizes))
    places = spacing * (0.5 * (len(robots) - 1) - np.arange(len(robots)))  # the first is on the left
    actions: list[Any] = []
    for number, (name, machine) in enumerate(robots.items()):
        actions.append(_robot(value, name, str(machine.path), f'0 {places[number]:g} 0 0 0 0', owner=number == 0))
    common: list[Any] = [SetLaunchConfiguration('namespace', '')]
    if value('bag'):
        parameters = {'output': value('bag'), 'storage': value('storage'), 'namespaces': list(robots)}
        common.append(suite_node('pkm_bringup', 'recorder', [parameters]))
    if value('rviz') == 'true':
        shown = [ShownRobot(machine, name, f'{name}/', WORLD) for name, machine in robots.items()]
        common += rviz_of_robots(shown, 'rviz2 is not installed: frames and leg forces are only published')
    return [*actions, GroupAction(common)]


def _robot(value: Callable[[str], str], name: str, machine: str, place: str, owner: bool) -> GroupAction:
    """Simulator, estimator, identification and frames of one robot; ``owner`` sets the time."""
    own = {
        'machine': '', 'machine_file': machine, 'namespace': name, 'frame_prefix': f'{name}/',
        'use_sim_time': value('use_sim_time'),
    }  # fmt: skip

    def include(file: str, **arguments: str) -> GroupAction:
        source = PythonLaunchDescriptionSource(str(Path(get_package_share_directory('pkm_bringup'), 'launch', file)))
        return GroupAction([IncludeLaunchDescription(source, launch_arguments={**own, **arguments}.items())])

    actions: list[Any] = [SetLaunchConfiguration(argument, text) for argument, text in own.items()]
    actions += [SetLaunchConfiguration('overlay', '')]
    actions.append(
        include(
            'simulation.launch.py',
            bag='',  # one for all of them; an included file would take this one's argument of the same name
            publish_clock='true' if owner else 'false',
            **{name: value(name) for name in ('real_time_factor', 'seed', 'start_paused', 'motion', 'motion_duration')},
        )
    )
    actions.append(
        include(
            'estimation.launch.py',
            base_pose=place,
            world_frame=WORLD,
            rviz='false',
            reliability=value('reliability'),
            state_publisher=value('state_publisher'),
        )
    )
    if value('identification') == 'true':
        output = str(Path(value('output') or '~/.ros/pkm_identification').expanduser() / name)
        actions.append(include('identification.launch.py', output=output, reliability=value('reliability')))
    if value('rviz') == 'true':
        remappings = [('joint_states', 'platform/joint_states')]
        actions.append(
            suite_node('pkm_description', 'force_markers', [machine_parameters()], remappings=remappings)
        )
    return GroupAction(actions)


def generate_launch_description() -> LaunchDescription:
    """Start the robots."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'robots',
                default_value='left:srs right:palida',
                description='name:machine of each, with spaces between; a machine is a name or the path of a file',
            ),
            DeclareLaunchArgument(
                'spacing', default_value='', description='m from machine to machine, along y; empty: by their size'
            ),
            boolean_argument('use_sim_time', 'true', 'take the time from /clock'),
            DeclareLaunchArgument(
                'real_time_factor', default_value='1.0', description='speed of the first, which the others follow'
            ),
            DeclareLaunchArgument('seed', default_value='0', description='seed of the sensor noise'),
            boolean_argument('start_paused', 'false', 'wait until the service NAME/simulator/start of each is called'),
            DeclareLaunchArgument('motion', default_value='none', description='motion that each plays once'),
            DeclareLaunchArgument('motion_duration', default_value='60.0', description='its duration, s'),
            DeclareLaunchArgument(
                'reliability',
                default_value='best_effort',
                choices=['best_effort', 'reliable'],
                description='of the sensor subscriptions; reliable where no sample may be lost',
            ),
            boolean_argument('identification', 'false', 'run an identification node for each'),
            DeclareLaunchArgument(
                'output', default_value='', description='directory for the identifications; ~/.ros if empty'
            ),
            DeclareLaunchArgument(
                'bag', default_value='', description='directory of one bag with all robots; none if empty'
            ),
            DeclareLaunchArgument(
                'storage', default_value='mcap', choices=['mcap', 'sqlite3'], description='format of the bag'
            ),
            boolean_argument('state_publisher', 'true', 'publish the frames of all links'),
            boolean_argument('rviz', 'false', 'show all machines in one rviz2, if that is installed'),
            OpaqueFunction(function=_start),
        ]
    )
