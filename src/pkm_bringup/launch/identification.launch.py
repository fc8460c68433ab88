"""The identification node: records on request or by windows, identifies, writes report and overlay."""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare
from pkm_bringup.launching import reliability_argument
from pkm_description.launching import (
    declared,
    driver_arguments,
    machine_arguments,
    number,
    sensor_parameters,
    suite_node,
    text,
    two_seconds,
    window_arguments,
)


def _nodes(context: LaunchContext) -> list[Node]:
    """Start the node with the arguments given."""
    parameters = {
        'output_directory': text('output'),
        'reliability': text('reliability'),
        'longest_recording': number('longest_recording'),
        'excitation': two_seconds(context, 'excitation'),
        'validation': two_seconds(context, 'validation'),
    }
    settings = LaunchConfiguration('identification_settings')
    return [suite_node('pkm_identification', 'identification', [settings, sensor_parameters(), parameters])]


def generate_launch_description() -> LaunchDescription:
    """Start the identification node."""
    settings = PathJoinSubstitution([FindPackageShare('pkm_identification'), 'config', 'identification.yaml'])
    return LaunchDescription(
        [
            *machine_arguments(),
            *driver_arguments(),
            *declared(
                identification_settings=(settings, 'YAML file with its parameters'),
                output=('', 'directory for report, overlay and numbers; ~/.ros if empty'),
                longest_recording=('600.0', 'longer recordings are cut, s'),
            ),
            reliability_argument(),
            *window_arguments(),
            OpaqueFunction(function=_nodes),
        ]
    )
