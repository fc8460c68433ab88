"""Write what is known of a machine's driver as a settings file, to be kept beside a recording."""

from __future__ import annotations

from pathlib import Path

import yaml

from pkm_description.loading.read_driver import read_driver
from pkm_description.loading.yaml_reader import Section, read_yaml
from pkm_description.machine import Machine
from pkm_description.writing import write_text

#: name of the copy in a bag's folder
COPY = 'driver.yaml'


def keep_driver(machine: Machine, folder: Path) -> None:
    """Write :data:`COPY` into a recording's folder, unless the machine file alone tells how to read the recording.

    Of standard streams of a machine whose file has a driver of its own, it says that they are standard.

    Raises
    ------
    MachineFileError
        The driver's file is not there any more.
    """
    if not machine.driver.is_standard or 'driver' in read_yaml(machine.path):
        write_text(folder / COPY, driver_text(machine))


def driver_text(machine: Machine) -> str:
    """Text of a settings file that says the same of the machine's driver: a copy, where it came from such a file.

    Of the section of a machine file, or of a file whose topics were replaced, the values.

    Raises
    ------
    MachineFileError
        The file is not there any more.
    """
    driver = machine.driver
    if driver.path is None:  # only its topics are not the suite's
        content: dict[str, object] = {}
    else:
        content = dict(read_yaml(driver.path)['driver'])
        if driver.path != machine.path:
            told = read_driver(machine, Section(driver.path, 'driver', content))
            if (told.joint_topic, told.imu_topic) == (driver.joint_topic, driver.imu_topic):
                return driver.path.read_text(encoding='utf-8')
    topics = {'joint_topic': driver.joint_topic, 'imu_topic': driver.imu_topic}
    return yaml.safe_dump({'driver': {**content, 'machine': machine.name, **topics}}, sort_keys=False)
