"""Arguments and nodes that the suite's launch files share."""

from __future__ import annotations

from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution, PythonExpression
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

MACHINE_ARGUMENTS = ('machine', 'machine_file', 'overlay', 'namespace', 'use_sim_time')


def boolean_argument(name: str, default: str, description: str) -> DeclareLaunchArgument:
    """Declare an argument that is ``true`` or ``false``."""
    return DeclareLaunchArgument(
        name, default_value=default, description=description, choices=['true', 'false']
    )


def machine_arguments() -> list[DeclareLaunchArgument]:
    """Arguments that every launch file of the package has."""
    return [
        DeclareLaunchArgument(
            'machine', default_value='srs', description='machine of pkm_description, e.g. srs or palida'
        ),
        DeclareLaunchArgument(
            'machine_file', default_value='', description='path of a machine file; takes the place of machine'
        ),
        DeclareLaunchArgument(
            'overlay',
            default_value='',
            description='path of a parameter overlay, e.g. from an identification',
        ),
        DeclareLaunchArgument(
            'namespace', default_value='', description='namespace of all nodes and relative topics'
        ),
        boolean_argument('use_sim_time', 'true', 'take the time from /clock'),
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
    """Node of the suite in the namespace, with the time that the launch was told; named as its program."""
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


def state_publisher(joint_states: str, **options: Any) -> Node:
    """Publish the frames of all links: robot_state_publisher, or the suite's own node."""
    remappings = [('joint_states', joint_states)]
    if not is_installed('robot_state_publisher'):
        parameters = [machine_parameters()]
        return suite_node('pkm_description', 'state_publisher', parameters, remappings=remappings, **options)
    xacro = PathJoinSubstitution([FindPackageShare('pkm_description'), 'urdf', 'pkm.urdf.xacro'])
    machine = ["'", LaunchConfiguration('machine'), "'"]
    file = ["'", LaunchConfiguration('machine_file'), "'"]
    choice = PythonExpression(["'machine_file:=' + ", *file, ' if ', *file, " else 'machine:=' + ", *machine])
    description = ParameterValue(Command(['xacro ', xacro, ' ', choice]), value_type=str)
    return suite_node(
        'robot_state_publisher',
        'robot_state_publisher',
        [{'robot_description': description}],
        remappings=remappings,
        **options,
    )
