"""Replay a bag through the estimator; ends when the bag ends."""

from __future__ import annotations

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, Shutdown
from launch.conditions import IfCondition, UnlessCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import (
    EqualsSubstitution,
    LaunchConfiguration,
    PathJoinSubstitution,
    PythonExpression,
)
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare
from pkm_description.launching import (
    PLACE_ARGUMENTS,
    boolean_argument,
    handed_on,
    machine_arguments,
    number,
    place_arguments,
    publish_clock_argument,
    suite_node,
    text,
    truth,
)

#: topics that the estimator computes again
COMPUTED = [
    'platform/odometry',
    'platform/accel',
    'platform/joint_states',
    'baseline/odometry',
    'imu/data',
    'robot_description',
    '/diagnostics',
    '/tf',
    '/tf_static',
]


def generate_launch_description() -> LaunchDescription:
    """Start player, estimator and, on request, a recorder."""
    launch = PathJoinSubstitution([FindPackageShare('pkm_bringup'), 'launch', 'estimation.launch.py'])
    listener = PythonExpression(
        ["'estimator' if '", LaunchConfiguration('estimation'), "' == 'true' else ''"]
    )
    return LaunchDescription(
        [
            *machine_arguments(use_sim_time='true'),
            *place_arguments(),
            DeclareLaunchArgument('bag', description='bag directory, .mcap or .db3 file to replay'),
            DeclareLaunchArgument('rate', default_value='1.0', description='speed, 1 is as recorded'),
            DeclareLaunchArgument(
                'start_offset', default_value='0.0', description='s to skip at the beginning'
            ),
            boolean_argument('loop', 'false', 'start again at the end'),
            publish_clock_argument(),
            boolean_argument('estimation', 'true', 'run the estimator on it'),
            boolean_argument('state_publisher', 'true', 'publish the frames of all links'),
            boolean_argument('rviz', 'false', 'show the machine in rviz2, if that is installed'),
            DeclareLaunchArgument(
                'record', default_value='', description='directory of a new bag with the new estimates'
            ),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(launch),
                launch_arguments={
                    **handed_on(*PLACE_ARGUMENTS),
                    'reliability': 'reliable',
                    'rviz': LaunchConfiguration('rviz'),
                    'state_publisher': LaunchConfiguration('state_publisher'),
                }.items(),
                condition=IfCondition(LaunchConfiguration('estimation')),
            ),
            suite_node(
                'pkm_bringup',
                'recorder',
                [{'output': text('record')}],
                condition=UnlessCondition(EqualsSubstitution(LaunchConfiguration('record'), '')),
            ),
            suite_node(
                'pkm_bringup',
                'player',
                [
                    {
                        'bag': text('bag'),
                        'rate': number('rate'),
                        'start_offset': number('start_offset'),
                        'loop': truth('loop'),
                        'publish_clock': truth('publish_clock'),
                        'exclude': COMPUTED,
                        'wait_for_topics': ['joint_states', 'imu/data_raw'],
                        'wait_for_nodes': ParameterValue(listener, value_type=str),
                        'wait_for_subscribers': 30.0,
                    }
                ],
                on_exit=Shutdown(reason='the bag is at its end'),
            ),
        ]
    )
