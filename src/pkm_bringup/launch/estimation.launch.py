"""The estimator on whatever publishes joint_states and imu/data_raw: simulator, driver or bag."""

from __future__ import annotations

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare
from pkm_bringup.launching import (
    boolean_argument,
    is_installed,
    machine_arguments,
    machine_parameters,
    state_publisher,
    suite_node,
    text,
)


def generate_launch_description() -> LaunchDescription:
    """Start the estimator and the publisher of frames."""
    settings = PathJoinSubstitution([FindPackageShare('pkm_estimation'), 'config', 'estimator.yaml'])
    view = PathJoinSubstitution([FindPackageShare('pkm_description'), 'rviz', 'pkm.rviz'])
    actions = [
        *machine_arguments(),
        DeclareLaunchArgument(
            'estimator_settings', default_value=settings, description='YAML file with its parameters'
        ),
        DeclareLaunchArgument(
            'reliability',
            default_value='best_effort',
            choices=['best_effort', 'reliable'],
            description='of the sensor subscriptions; reliable where no sample may be lost',
        ),
        boolean_argument('state_publisher', 'true', 'publish the frames of all links'),
        boolean_argument('rviz', 'false', 'show the machine in rviz2, if that is installed'),
        suite_node(
            'pkm_estimation',
            'estimator',
            [
                LaunchConfiguration('estimator_settings'),
                machine_parameters(),
                {'reliability': text('reliability')},
            ],
        ),
        state_publisher(
            'platform/joint_states', condition=IfCondition(LaunchConfiguration('state_publisher'))
        ),
    ]
    if is_installed('rviz2'):
        actions.append(
            Node(
                package='rviz2',
                executable='rviz2',
                arguments=['-d', view],
                condition=IfCondition(LaunchConfiguration('rviz')),
            )
        )
    return LaunchDescription(actions)
