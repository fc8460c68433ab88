"""Demo: a simulated hexapod is estimated and identified live, and the results are checked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import (
    OpaqueFunction,
    Shutdown,
)
from pkm_bringup.launching import included
from pkm_description.launching import (
    CLOCKED_ARGUMENTS,
    STANDARD,
    VIEWER_ARGUMENT,
    declared,
    machine_parameters,
    suite_node,
    viewer,
)

#: tracking, excitation, validation, payload: s
DURATIONS = (70.0, 25.0, 20.0, 20.0)
FAST_DURATIONS = (10.0, 8.0, 6.0, 10.0)
_NAMES = ('tracking', 'excitation', 'validation', 'payload')


def _start(context: LaunchContext) -> list[object]:
    """Choose the directory of this run and start everything for it."""
    value = context.launch_configurations
    output = Path(value['output'] or f'results/demo-{datetime.now(UTC):%Y%m%d-%H%M%S}').absolute()
    if output.exists():
        raise RuntimeError(f'{output} exists already and is not overwritten; give another output:=DIRECTORY')
    fast = value['fast'] == 'true'
    given = [value[f'{name}_duration'] for name in _NAMES]
    durations = [
        float(text or default)
        for text, default in zip(given, FAST_DURATIONS if fast else DURATIONS, strict=True)
    ]
    demo = {
        'output': str(output),
        **{f'{name}_duration': duration for name, duration in zip(_NAMES, durations, strict=True)},
        'progress_period': 2.0 if fast else 5.0,
    }
    heard = {'driver': STANDARD, 'reliability': 'reliable'}
    believed = {'overlay': _belief(value), **heard}
    return [
        included(
            'simulation', 'real_time_factor', 'seed', 'storage', driver=STANDARD, viewer='false', start_paused='true',
            bag=str(output / 'bag'),
        ),
        # frames of the links are for the eye only, and cost time
        included('estimation', viewer='false', rviz=value['rviz'], state_publisher=value['rviz'], **heard),
        included('identification', output=str(output / 'identification'), **believed),
        included('online_identification', output=str(output / 'online'), **believed),
        suite_node(
            'pkm_bringup', 'demo', [machine_parameters(), demo], on_exit=Shutdown(reason='the demo has ended')
        ),
    ]


def _belief(value: Mapping[str, str]) -> str:
    """Path of the overlay that only the identification gets; there is one for each machine of the suite."""
    chosen = value['belief']
    if chosen == 'true' or (not chosen and value['machine_file']):
        return value['overlay']
    default = Path(
        get_package_share_directory('pkm_identification'), 'config', f'nominal_{value["machine"]}.yaml'
    )
    return chosen or (str(default) if default.exists() else value['overlay'])


def generate_launch_description() -> LaunchDescription:
    """Start simulator, estimator, identification, recorder and the demo that leads them."""
    return LaunchDescription(
        [
            *declared(
                **CLOCKED_ARGUMENTS,
                output=('', 'directory of this run; default results/demo-<UTC date and time>'),
                belief=(
                    '',
                    'overlay that only the identification gets, so that it cannot be fed the truth; '
                    "default: the suite's, wrong on purpose; true: as simulated",
                ),
                real_time_factor=('1.0', 'speed of the simulation'),
                seed=('0', 'seed of the sensor noise'),
                storage=('mcap', 'format of the bag', ['mcap', 'sqlite3']),
                fast=('false', 'short motions, for a quick look; limits that need time are not judged'),
                tracking_duration=('', 's of motion profile 1; default 70'),
                excitation_duration=('', 's of excitation; default 25'),
                validation_duration=('', 's of validation; default 20'),
                payload_duration=('', 's of the motion with a payload; default 20'),
                rviz=('false', 'show the machine in rviz2, if that is installed'),
                **VIEWER_ARGUMENT,
            ),
            viewer(machine_parameters()),
            OpaqueFunction(function=_start),
        ]
    )
