"""Gazebo: options of the SDF, the driver file, which release is installed; its joints as the drives of the suite."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import yaml
from pkm_description.arrays import Array
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

from pkm_bringup.control.axis_controllers import EffortCommands
from pkm_bringup.simulation.sensors import JointSample, JointSensorModel

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


def chosen_version(wanted: str, launch_file: Path) -> GazeboVersion:
    """Release of Gazebo that is to be started.

    Parameters
    ----------
    wanted : name of a release, or ``auto``: the one for which the installed ros_gz was built, which its launch file
        says, else the one that belongs to the distribution of ROS 2, ``$ROS_DISTRO``
    launch_file : of ros_gz_sim

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
    distribution = os.environ.get('ROS_DISTRO', '')
    for version in VERSIONS.values():
        if version.ros == distribution:
            return version
    raise ConfigurationError(
        f'which Gazebo is installed is not clear (ROS_DISTRO={distribution!r}): give '
        f'gazebo_version:={"|".join(VERSIONS)}'
    )


def require_program(version: GazeboVersion) -> None:
    """Refuse to go on where the program of a release is missing.

    Raises
    ------
    ConfigurationError
        With the name of the program and the command that installs it.
    """
    program = version.command[0]
    if shutil.which(program) is None:
        raise ConfigurationError(
            f'Gazebo cannot be started: the program {program} is missing; sudo apt install ros-{version.ros}-ros-gz'
        )


#: a command counts until the next one, as in Gazebo itself
_NO_TIMEOUT = 2**62


class GazeboDrives:
    """Driven joints of one machine.

    Gazebo counts joint positions from where the machine starts, publishes them at every step and knows no efforts. The
    effort of a sample is the **commanded force**, limited as the machine file says: Gazebo's drives give what they are
    told from its next step on.

    Parameters
    ----------
    machine : with leg sensors, whose rate the samples get
    start : coordinates of the platform at the start, as in :class:`~pkm_description.export.sdf_systems.SdfOptions`
    takes_forces : commands are forces (N, N m), else positions (m, rad), whose forces nobody knows
    seed : of the noise
    noise : add the noise of the machine file's leg sensors

    Attributes
    ----------
    start_positions : (A,) m, rad of the driven joints where Gazebo's are zero
    """

    def __init__(
        self, machine: Machine, start: Mapping[str, float], takes_forces: bool = True, seed: int = 0, noise: bool = True
    ) -> None:
        positions = start_configuration(machine, start).joint_positions
        self.start_positions = np.array([positions[name] for name in machine.actuated_joint_names])
        limits = [joint.limits for joint in machine.actuated_joints]
        if takes_forces:
            self._highest = np.array([limit.effort for limit in limits])
            self._lowest = -self._highest
        else:
            self._highest = np.array([limit.upper for limit in limits])
            self._lowest = np.array([limit.lower for limit in limits])
        self._takes_forces = takes_forces
        self._commands = EffortCommands(machine.actuated_joint_names, _NO_TIMEOUT)
        self._sensors = JointSensorModel(machine.leg_sensors, seed, noise)
        self._period_ns = round(1e9 / machine.leg_sensors.rate)
        self._due_ns = 0

    @property
    def commanded(self) -> bool:
        """Whether a command has come."""
        return self._commands.forces(0) is not None

    def command(self, values: Sequence[float]) -> Array:
        """Take a command (A,) N, N m or m, rad; returns what Gazebo is to be told (A,), within the limits.

        Raises
        ------
        CommandError
            Wrong number of values, or one that is not finite.
        """
        self._commands.receive(values, 0)
        limited = np.clip(np.asarray(values, dtype=float), self._lowest, self._highest)
        return limited if self._takes_forces else limited - self.start_positions

    def is_due(self, stamp_ns: int) -> bool:
        """Whether a joint state of this time is a sample: at the sensors' rate, and again after time went back."""
        if stamp_ns < self._due_ns - self._period_ns:
            self._due_ns = 0
        if stamp_ns < self._due_ns:
            return False
        self._due_ns = (stamp_ns // self._period_ns + 1) * self._period_ns
        return True

    def sample(self, positions: Array, velocities: Array) -> JointSample:
        """Sample of Gazebo's positions and velocities (A,); efforts are NaN where none are known."""
        forces = self._commands.forces(0) if self._takes_forces else None
        efforts = np.full(len(positions), np.nan) if forces is None else np.clip(forces, self._lowest, self._highest)
        return self._sensors.measure(positions + self.start_positions, velocities, efforts)
