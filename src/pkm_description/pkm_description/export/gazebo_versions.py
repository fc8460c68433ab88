"""What differs between the releases of Gazebo: names of systems and messages, elements, commands.

Read in the sources of gz-sim 6.7, 8.14, 9.5 and 10.4 and of gz-sensors 6.1, 6.9, 8, 9 and 10. Names of gz_ros2_control
are in :mod:`pkm_description.export.gazebo_control`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pkm_description.errors import ConfigurationError

Gazebo = Literal['fortress', 'harmonic', 'ionic', 'jetty']


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
