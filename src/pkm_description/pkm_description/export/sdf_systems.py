"""Gazebo systems (plugins) of the SDF, with the names of the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pkm_description.errors import ConfigurationError
from pkm_description.export.rest import lightest_inertia
from pkm_description.machine import Machine, ServoGains
from pkm_description.machine.machine import without_rotors

Gazebo = Literal['fortress', 'harmonic', 'ionic', 'jetty']
Loop = Literal['detachable', 'native']
#: commands of the driven joints
Drive = Literal['position', 'force', 'ros2_control']
DRIVES: tuple[Drive, ...] = ('position', 'force', 'ros2_control')

#: of a world that is not given a name
WORLD = 'pkm_world'


def gains_without_rotors(machine: Machine) -> ServoGains:
    """Gains with which the machine without rotors has the bandwidth and damping of the one with them.

    Where rotors are most of the inertia, the machine file's gains would make the lighter machine unstable at the
    sampling of a simulator. Compared is the lightest direction of the drives at home.
    """
    if not machine.rotor_inertia.any():
        return machine.servo
    share = lightest_inertia(without_rotors(machine)) / lightest_inertia(machine)
    return ServoGains(share * machine.servo.stiffness, share * machine.servo.damping)


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


# What differs between the releases of Gazebo: names of systems and messages, elements, commands.
#
# Read in the sources of gz-sim 6.7, 8.14, 9.5 and 10.4, of gz-sensors 6.1, 6.9, 8, 9 and 10, and of gz_ros2_control.
@dataclass(frozen=True)
class GazeboVersion:
    """One release.

    Attributes
    ----------
    name : of the release
    major : version number of gz-sim
    ros : distribution of ROS 2 that it belongs to
    messages : package of its message types
    system_file, system_name : of a system, e.g. of ``imu`` and ``Imu``
    detach : element of DetachableJoint with the topic that opens it
    sensor_frame : element of a sensor with the frame that its messages name
    command : program and word that start it
    service : program and word that call its services
    control : file and class of the plugin that runs the controllers of ros2_control
    """

    name: Gazebo
    major: int
    ros: str
    messages: str = 'gz.msgs'
    system_file: str = 'gz-sim-{}-system'
    system_name: str = 'gz::sim::systems::{}'
    detach: str = 'detach_topic'
    sensor_frame: str = 'frame_id'
    command: tuple[str, str] = ('gz', 'sim')
    service: tuple[str, str] = ('gz', 'service')
    control: tuple[str, str] = ('gz_ros2_control-system', 'gz_ros2_control::GazeboSimROS2ControlPlugin')


#: by name, oldest first
VERSIONS: dict[str, GazeboVersion] = {
    version.name: version
    for version in (
        GazeboVersion(
            'fortress', 6, 'humble',
            messages='ignition.msgs',
            system_file='libignition-gazebo-{}-system.so',
            system_name='ignition::gazebo::systems::{}',
            detach='topic',
            sensor_frame='ignition_frame_id',
            command=('ign', 'gazebo'),
            service=('ign', 'service'),
            control=('ign_ros2_control-system', 'ign_ros2_control::IgnitionROS2ControlPlugin'),
        ),
        GazeboVersion('harmonic', 8, 'jazzy', sensor_frame='gz_frame_id'),
        GazeboVersion('ionic', 9, 'kilted'),
        GazeboVersion('jetty', 10, 'lyrical'),
    )
}  # fmt: skip


def gazebo_version(name: str) -> GazeboVersion:
    """Release of a name.

    Raises
    ------
    ConfigurationError
        There is none of this name.
    """
    if name not in VERSIONS:
        raise ConfigurationError(f'Gazebo {name!r} is not known; choose one of {", ".join(VERSIONS)}')
    return VERSIONS[name]


def gazebo_version_of_number(major: int) -> GazeboVersion:
    """Release of a version number of gz-sim.

    Raises
    ------
    ConfigurationError
        Garden (7) and older than Fortress (6) are not supported; newer than the newest known is.
    """
    if major > max(version.major for version in VERSIONS.values()):
        return list(VERSIONS.values())[-1]  # names have not changed since Harmonic
    for version in VERSIONS.values():
        if version.major == major:
            return version
    raise ConfigurationError(
        f'Gazebo {major} is not supported; '
        + ', '.join(f'{version.name} is {version.major}' for version in VERSIONS.values())
    )
