"""What ``gazebo.launch.py`` needs: options of the SDF, the driver file, and which Gazebo is installed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import yaml
from pkm_description.errors import ConfigurationError
from pkm_description.export.rest import start_configuration
from pkm_description.export.sdf_systems import (
    VERSIONS,
    Drive,
    Gazebo,
    GazeboVersion,
    Loop,
    SdfOptions,
    gazebo_version,
    gazebo_version_of_number,
)
from pkm_description.machine import Machine
from pkm_description.viewing.coupled_pose import COORDINATES

#: packages of ROS 2 that connect it with Gazebo
PACKAGES = ('ros_gz_sim', 'ros_gz_bridge')
#: what ros_gz_sim starts, with the version number for which it was built as default
GAZEBO_LAUNCH_FILE = 'gz_sim.launch.py'
_DEFAULT_VERSION = re.compile(r"DeclareLaunchArgument\(\s*'gz_version',\s*default_value='(\d+)")
#: in the directory of the files, for control ros2_control
DRIVER_FILE = 'driver.yaml'
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


def driver_text(machine: Machine, start: Mapping[str, float]) -> str:
    """Driver's settings file: positions count from where the machine starts.

    Parameters
    ----------
    machine : any
    start : coordinates of the platform at the start, as in :class:`~pkm_description.export.sdf_systems.SdfOptions`
    """
    positions = start_configuration(machine, start).joint_positions
    offsets = [positions[name] for name in machine.actuated_joint_names]
    content = {'driver': {'machine': machine.name, 'position': {'offset': offsets}}}
    title = f'# joint states of {machine.name} from Gazebo, whose positions count from where it starts\n'
    return title + str(yaml.safe_dump(content, sort_keys=False))


def chosen_version(wanted: str, launch_file: Path, ros_distribution: str | None = None) -> GazeboVersion:
    """Release of Gazebo that is to be started.

    Parameters
    ----------
    wanted : name of a release, or ``auto``: the one for which the installed ros_gz was built, which its launch file
        says, else the one that belongs to the distribution of ROS 2
    launch_file : of ros_gz_sim
    ros_distribution : default: ``$ROS_DISTRO``

    Raises
    ------
    ConfigurationError
        No such release, or ``auto`` does not find one.
    """
    if wanted != 'auto':
        return gazebo_version(wanted)
    if launch_file.is_file():
        found = _DEFAULT_VERSION.search(launch_file.read_text(encoding='utf-8'))
        if found:
            return gazebo_version_of_number(int(found[1]))
    distribution = os.environ.get('ROS_DISTRO', '') if ros_distribution is None else ros_distribution
    for version in VERSIONS.values():
        if version.ros == distribution:
            return version
    raise ConfigurationError(
        f'which Gazebo is installed is not clear (ROS_DISTRO={distribution!r}): give '
        f'gazebo_version:={"|".join(VERSIONS)}'
    )


def require_gazebo(
    is_installed: Callable[[str], bool],
    version: GazeboVersion | None = None,
    which: Callable[[str], str | None] = shutil.which,
) -> None:
    """Refuse to go on where packages or the program are missing.

    Parameters
    ----------
    is_installed : tells whether a package is there
    version : release whose program is needed; None: look for the packages only
    which : path of a program, None if there is none

    Raises
    ------
    ConfigurationError
        With the names of what is missing and the command that installs it.
    """
    missing = [package for package in PACKAGES if not is_installed(package)]
    if not missing and version is not None and which(version.command[0]) is None:
        missing = [f'the program {version.command[0]}']
    if missing:
        distribution = os.environ.get('ROS_DISTRO') or 'DISTRO'
        pairs = ', '.join(f'{one.ros} has {one.name}' for one in VERSIONS.values())
        raise ConfigurationError(
            f'Gazebo cannot be started: {" and ".join(missing)} missing; '
            f'sudo apt-get install ros-{distribution}-ros-gz ({pairs})'
        )
