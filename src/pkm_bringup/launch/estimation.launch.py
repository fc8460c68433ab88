"""The estimator on joint states and IMU from any source: simulator, driver or bag."""

from __future__ import annotations

from launch import LaunchDescription
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare
from pkm_bringup.launching import LISTENER_ARGUMENTS, RELIABILITY_ARGUMENT, died
from pkm_description.launching import (
    DRIVER_ARGUMENTS,
    MACHINE_ARGUMENTS,
    PLACE_ARGUMENTS,
    VIEWER_ARGUMENT,
    declared,
    machine_parameters,
    parameters,
    rviz,
    sensor_parameters,
    state_publisher,
    suite_node,
    viewer,
)


def generate_launch_description() -> LaunchDescription:
    """Start the estimator and the publisher of frames."""
    settings = PathJoinSubstitution([FindPackageShare('pkm_estimation'), 'config', 'estimator.yaml'])
    return LaunchDescription(
        [
            *declared(
                **MACHINE_ARGUMENTS,
                **PLACE_ARGUMENTS,
                **DRIVER_ARGUMENTS,
                estimator_settings=(settings, 'YAML file with its parameters'),
                state_publisher=('true', 'publish the frames of all links'),
                rviz=LISTENER_ARGUMENTS['rviz'],
                **RELIABILITY_ARGUMENT,
                **VIEWER_ARGUMENT,
            ),
            viewer(sensor_parameters()),
            suite_node(
                'pkm_estimation',
                'estimator',
                [LaunchConfiguration('estimator_settings'), sensor_parameters(), parameters(reliability=str)],
                on_exit=died('the estimator has died: no estimate is published any more', ends=False),
            ),
            state_publisher('platform/joint_states', condition=IfCondition(LaunchConfiguration('state_publisher'))),
            suite_node(
                'pkm_description',
                'force_markers',
                [machine_parameters()],
                remappings=[('joint_states', 'platform/joint_states')],
                condition=IfCondition(LaunchConfiguration('rviz')),
            ),
            rviz(
                IfCondition(LaunchConfiguration('rviz')),
                'rviz2 is not installed: frames and leg forces are only published',
            ),
        ]
    )
