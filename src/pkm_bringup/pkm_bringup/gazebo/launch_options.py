"""Options of the SDF from the arguments of ``gazebo.launch.py``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pkm_description.errors import ConfigurationError
from pkm_description.export.sdf_systems import Drive, Gazebo, Loop, SdfOptions
from pkm_description.machine import Machine
from pkm_description.viewing.coupled_pose import COORDINATES

#: what drives the machine -> what the joints in Gazebo take
DRIVES: dict[str, Drive] = {'effort': 'force', 'position': 'position', 'ros2_control': 'ros2_control'}
CONTROLS = tuple(DRIVES)

#: in the directory of the files, for control ros2_control
CONTROLLERS_FILE = 'controllers.yaml'


def model_name(machine: Machine, namespace: str) -> str:
    """Name of the machine's model: of each of several robots in one world another one."""
    words = [*namespace.strip('/').split('/'), machine.name]
    return '_'.join(word for word in words if word)


def sdf_options(machine: Machine, gazebo: Gazebo, values: Mapping[str, str], directory: Path) -> SdfOptions:
    """Options for the values of the launch arguments.

    Raises
    ------
    ConfigurationError
        A value that should be a number is none.
    """
    pose = [_number('base_pose', word) for word in values['base_pose'].replace(',', ' ').split()] or [0.0] * 6
    if len(pose) != 6:
        raise ConfigurationError(f'base_pose:={values["base_pose"]!r}: give x y z roll pitch yaw, m and rad')
    step = _number('time_step', values['time_step'])
    if step <= 0.0:
        raise ConfigurationError(f'time_step:={step}: a positive number of seconds is needed')
    return SdfOptions(
        loop=cast(Loop, values['loop']),
        gazebo=gazebo,
        drive=DRIVES[values['control']],
        world_name=values['world_name'],
        time_step=step,
        model_name=model_name(machine, values['namespace']),
        start={name: _number(name, values[name]) for name in COORDINATES},
        base_pose=pose,
        frame_prefix=values['frame_prefix'],
        namespace=values['namespace'],
        controllers=str(directory / CONTROLLERS_FILE),
    )


def _number(name: str, text: Any) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f'{name}:={text!r}: a number is needed') from None
