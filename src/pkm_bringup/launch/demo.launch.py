"""Demo: a simulated hexapod is estimated and identified live, and the results are checked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    Shutdown,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from pkm_description.launching import (
    MACHINE_ARGUMENTS,
    STANDARD,
    boolean_argument,
    machine_arguments,
    machine_parameters,
    suite_node,
    viewer,
    viewer_argument,
)

#: tracking, excitation, validation, payload: s
DURATIONS = (70.0, 25.0, 20.0, 20.0)
FAST_DURATIONS = (10.0, 8.0, 6.0, 10.0)
_NAMES = ('tracking', 'excitation', 'validation', 'payload')


def _start(context: LaunchContext) -> list[object]:
    """Choose the directory of this run and start everything for it."""

    def value(name: str) -> str:
        return str(LaunchConfiguration(name).perform(context))

    output = Path(value('output') or f'results/demo-{datetime.now(UTC):%Y%m%d-%H%M%S}').absolute()
    if output.exists():
        raise RuntimeError(f'{output} exists already and is not overwritten; give another output:=DIRECTORY')
    fast = value('fast') == 'true'
    given = [value(f'{name}_duration') for name in _NAMES]
    durations = [
        float(text or default)
        for text, default in zip(given, FAST_DURATIONS if fast else DURATIONS, strict=True)
    ]
    machine = {name: value(name) for name in MACHINE_ARGUMENTS} | {'driver': STANDARD}

    def include(file: str, **arguments: str) -> GroupAction:
        path = str(Path(get_package_share_directory('pkm_bringup'), 'launch', file))
        action = IncludeLaunchDescription(
            PythonLaunchDescriptionSource(path), launch_arguments={**machine, **arguments}.items()
        )
        return GroupAction([action])

    demo = {
        'output': str(output),
        'tracking_duration': durations[0],
        'excitation_duration': durations[1],
        'validation_duration': durations[2],
        'payload_duration': durations[3],
        'progress_period': 2.0 if fast else 5.0,
    }
    return [
        include(
            'simulation.launch.py',
            viewer='false',
            start_paused='true',
            real_time_factor=value('real_time_factor'),
            seed=value('seed'),
            bag=str(output / 'bag'),
            storage=value('storage'),
        ),
        # frames of the links are for the eye only, and cost time
        include(
            'estimation.launch.py',
            viewer='false',
            reliability='reliable',
            rviz=value('rviz'),
            state_publisher=value('rviz'),
        ),
        include(
            'identification.launch.py',
            output=str(output / 'identification'),
            overlay=_belief(value),
            reliability='reliable',
        ),
        include(
            'online_identification.launch.py',
            output=str(output / 'online'),
            overlay=_belief(value),
            reliability='reliable',
        ),
        suite_node(
            'pkm_bringup', 'demo', [machine_parameters(), demo], on_exit=Shutdown(reason='the demo has ended')
        ),
    ]


def _belief(value: Callable[[str], str]) -> str:
    """Path of the overlay that only the identification gets; there is one for each machine of the suite."""
    chosen = value('belief')
    if chosen == 'true' or (not chosen and value('machine_file')):
        return value('overlay')
    default = Path(
        get_package_share_directory('pkm_identification'), 'config', f'nominal_{value("machine")}.yaml'
    )
    return chosen or (str(default) if default.exists() else value('overlay'))


def generate_launch_description() -> LaunchDescription:
    """Start simulator, estimator, identification, recorder and the demo that leads them."""
    return LaunchDescription(
        [
            *machine_arguments(use_sim_time='true'),
            DeclareLaunchArgument(
                'output',
                default_value='',
                description='directory of this run; default results/demo-<UTC date and time>',
            ),
            DeclareLaunchArgument(
                'belief',
                default_value='',
                description='overlay that only the identification gets, so that it cannot be fed the truth; '
                "default: the suite's, wrong on purpose; true: as simulated",
            ),
            DeclareLaunchArgument(
                'real_time_factor', default_value='1.0', description='speed of the simulation'
            ),
            DeclareLaunchArgument('seed', default_value='0', description='seed of the sensor noise'),
            DeclareLaunchArgument(
                'storage', default_value='mcap', choices=['mcap', 'sqlite3'], description='format of the bag'
            ),
            boolean_argument(
                'fast', 'false', 'short motions, for a quick look; limits that need time are not judged'
            ),
            DeclareLaunchArgument(
                'tracking_duration', default_value='', description='s of motion profile 1; default 70'
            ),
            DeclareLaunchArgument(
                'excitation_duration', default_value='', description='s of excitation; default 25'
            ),
            DeclareLaunchArgument(
                'validation_duration', default_value='', description='s of validation; default 20'
            ),
            DeclareLaunchArgument(
                'payload_duration', default_value='', description='s of the motion with a payload; default 20'
            ),
            boolean_argument('rviz', 'false', 'show the machine in rviz2, if that is installed'),
            viewer_argument(),
            viewer(machine_parameters()),
            OpaqueFunction(function=_start),
        ]
    )
