"""The simulated machine: physics, sensors, leg servo; on request a motion and a recording."""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch.conditions import UnlessCondition
from launch.substitutions import EqualsSubstitution, LaunchConfiguration
from launch_ros.actions import Node
from pkm_bringup.launching import SERVO_ARGUMENTS, died, leg_controller, servo_parameters
from pkm_description.launching import (
    CLOCK_ARGUMENT,
    CLOCKED_ARGUMENTS,
    DRIVER_ARGUMENTS,
    VIEWER_ARGUMENT,
    declared,
    machine_parameters,
    parameter,
    parameters,
    sensor_parameters,
    suite_node,
    viewer,
)

PROFILES = ['none', 'mp1', 'mp2', 'fourier', 'fourier_validation', 'drives', 'fast_and_slow', 'hold']


def controlled_machine(context: LaunchContext) -> list[Node]:
    """Simulator and, with ``controller:=effort``, the node leg_controller."""
    servo = servo_parameters(context)
    own = parameters(
        real_time_factor=float, seed=int, noise=bool, start_paused=bool, controller=str, publish_clock=bool
    )
    # the simulator plays the machine's driver
    ended = died('the simulator has died: there is no machine any more')
    nodes = [suite_node('pkm_bringup', 'simulator', [sensor_parameters(), own, *servo], on_exit=ended)]
    if context.launch_configurations['controller'] == 'effort':
        nodes.append(leg_controller([sensor_parameters(), *servo]))
    return nodes


def generate_launch_description() -> LaunchDescription:
    """Start the simulator."""
    motion = {'profile': parameter('motion'), 'duration': parameter('motion_duration', float)}
    return LaunchDescription(
        [
            *declared(
                **CLOCKED_ARGUMENTS,
                **DRIVER_ARGUMENTS,
                **CLOCK_ARGUMENT,
                **SERVO_ARGUMENTS,
                real_time_factor=('1.0', 'speed; 0 is as fast as possible'),
                seed=('0', 'seed of the sensor noise'),
                noise=('true', 'noise and bias of the sensors as in the machine file'),
                start_paused=('false', 'wait at t = 0 until the service ~/start is called'),
                controller=(
                    'platform_reference',
                    "platform_reference: the simulator's own servo; effort: node leg_controller",
                    ['platform_reference', 'effort'],
                ),
                motion=('none', 'motion to play once', PROFILES),
                motion_duration=('60.0', 'its duration, s'),
                bag=('', 'directory of a bag to record; none if empty'),
                storage=('mcap', 'format of the bag', ['mcap', 'sqlite3']),
                **VIEWER_ARGUMENT,
            ),
            viewer(sensor_parameters()),
            OpaqueFunction(function=controlled_machine),
            suite_node(
                'pkm_bringup',
                'motion_player',
                [machine_parameters(), motion],
                condition=UnlessCondition(EqualsSubstitution(LaunchConfiguration('motion'), 'none')),
            ),
            suite_node(
                'pkm_bringup',
                'recorder',
                [sensor_parameters(), {'output': parameter('bag'), **parameters(storage=str)}],
                condition=UnlessCondition(EqualsSubstitution(LaunchConfiguration('bag'), '')),
            ),
        ]
    )
