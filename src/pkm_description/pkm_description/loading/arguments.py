"""Options of the programs that say which machine is meant, and what its driver publishes."""

from __future__ import annotations

import argparse
from pathlib import Path

from pkm_description.loading.driver_file import COPY
from pkm_description.loading.load import load_machine
from pkm_description.machine import Machine


def add_driver_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--driver``, ``--joint-topic`` and ``--imu-topic``."""
    parser.add_argument(
        '--driver', help="settings file of the machine's driver; 'standard': none, whatever the machine file says"
    )
    parser.add_argument('--joint-topic', default='', help="topic of the joint states (default: the driver's)")
    parser.add_argument('--imu-topic', default='', help="topic of the raw IMU (default: the driver's)")


def machine_of_options(options: argparse.Namespace) -> Machine:
    """Machine of the options ``machine`` and ``overlay`` and of those of :func:`add_driver_arguments`.

    Without ``--driver`` the settings count that the recorder left in the folder of the bag (option ``bag``).

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    driver = options.driver or _kept_with(getattr(options, 'bag', None))
    machine = load_machine(options.machine, options.overlay, driver)
    return machine.on_topics(options.joint_topic, options.imu_topic)


def _kept_with(bag: str | None) -> Path | None:
    if not bag or not (kept := Path(bag) / COPY).is_file():
        return None
    print(f'driver: {kept}, kept with the recording (--driver standard: none)')
    return kept
