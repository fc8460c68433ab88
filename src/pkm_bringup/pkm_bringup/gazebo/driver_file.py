"""Settings file for joint states that come from Gazebo as they are (gz_ros2_control)."""

from __future__ import annotations

from collections.abc import Mapping

import yaml
from pkm_description.export.rest import start_configuration
from pkm_description.machine import Machine

#: in the directory of the files, for control ros2_control
DRIVER_FILE = 'driver.yaml'


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
