"""Arguments and nodes that the suite's launch files share; imported by launch files only."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_package_share_directory
from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from pkm_description.export.urdf import urdf_text
from pkm_description.loading import load_machine
from pkm_description.viewing.rviz_view import rviz_config

MACHINE_ARGUMENTS = ('machine', 'machine_file', 'overlay', 'namespace', 'use_sim_time')


def boolean_argument(name: str, default: str, description: str) -> DeclareLaunchArgument:
    """Declare an argument that is ``true`` or ``false``."""
    return DeclareLaunchArgument(name, default_value=default, description=description, choices=['true', 'false'])


def machine_arguments(use_sim_time: str = 'true') -> list[DeclareLaunchArgument]:
    """Arguments that every launch file of the suite has."""
    return [
        DeclareLaunchArgument(
            'machine', default_value='srs', description='machine of pkm_description, e.g. srs or palida'
        ),
        DeclareLaunchArgument(
            'machine_file', default_value='', description='path of a machine file; takes the place of machine'
        ),
        DeclareLaunchArgument(
            'overlay', default_value='', description='path of a parameter overlay, e.g. from an identification'
        ),
        DeclareLaunchArgument('namespace', default_value='', description='namespace of all nodes and relative topics'),
        boolean_argument('use_sim_time', use_sim_time, 'take the time from /clock'),
    ]


def text(name: str) -> ParameterValue:
    """Launch argument as a string parameter."""
    return ParameterValue(LaunchConfiguration(name), value_type=str)


def number(name: str) -> ParameterValue:
    """Launch argument as a float parameter, however it was written."""
    return ParameterValue(LaunchConfiguration(name), value_type=float)


def whole_number(name: str) -> ParameterValue:
    """Launch argument as an integer parameter."""
    return ParameterValue(LaunchConfiguration(name), value_type=int)


def truth(name: str) -> ParameterValue:
    """Launch argument as a boolean parameter."""
    return ParameterValue(LaunchConfiguration(name), value_type=bool)


def machine_parameters() -> dict[str, Any]:
    """Parameters that tell a node its machine."""
    return {'machine': text('machine'), 'machine_file': text('machine_file'), 'overlay': text('overlay')}


def suite_node(package: str, executable: str, parameters: list[Any], **options: Any) -> Node:
    """Node in the launch's namespace, with the time that the launch was told; named as its program."""
    return Node(
        package=package,
        executable=executable,
        name=options.pop('name', executable),
        namespace=LaunchConfiguration('namespace'),
        parameters=[*parameters, {'use_sim_time': truth('use_sim_time')}],
        output='screen',
        **options,
    )


def is_installed(package: str) -> bool:
    """Whether a package is there; optional programs are started only if they are."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def machine_and_overlay(context: LaunchContext) -> tuple[str, str | None]:
    """Name or path of the launch's machine, and the path of its overlay, as ``load_machine`` takes them."""
    name, file, overlay = (
        LaunchConfiguration(argument).perform(context) for argument in ('machine', 'machine_file', 'overlay')
    )
    return file or name, overlay or None


def state_publisher(joint_states: str, condition: Any = None) -> OpaqueFunction:
    """Publish description and frames of all links: robot_state_publisher, or the suite's own node.

    Both get the same text, so an overlay is shown by both.
    """
    remappings = [('joint_states', joint_states)]

    def choose(context: LaunchContext) -> list[Node]:
        if not is_installed('robot_state_publisher'):
            parameters = [machine_parameters()]
            return [suite_node('pkm_description', 'state_publisher', parameters, remappings=remappings)]
        # as text: launch_ros would read a YAML value into it
        description = ParameterValue(urdf_text(load_machine(*machine_and_overlay(context))), value_type=str)
        parameters = [{'robot_description': description}]
        program = 'robot_state_publisher'
        return [suite_node(program, program, parameters, remappings=remappings)]

    return OpaqueFunction(function=choose, condition=condition)


def rviz(condition: Any, otherwise: str) -> OpaqueFunction | LogInfo:
    """Rviz with the suite's configuration, looking at the launch's machine; where it is not installed, a line."""
    if not is_installed('rviz2'):
        return LogInfo(msg=otherwise, condition=condition)

    def start(context: LaunchContext) -> list[Node]:
        machine = load_machine(*machine_and_overlay(context))
        source = Path(get_package_share_directory('pkm_description'), 'rviz', 'pkm.rviz')
        # rviz reads its configuration some time after the launch has started it
        file = Path(tempfile.mkdtemp(prefix='pkm_rviz_'), f'{machine.name}.rviz')
        file.write_text(rviz_config(source.read_text(encoding='utf-8'), machine), encoding='utf-8')
        return [suite_node('rviz2', 'rviz2', [], arguments=['-d', str(file)])]

    return OpaqueFunction(function=start, condition=condition)
