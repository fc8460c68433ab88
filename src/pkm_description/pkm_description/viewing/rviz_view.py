"""The suite's rviz configuration, with camera and grid for a machine of a given size."""

from __future__ import annotations

import numpy as np
import yaml

from pkm_description.machine import Machine
from pkm_description.viewing.extent import machine_extent


def rviz_config(text: str, machine: Machine) -> str:
    """Rviz configuration ``text`` that shows the whole machine; planar machines are seen from above.

    Desk-top machines and motion bases differ by a factor of ten; rviz itself does not look where the robot is.
    """
    content = yaml.safe_load(text)
    manager = content['Visualization Manager']
    center, size = machine_extent(machine)
    view = manager['Views']['Current']
    view['Distance'] = round(2.0 * size, 3)
    view['Focal Point'] = {axis.upper(): round(float(value), 3) for axis, value in zip('xyz', center, strict=True)}
    if machine.planar:
        view['Pitch'], view['Yaw'] = 1.57, 4.712
    for display in manager['Displays']:
        if display['Class'].endswith('/Grid'):
            display['Cell Size'] = 10.0 ** np.floor(np.log10(0.5 * size)).item()
        elif display['Class'].endswith('/TF'):
            display['Marker Scale'] = round(0.1 * size, 3)
    return str(yaml.safe_dump(content, sort_keys=False))
