"""The identification node: records on request or by windows, identifies, writes report and overlay."""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare
from pkm_bringup.launching import RELIABILITY_ARGUMENT
from pkm_description.launching import (
    DRIVER_ARGUMENTS,
    MACHINE_ARGUMENTS,
    WINDOW_ARGUMENTS,
    declared,
    parameter,
    parameters,
    sensor_parameters,
    suite_node,
    two_seconds,
)


def _nodes(context: LaunchContext) -> list[Node]:
    """Start the node with the arguments given."""
    own = {
        'output_directory': parameter('output'),
        **parameters(reliability=str, longest_recording=float),
        **{name: two_seconds(context, name) for name in WINDOW_ARGUMENTS},
    }
    settings = LaunchConfiguration('identification_settings')
    return [suite_node('pkm_identification', 'identification', [settings, sensor_parameters(), own])]


def generate_launch_description() -> LaunchDescription:
    """Start the identification node."""
    settings = PathJoinSubstitution([FindPackageShare('pkm_identification'), 'config', 'identification.yaml'])
    return LaunchDescription(
        [
            *declared(
                **MACHINE_ARGUMENTS,
                **DRIVER_ARGUMENTS,
                identification_settings=(settings, 'YAML file with its parameters'),
                output=('', 'directory for report, overlay and numbers; ~/.ros if empty'),
                longest_recording=('600.0', 'longer recordings are cut, s'),
                **RELIABILITY_ARGUMENT,
                **WINDOW_ARGUMENTS,
            ),
            OpaqueFunction(function=_nodes),
        ]
    )
