"""The identification node: records on request, identifies, writes report and overlay."""

from __future__ import annotations

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare
from pkm_description.launching import machine_arguments, machine_parameters, suite_node, text


def generate_launch_description() -> LaunchDescription:
    """Start the identification node."""
    settings = PathJoinSubstitution([FindPackageShare('pkm_identification'), 'config', 'identification.yaml'])
    return LaunchDescription(
        [
            *machine_arguments(),
            DeclareLaunchArgument(
                'identification_settings', default_value=settings, description='YAML file with its parameters'
            ),
            DeclareLaunchArgument(
                'output',
                default_value='',
                description='directory for report, overlay and numbers; ~/.ros if empty',
            ),
            DeclareLaunchArgument(
                'reliability',
                default_value='best_effort',
                choices=['best_effort', 'reliable'],
                description='of the subscriptions; reliable where no sample may be lost',
            ),
            suite_node(
                'pkm_identification',
                'identification',
                [
                    LaunchConfiguration('identification_settings'),
                    machine_parameters(),
                    {'output_directory': text('output'), 'reliability': text('reliability')},
                ],
            ),
        ]
    )
