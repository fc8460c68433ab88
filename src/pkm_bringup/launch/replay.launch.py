"""Replay a bag through estimator, baseline and identification; ends when the bag ends and all results are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare
from pkm_bringup.launching import included
from pkm_description.launching import (
    CLOCK_ARGUMENT,
    CLOCKED_ARGUMENTS,
    DRIVER_ARGUMENTS,
    PLACE_ARGUMENTS,
    VIEWER_ARGUMENT,
    WINDOW_ARGUMENTS,
    declared,
    input_topics,
    parameter,
    parameters,
    sensor_parameters,
    suite_node,
    viewer,
)

#: what each of the nodes computes again: it is not played
COMPUTED = {
    'estimation': [
        'platform/odometry', 'platform/accel', 'platform/joint_states', 'platform/innovations', 'baseline/odometry',
        'imu/data',
    ],
    'baseline': ['platform/baseline/odometry'],
}

#: what belongs to the nodes that ran when the bag was made
OF_OTHER_NODES = ['robot_description', '/diagnostics', '/tf', '/tf_static']


def _start(context: LaunchContext) -> list[Any]:
    """Start the player, and what shall hear it."""
    value = context.launch_configurations
    joints, imu = input_topics(context)
    listeners, computed, results, services = [], list(OF_OTHER_NODES), [], []
    actions: list[Any] = []
    if value['estimation'] == 'true':
        listeners += [f'{joints} estimator', f'{imu} estimator']
        computed += COMPUTED['estimation']
        results.append('platform/odometry')
        given = (*PLACE_ARGUMENTS, *DRIVER_ARGUMENTS, 'estimator_settings', 'rviz', 'state_publisher')
        actions.append(included('estimation', *given, reliability='reliable', viewer='false'))
    if value['baseline'] == 'true':
        listeners.append(f'{joints} baseline')
        computed += COMPUTED['baseline']
        results += COMPUTED['baseline']
        settings = LaunchConfiguration('estimator_settings')
        heard = [settings, sensor_parameters(), {'reliability': 'reliable'}]
        actions.append(suite_node('pkm_estimation', 'baseline', heard))
    if value['identification'] == 'true':
        if value['loop'] == 'true':
            raise RuntimeError('identification:=true identifies at the end of the bag, which loop:=true does not have')
        listeners.append(f'{joints} identification')
        services = ['identification/identify', 'identification/save']
        actions.append(
            included(
                'identification',
                *DRIVER_ARGUMENTS,
                'output',
                'validation',
                reliability='reliable',
                longest_recording='1e5',
                # as the program identify: all of it, if nothing is said
                excitation=value['excitation'] or '0 1e9',
            )
        )
    if value['record']:
        services.append('recorder/stop')
        listeners += [f'{topic} recorder' for topic in (joints, imu, *results)]
        actions.append(suite_node('pkm_bringup', 'recorder', [sensor_parameters(), {'output': parameter('record')}]))
    namespace = value['bag_namespace'] or value['namespace']
    own = {
        **parameters(bag=str, rate=float, start_offset=float, loop=bool, publish_clock=bool),
        'from_namespace': namespace,
        'exclude': computed,
        'wait_for_topics': sorted({entry.partition(' ')[0] for entry in listeners}) or [''],
        'wait_for_nodes': listeners or [''],
        'wait_for_subscribers': 30.0,
        'wait_for_results': results or [''],
        'services_at_end': services or [''],
    }
    end = Shutdown(reason='the bag is at its end')
    player = suite_node('pkm_bringup', 'player', [sensor_parameters(), own], on_exit=end)
    if value['check_robot'] == 'true':
        return [*actions, _check(value, namespace, player)]
    return [*actions, player]


def _check(value: Mapping[str, str], namespace: str, player: Node) -> Node:
    """Say what is wrong with the recorded streams, then play them."""
    words = [value['machine_file'] or value['machine'], '--bag', value['bag'], '--namespace', namespace]
    for name in ('overlay', *DRIVER_ARGUMENTS):
        if value[name]:
            words += [f'--{name.replace("_", "-")}', value[name]]
    return suite_node('pkm_bringup', 'check_robot', [], arguments=words, on_exit=[player])


def generate_launch_description() -> LaunchDescription:
    """Start player, the nodes that are asked for and, on request, a recorder."""
    settings = PathJoinSubstitution([FindPackageShare('pkm_estimation'), 'config', 'estimator.yaml'])
    return LaunchDescription(
        [
            *declared(**CLOCKED_ARGUMENTS, **PLACE_ARGUMENTS, **DRIVER_ARGUMENTS),
            DeclareLaunchArgument('bag', description='bag directory, .mcap or .db3 file to replay'),
            *declared(
                bag_namespace=('', "namespace of the recorded topics, / for none; empty: the launch's namespace"),
                rate=('1.0', 'speed, 1 is as recorded'),
                start_offset=('0.0', 's to skip at the beginning'),
                loop=('false', 'start again at the end'),
                **CLOCK_ARGUMENT,
                estimation=('true', 'run the estimator on it; false: play the recorded estimates'),
                estimator_settings=(settings, 'YAML file with parameters of the estimator'),
                baseline=('false', 'run the node baseline, which needs no IMU, on it'),
                check_robot=('false', 'first say what is wrong with the recorded streams'),
                identification=('false', 'identify at the end of the bag; see excitation, validation'),
                **WINDOW_ARGUMENTS,
                output=('', 'directory for the identification; ~/.ros if empty'),
                state_publisher=('true', 'publish the frames of all links'),
                rviz=('false', 'show the machine in rviz2, if that is installed'),
                record=('', 'directory of a new bag with the new estimates'),
                **VIEWER_ARGUMENT,
            ),
            viewer(sensor_parameters()),  # before the launch files below are told to start no second one
            OpaqueFunction(function=_start),
        ]
    )
