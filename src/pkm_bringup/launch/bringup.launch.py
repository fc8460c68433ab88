"""The machine on ros2_control: description, controllers, estimator, leg controller; on request identification.

``hardware`` says what drives it: ``mock`` (commands come back as states), ``mujoco``, ``real`` (the plugin of the
robot's driver), or ``gz``, where Gazebo runs the controller manager and this launch file only starts controllers.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from pkm_bringup.hardware import (
    ControlFiles,
    chosen_controllers,
    needed_packages,
    require_packages,
    write_control_files,
)
from pkm_bringup.launching import (
    LISTENER_ARGUMENTS,
    SERVO_ARGUMENTS,
    died,
    leg_controller,
    listeners,
    servo_parameters,
)
from pkm_description.export.ros2_control import EFFORTS, HARDWARE, ControlOptions, read_hardware_parameters
from pkm_description.launching import (
    CHECK_ROBOT_ARGUMENT,
    DRIVER_ARGUMENTS,
    MACHINE_ARGUMENTS,
    PLACE_ARGUMENTS,
    VIEWER_ARGUMENT,
    check_robot,
    declared,
    is_installed,
    machine_and_overlay,
    sensor_parameters,
    state_publisher,
    suite_node,
    viewer,
)
from pkm_description.loading import load_machine
from pkm_description.loading.read_driver import STANDARD

#: hardware with a clock of its own
SIMULATORS = ('gz', 'mujoco')


def nodes(context: LaunchContext) -> list[Any]:
    """Everything, once it is clear that nothing is missing."""
    value = context.launch_configurations
    machine = load_machine(*machine_and_overlay(context))
    parameters = read_hardware_parameters(value['hardware_parameters'])
    options = ControlOptions(value['hardware'], value['plugin'], parameters, value['gazebo'])
    files = write_control_files(
        machine,
        options,
        Path(tempfile.mkdtemp(prefix='pkm_control_')),
        Path(value['controllers']) if value['controllers'] else None,
        int(value['update_rate']) if value['update_rate'] else None,
        value['frame_prefix'],
    )
    active, inactive = chosen_controllers(files.controllers, value['controllers_active'])
    require_packages(needed_packages(options, files.controllers.values()), is_installed)
    if options.hardware in SIMULATORS:
        context.launch_configurations['use_sim_time'] = 'true'
    # a real machine moves only after somebody has asked for it
    controlled = {'auto': options.hardware != 'real' and EFFORTS in active}.get(
        value['leg_controller'], value['leg_controller'] == 'true'
    )
    servo = servo_parameters(context)
    return [
        state_publisher('platform/joint_states', control=files.options),
        *control_node(files),
        *spawner(active, files),
        *spawner(inactive, files, '--inactive'),
        check_robot(),
        viewer(sensor_parameters()),  # before the launch file below is told to start no second one
        *listeners(value, DRIVER_ARGUMENTS, state_publisher='false'),
        *([leg_controller([sensor_parameters(), *servo])] if controlled else []),
    ]


def control_node(files: ControlFiles) -> list[Any]:
    """Controller manager; Gazebo has its own."""
    hardware = files.options.hardware
    if hardware == 'gz':
        return []
    package = 'mujoco_ros2_control' if hardware == 'mujoco' else 'controller_manager'
    node = suite_node(
        package,
        'ros2_control_node',
        [str(files.path)],
        # a name would be given to all of its nodes
        name=None,
        remappings=[('~/robot_description', 'robot_description')],
        on_exit=died('ros2_control_node has ended: nothing drives the machine', even_well=True),
    )
    return [node]


def spawner(controllers: list[str], files: ControlFiles, *options: str) -> list[Any]:
    """Load controllers, and activate them unless the options say otherwise."""
    if not controllers:
        return []
    words = [*controllers, '--param-file', str(files.path), '--controller-manager-timeout', '60', *options]
    ended = died(f'controllers did not start: {", ".join(controllers)}; see what their spawner says')
    return [suite_node('controller_manager', 'spawner', [], name=None, arguments=words, on_exit=ended)]


def generate_launch_description() -> LaunchDescription:
    """Start the machine."""
    arguments = declared(
        **MACHINE_ARGUMENTS,
        # the controllers publish names and units of the URDF, also where the machine file has a driver
        **DRIVER_ARGUMENTS | {'driver': (STANDARD, DRIVER_ARGUMENTS['driver'][1])},
        **PLACE_ARGUMENTS,
        hardware=('mock', 'what drives the machine', list(HARDWARE)),
        plugin=('', 'class of the hardware interface, e.g. my_robot_driver/MySystem; needed for hardware real'),
        hardware_parameters=('', "of the plugin: 'name=value name=value', or the path of a YAML file"),
        gazebo=('harmonic', 'version of Gazebo, for hardware gz; fortress has own names'),
        controllers=('', 'parameter file of controller_manager and controllers; written for the machine if empty'),
        update_rate=('', "of the control loop, Hz; that of the machine's legs if empty"),
        controllers_active=(
            '',
            'names of the controllers to activate, the others are only loaded; if empty, all but '
            'joint_trajectory_controller',
        ),
        leg_controller=(
            'auto',
            'node leg_controller, which holds the first pose that it measures; auto: not on real hardware',
            ['auto', 'true', 'false'],
        ),
        **LISTENER_ARGUMENTS,
        **CHECK_ROBOT_ARGUMENT,
        **VIEWER_ARGUMENT,
        **SERVO_ARGUMENTS,
    )
    return LaunchDescription([*arguments, OpaqueFunction(function=nodes)])
