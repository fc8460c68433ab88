"""A driver with everything foreign: names, order, unit, zero, sign, currents, topics, a gripper; and others like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pkm_description.bounded_yaml import bounded_file
from pkm_description.loading import machine_file

#: the example that comes with the machine
EXAMPLE = machine_file('srs').with_name('driver_example.yaml')
FOREIGN: dict[str, Any] = bounded_file(EXAMPLE)['driver']


def write_driver(folder: Path, name: str = 'driver.yaml', **changes: Any) -> Path:
    """Settings file of the driver above, with some of its keys changed; None leaves a key out."""
    content = {key: value for key, value in (FOREIGN | changes).items() if value is not None}
    path = folder / name
    path.write_text(yaml.safe_dump({'driver': content}, sort_keys=False))
    return path
