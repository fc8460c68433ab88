"""What an SDF file is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pkm_description.export.gazebo_versions import Gazebo, GazeboVersion, gazebo_version
from pkm_description.machine import Machine

Loop = Literal['detachable', 'native']
#: commands of the driven joints
Drive = Literal['position', 'force', 'ros2_control']
DRIVES: tuple[Drive, ...] = ('position', 'force', 'ros2_control')

#: of a world that is not given a name
WORLD = 'pkm_world'


@dataclass(frozen=True)
class SdfOptions:
    """What the file is for.

    Attributes
    ----------
    loop : how loops are closed, see :mod:`pkm_description.export.sdf`
    gazebo : whose names the systems (plugins) get
    drive : commands that the driven joints take: positions (PID with the machine file's servo gains; holds the
        machine where it starts), forces, or those of the controllers of ros2_control
    world : a complete world with physics, gravity and light instead of the model alone
    world_name : of the world
    time_step : s, of the physics
    model_name : the machine's name if empty; of several machines in one world each needs its own
    start : coordinates of the platform where it starts, off home: x, y, z [m] and roll, pitch, yaw [rad], as
        ``view_pkm.launch.py`` has them; of open chains joint positions. None of them: at home
    base_pose : x, y, z [m] and roll, pitch, yaw [rad] of ``base_link`` in the world
    frame_prefix : goes before the name of the IMU's frame in its messages
    namespace : of the controller manager of ros2_control
    controllers : path of its parameter file
    """

    loop: Loop = 'detachable'
    gazebo: Gazebo = 'harmonic'
    drive: Drive = 'position'
    world: bool = False
    world_name: str = WORLD
    time_step: float = 0.001
    model_name: str = ''
    start: Mapping[str, float] = field(default_factory=dict)
    base_pose: Sequence[float] = (0.0,) * 6
    frame_prefix: str = ''
    namespace: str = ''
    controllers: str = ''

    @property
    def version(self) -> GazeboVersion:
        """The release of Gazebo."""
        return gazebo_version(self.gazebo)

    def model_name_of(self, machine: Machine) -> str:
        """Name of the model in the world."""
        return self.model_name or machine.name

    def topic(self, machine: Machine, name: str) -> str:
        """Topic of Gazebo that belongs to this model alone."""
        return f'/model/{self.model_name_of(machine)}/{name}'
