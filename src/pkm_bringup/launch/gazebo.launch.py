"""The machine in Gazebo: world, bridge to ROS 2, drives, estimator; on request identification.

``control`` says what drives the machine: ``effort`` (node ``leg_controller``, as on a real machine; Gazebo waits until
it commands), ``position`` (Gazebo's own controllers, which hold the start), or ``ros2_control`` (gz_ros2_control).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import (
    ExecuteProcess,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node
from pkm_bringup.gazebo import (
    CONTROLS,
    DRIVER_FILE,
    GAZEBO_LAUNCH_FILE,
    PACKAGES,
    chosen_version,
    driver_text,
    require_program,
    sdf_options,
)
from pkm_bringup.hardware import require_packages, write_control_files
from pkm_bringup.launching import (
    LISTENER_ARGUMENTS,
    SERVO_ARGUMENTS,
    included,
    leg_controller,
    listeners,
    servo_parameters,
)
from pkm_description.export.gazebo_files import write_gazebo_files
from pkm_description.export.ros2_control import EFFORTS, JOINT_STATES, ControlOptions
from pkm_description.export.sdf_systems import VERSIONS, SdfOptions
from pkm_description.launching import (
    CLOCK_ARGUMENT,
    CLOCKED_ARGUMENTS,
    PLACE_ARGUMENTS,
    VIEWER_ARGUMENT,
    declared,
    is_installed,
    machine_and_overlay,
    machine_parameters,
    parameters,
    suite_node,
    viewer,
)
from pkm_description.loading import load_machine
from pkm_description.loading.read_driver import STANDARD
from pkm_description.machine import Machine
from pkm_description.viewing.coupled_pose import COORDINATES


def start(context: LaunchContext) -> list[Any]:
    """Write the files and start everything, once it is clear that nothing is missing."""
    value = context.launch_configurations
    require_packages(PACKAGES, is_installed)
    gazebo_launch = Path(get_package_share_directory('ros_gz_sim'), 'launch', GAZEBO_LAUNCH_FILE)
    version = chosen_version(value['gazebo_version'], gazebo_launch)
    require_program(version)
    machine = load_machine(*machine_and_overlay(context))
    directory = Path(value['directory'] or tempfile.mkdtemp(prefix='pkm_gazebo_'))
    options = sdf_options(machine, version.name, value, directory)
    files = write_gazebo_files(machine, options, directory, clock=value['publish_clock'] == 'true')
    context.launch_configurations['use_sim_time'] = 'true'
    model = options.model_name_of(machine)

    def world_control(request: str, on_exit: list[Any] | None = None) -> ExecuteProcess:
        """Call of the world's service that stops and starts the time."""
        types = ['--reqtype', f'{version.messages}.WorldControl', '--reptype', f'{version.messages}.Boolean']
        command = [*version.service, '-s', f'/world/{options.world_name}/control', *types]
        return ExecuteProcess(
            cmd=[*command, '--timeout', '5000', '--req', request], output='screen', on_exit=on_exit
        )

    waits = value['control'] == 'effort'
    if value['start_gazebo'] == 'true':
        words = ['-s'] * (value['gui'] == 'false') + ['-r'] * (not waits) + ['-v', value['verbosity']]
        source = PythonLaunchDescriptionSource(str(gazebo_launch))
        given = {'gz_args': ' '.join([*words, str(files.world)]), 'on_exit_shutdown': 'true'}
        begin: list[Any] = [IncludeLaunchDescription(source, launch_arguments=given.items())]
    else:
        words = ['-world', options.world_name, '-file', str(files.model), '-name', model]
        for letter, coordinate in zip('xyzRPY', options.base_pose, strict=True):
            words += [f'-{letter}', str(coordinate)]
        spawn = Node(package='ros_gz_sim', executable='create', arguments=words, output='screen')
        begin = [world_control('pause: true', [spawn])] if waits else [spawn]
    bridge = suite_node(
        'ros_gz_bridge', 'parameter_bridge', [{'config_file': str(files.bridge)}], name='gazebo_bridge'
    )
    return [
        viewer(machine_parameters()),  # before the launch files below are told to start no second one
        LogInfo(msg=f'Gazebo {version.name}: model {model} in world {options.world_name}, files in {directory}'),
        *begin,
        bridge,
        *(
            _ros2_control(machine, options, directory)
            if value['control'] == 'ros2_control'
            # gazebo_drives publishes in the suite's convention
            else [*_drives(value, servo_parameters(context), world_control), *listeners(value, driver=STANDARD)]
        ),
    ]


def _ros2_control(machine: Machine, options: SdfOptions, directory: Path) -> list[Any]:
    """Controllers in Gazebo, and what works on them; the IMU comes over the bridge, with the stamps of its samples."""
    control = ControlOptions('gz', gazebo=options.gazebo)
    controllers = write_control_files(machine, control, directory, frame_prefix=options.frame_prefix).path
    driver = directory / DRIVER_FILE
    driver.write_text(driver_text(machine, options.start), encoding='utf-8')
    names = (*PLACE_ARGUMENTS, 'estimation', 'identification', 'output', 'rviz')
    given = {'hardware': 'gz', 'gazebo': options.gazebo, 'viewer': 'false', 'driver': str(driver)}
    active = f'{JOINT_STATES} {EFFORTS}'
    return [included('bringup', *names, controllers=str(controllers), controllers_active=active, **given)]


def _drives(value: dict[str, str], servo: list[dict[str, Any]], world_control: Any) -> list[Any]:
    """What commands the machine over the bridge."""
    own = parameters(control=str, noise=bool, seed=int, **dict.fromkeys(COORDINATES, float))
    drives = [suite_node('pkm_bringup', 'gazebo_drives', [machine_parameters(), own])]
    if value['control'] == 'effort':
        # the machine would fall until its controller has started
        run = [world_control('pause: false')]
        drives.append(suite_node('pkm_bringup', 'wait_for_commands', [], on_exit=run))
        drives.append(leg_controller([machine_parameters(), *servo]))
    return drives


def generate_launch_description() -> LaunchDescription:
    """Start the machine in Gazebo."""
    coordinates = {
        name: ('0.0', f'start of the platform from home, {"m" if name in "xyz" else "rad"}') for name in COORDINATES
    }
    arguments = declared(
        **CLOCKED_ARGUMENTS,
        **PLACE_ARGUMENTS,
        gazebo_version=(
            'auto', 'release of Gazebo; auto: the one for which the installed ros_gz was built', ['auto', *VERSIONS]
        ),
        control=('effort', 'what drives the machine, see above', list(CONTROLS)),
        **coordinates,
        time_step=('0.001', 'of the physics, s'),
        loop=(
            'detachable',
            'how loops are closed; native: engines refuse it up to gz-physics 9',
            ['detachable', 'native'],
        ),
        world_name=('pkm_world', 'name of the world'),
        start_gazebo=('true', 'start a server; false: add the machine to the world that runs'),
        **CLOCK_ARGUMENT,
        gui=('false', "start Gazebo's window, too"),
        verbosity=('2', 'of the messages of Gazebo, 0 to 4'),
        noise=('true', 'noise of the leg sensors as in the machine file; the IMU always has it'),
        seed=('0', 'seed of that noise'),
        directory=('', 'where to keep the files for Gazebo and the bridge'),
        **LISTENER_ARGUMENTS,
        **VIEWER_ARGUMENT,
        **SERVO_ARGUMENTS,
    )
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])
