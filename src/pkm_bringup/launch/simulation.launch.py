"""The simulated machine: physics, sensors, leg servo; on request a motion and a recording."""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch.conditions import UnlessCondition
from launch.substitutions import EqualsSubstitution, LaunchConfiguration
from launch_ros.actions import Node
from pkm_bringup.launching import died, leg_controller, servo_arguments, servo_parameters
from pkm_description.launching import (
    declared,
    driver_arguments,
    machine_arguments,
    machine_parameters,
    number,
    publish_clock_argument,
    sensor_parameters,
    suite_node,
    text,
    truth,
    viewer,
    viewer_argument,
    whole_number,
)

PROFILES = ['none', 'mp1', 'mp2', 'fourier', 'fourier_validation', 'drives', 'fast_and_slow', 'hold']


def controlled_machine(context: LaunchContext) -> list[Node]:
    """Simulator and, with ``controller:=effort``, the node leg_controller."""
    servo = servo_parameters(context)
    own = {
        'real_time_factor': number('real_time_factor'),
        'seed': whole_number('seed'),
        'noise': truth('noise'),
        'start_paused': truth('start_paused'),
        'controller': text('controller'),
        'publish_clock': truth('publish_clock'),
    }
    # the simulator plays the machine's driver
    ended = died('the simulator has died: there is no machine any more')
    nodes = [suite_node('pkm_bringup', 'simulator', [sensor_parameters(), own, *servo], on_exit=ended)]
    if context.launch_configurations['controller'] == 'effort':
        nodes.append(leg_controller([sensor_parameters(), *servo]))
    return nodes


def generate_launch_description() -> LaunchDescription:
    """Start the simulator."""
    return LaunchDescription(
        [
            *machine_arguments(use_sim_time='true'),
            *driver_arguments(),
            publish_clock_argument(),
            *servo_arguments(),
            *declared(
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
            ),
            viewer_argument(),
            viewer(sensor_parameters()),
            OpaqueFunction(function=controlled_machine),
            suite_node(
                'pkm_bringup',
                'motion_player',
                [machine_parameters(), {'profile': text('motion'), 'duration': number('motion_duration')}],
                condition=UnlessCondition(EqualsSubstitution(LaunchConfiguration('motion'), 'none')),
            ),
            suite_node(
                'pkm_bringup',
                'recorder',
                [sensor_parameters(), {'output': text('bag'), 'storage': text('storage')}],
                condition=UnlessCondition(EqualsSubstitution(LaunchConfiguration('bag'), '')),
            ),
        ]
    )
