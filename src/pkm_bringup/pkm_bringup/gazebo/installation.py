"""Which Gazebo is installed, and what to install where it is missing."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from pkm_description.errors import ConfigurationError
from pkm_description.export.sdf_systems import (
    VERSIONS,
    GazeboVersion,
    gazebo_version,
    gazebo_version_of_number,
)

#: packages of ROS 2 that connect it with Gazebo
PACKAGES = ('ros_gz_sim', 'ros_gz_bridge')
#: what ros_gz_sim starts, with the version number for which it was built as default
GAZEBO_LAUNCH_FILE = 'gz_sim.launch.py'
_DEFAULT_VERSION = re.compile(r"DeclareLaunchArgument\(\s*'gz_version',\s*default_value='(\d+)")


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
