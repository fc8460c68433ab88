"""A driver with everything foreign, for tests: names, order, unit, zero, sign, currents, topics, a gripper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

#: of machine srs; the driver lists its actuators backwards
FOREIGN: dict[str, Any] = {
    'machine': 'srs',
    'joint_topic': 'drives/state',
    'imu_topic': '/xsens/imu',
    'joints': {f'actuator_{number}': f'leg{number}' for number in (3, 2, 6, 5, 4, 1)},
    'ignore': ['gripper*'],
    'position': {'unit': 'mm', 'quantity': 'length'},
    'effort': {'quantity': 'current', 'gain': [812.5, 790.0, 801.25, 805.0, 799.0, 810.0], 'sign': -1},
    'imu': {'acceleration': 'g', 'angular_rate': 'deg/s', 'gravity': 'down'},
}


def write_driver(folder: Path, name: str = 'driver.yaml', **changes: Any) -> Path:
    """Settings file of the driver above, with some of its keys changed; None leaves a key out."""
    content = {key: value for key, value in (FOREIGN | changes).items() if value is not None}
    path = folder / name
    path.write_text(yaml.safe_dump({'driver': content}, sort_keys=False))
    return path
