"""Arguments and nodes that the suite's launch files share; imported by launch files only."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_package_share_directory
from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from pkm_description.errors import ConfigurationError
from pkm_description.export.ros2_control import ControlOptions
from pkm_description.export.urdf import urdf_text
from pkm_description.loading import load_machine
from pkm_description.loading.read_driver import STANDARD
from pkm_description.ros.frames import BASE_LINK, pose_numbers
from pkm_description.ros.node_settings import FrameSettings, MachineSettings
from pkm_description.settings import Settings, default_of, settings_of
from pkm_description.viewing.rviz_view import ShownRobot, rviz_config
from pkm_description.writing import write_text


def _of(kind: type[Settings], *names: str) -> dict[str, tuple[str, str]]:
    """Default and meaning of settings that a launch file hands on to its nodes."""
    entries = settings_of(kind)
    return {name: (str(default_of(entries[name])), entries[name].metadata['description']) for name in names}


#: arguments that every launch file has, and hands on to those that it includes: default, meaning
MACHINE_ARGUMENTS = {
    **_of(MachineSettings, 'machine', 'machine_file', 'overlay'),
    'namespace': ('', 'namespace of all nodes and relative topics'),
    **_of(FrameSettings, 'frame_prefix'),
    'use_sim_time': ('false', 'take the time from /clock'),
}
#: the same of launch files that set the time, or play what was recorded with it
CLOCKED_ARGUMENTS = MACHINE_ARGUMENTS | {'use_sim_time': ('true', MACHINE_ARGUMENTS['use_sim_time'][1])}
#: of launch files with nodes that read sensors
DRIVER_ARGUMENTS = _of(MachineSettings, 'driver', 'joint_topic', 'imu_topic')
#: of launch files that start :func:`state_publisher`
PLACE_ARGUMENTS = {
    'base_pose': (
        '',
        "place of the machine among others: 'x y z roll pitch yaw' of base_link in world_frame, m and rad; empty: no "
        'such frame',
    ),
    'world_frame': ('world', 'frame in which base_pose is given'),
}
#: of launch files that set the time: one of all programs may
CLOCK_ARGUMENT = {
    'publish_clock': ('true', 'set the time on /clock; false for all but one of several simulators and players')
}
#: which seconds of a stream are for identification and which for validation
WINDOW_ARGUMENTS = {
    'excitation': (
        '', "'t0 t1': seconds from the first joint state to identify from; empty: by the node's services"
    ),
    'validation': ('', "'t0 t1': seconds on which the forces are checked; empty: none"),
}  # fmt: skip
#: of launch files that have :func:`viewer`, and :func:`check_robot`
VIEWER_ARGUMENT = {'viewer': ('false', 'show the robot in a browser: the node prints the address')}
CHECK_ROBOT_ARGUMENT = {'check_robot': ('false', 'say after 10 s of messages what is wrong with the wiring')}


def declared(**arguments: Sequence[Any]) -> list[DeclareLaunchArgument]:
    """Declare arguments by name: default, meaning and, if there are only some, choices.

    What is ``true`` or ``false`` by default takes nothing else.
    """
    found = []
    for name, (default, description, *choices) in arguments.items():
        allowed = ['true', 'false'] if default in ('true', 'false') else choices[0] if choices else None
        found.append(DeclareLaunchArgument(name, default_value=default, description=description, choices=allowed))
    return found


def handed_on(*names: str) -> dict[str, LaunchConfiguration]:
    """Arguments for an included launch file with the values that this one has; besides :data:`MACHINE_ARGUMENTS`."""
    return {name: LaunchConfiguration(name) for name in (*MACHINE_ARGUMENTS, *names)}


def parameter(argument: str, kind: type = str) -> ParameterValue:
    """Launch argument as a parameter of a kind (str, float, int, bool), however it was written."""
    return ParameterValue(LaunchConfiguration(argument), value_type=kind)


def parameters(**kinds: type) -> dict[str, ParameterValue]:
    """Parameters of the same names as launch arguments, by their kinds."""
    return {name: parameter(name, kind) for name, kind in kinds.items()}


def machine_parameters() -> dict[str, Any]:
    """Parameters that tell a node its machine, and how its frames are called.

    Joint states that such a node reads are in the suite's convention, whatever the machine's driver publishes: those of
    the estimator, of a simulation, of sliders.
    """
    return {**parameters(machine=str, machine_file=str, overlay=str, frame_prefix=str), 'driver': STANDARD}


def sensor_parameters() -> dict[str, Any]:
    """:func:`machine_parameters` of a node that reads (or plays) the machine's driver, see :data:`DRIVER_ARGUMENTS`."""
    return {**machine_parameters(), **parameters(driver=str, joint_topic=str, imu_topic=str)}


def suite_node(package: str, executable: str, parameters: list[Any], **options: Any) -> Node:
    """Node in the launch's namespace, with the time that the launch was told; named as its program."""
    return Node(
        package=package,
        executable=executable,
        name=options.pop('name', executable),
        namespace=LaunchConfiguration('namespace'),
        parameters=[*parameters, {'use_sim_time': parameter('use_sim_time', bool)}],
        output='screen',
        **options,
    )


def viewer(parameters: dict[str, Any]) -> Node:
    """The page in the browser, where the argument ``viewer`` wants it; ``parameters`` tell it its machine."""
    wanted = IfCondition(LaunchConfiguration('viewer'))
    return suite_node('pkm_bringup', 'viewer', [parameters], condition=wanted)


def check_robot() -> Node:
    """The check of the wiring, where the argument ``check_robot`` wants it."""
    wanted = IfCondition(LaunchConfiguration('check_robot'))
    return suite_node('pkm_bringup', 'check_robot', [sensor_parameters()], condition=wanted)


def is_installed(package: str) -> bool:
    """Whether a package is there; optional programs are started only if they are."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def machine_and_overlay(context: LaunchContext) -> tuple[str, str | None]:
    """Name or path of the launch's machine, and the path of its overlay, as ``load_machine`` takes them."""
    value = context.launch_configurations
    return value['machine_file'] or value['machine'], value['overlay'] or None


def input_topics(context: LaunchContext) -> tuple[str, str]:
    """Topics of joint states and raw IMU of the launch's machine, as its driver names them."""
    given = context.launch_configurations
    machine = load_machine(*machine_and_overlay(context), given.get('driver') or None)
    driver = machine.on_topics(given.get('joint_topic', ''), given.get('imu_topic', '')).driver
    return driver.joint_topic, driver.imu_topic


def two_seconds(context: LaunchContext, name: str) -> list[float]:
    """Launch argument ``'t0 t1'`` (space, comma or colon between them) as two numbers; zeros if it is empty."""
    text = context.launch_configurations[name]
    words = text.replace(',', ' ').replace(':', ' ').split()
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if not words:
        return [0.0, 0.0]
    if len(numbers) != 2:
        raise ConfigurationError(f"{name}:={text!r}: expected two numbers 't0 t1', seconds from the first joint state")
    return numbers


def state_publisher(joint_states: str, condition: Any = None, control: ControlOptions | None = None) -> OpaqueFunction:
    """Publish description and frames of all links: robot_state_publisher, or the suite's own node.

    Both get the same text, so an overlay is shown by both. With ``control``, the description has a ros2_control block.
    """
    remappings = [('joint_states', joint_states)]

    def choose(context: LaunchContext) -> list[Node]:
        # as text: launch_ros would read a YAML value into it
        description = ParameterValue(urdf_text(load_machine(*machine_and_overlay(context)), control), value_type=str)
        if not is_installed('robot_state_publisher'):
            own = [machine_parameters(), parameters(base_pose=str, world_frame=str)]
            own += [] if control is None else [{'robot_description': description}]
            return [suite_node('pkm_description', 'state_publisher', own, remappings=remappings)]
        own = [{'robot_description': description, **parameters(frame_prefix=str)}]
        program = 'robot_state_publisher'
        return [suite_node(program, program, own, remappings=remappings), *_place(context)]

    return OpaqueFunction(function=choose, condition=condition)


def _place(context: LaunchContext) -> list[Node]:
    """Publish ``base_pose``, if it is given, by tf2_ros, which robot_state_publisher brings."""
    value = context.launch_configurations
    if not value['base_pose']:
        return []
    options = ('--x', '--y', '--z', '--roll', '--pitch', '--yaw')
    numbers = [str(number) for number in pose_numbers(value['base_pose'])]
    arguments = [word for pair in zip(options, numbers, strict=True) for word in pair]
    arguments += ['--frame-id', value['world_frame'], '--child-frame-id', value['frame_prefix'] + BASE_LINK]
    return [suite_node('tf2_ros', 'static_transform_publisher', [], arguments=arguments)]


def rviz(condition: Any, otherwise: str) -> OpaqueFunction:
    """Rviz with the suite's configuration, looking at the launch's machine; where it is not installed, a line."""

    def start(context: LaunchContext) -> list[Node | LogInfo]:
        value, machine = context.launch_configurations, load_machine(*machine_and_overlay(context))
        world = value['world_frame'] if value['base_pose'] else ''
        return rviz_of_robots([ShownRobot(machine, value['namespace'], value['frame_prefix'], world)], otherwise)

    return OpaqueFunction(function=start, condition=condition)


def rviz_of_robots(robots: Sequence[ShownRobot], otherwise: str) -> list[Node | LogInfo]:
    """One rviz that shows several robots; where it is not installed, the line ``otherwise``."""
    if not is_installed('rviz2'):
        return [LogInfo(msg=otherwise)]
    source = Path(get_package_share_directory('pkm_description'), 'rviz', 'pkm.rviz')
    # rviz reads its configuration some time after the launch has started it
    name = '_'.join(robot.machine.name for robot in robots)
    file = Path(tempfile.mkdtemp(prefix='pkm_rviz_'), f'{name}.rviz')
    write_text(file, rviz_config(source.read_text(encoding='utf-8'), *robots))
    lines: list[Node | LogInfo] = [
        LogInfo(msg=f"frame_prefix '{robot.frame_prefix}' does not end in '/': rviz cannot show the robot model")
        for robot in robots
        if not robot.frame_prefix.endswith('/') and robot.frame_prefix
    ]
    return [*lines, suite_node('rviz2', 'rviz2', [], arguments=['-d', str(file)])]
