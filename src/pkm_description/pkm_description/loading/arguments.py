"""Options of the programs that say which machine is meant, and what its driver publishes."""

from __future__ import annotations

import argparse

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

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    machine = load_machine(options.machine, options.overlay, options.driver)
    return machine.on_topics(options.joint_topic, options.imu_topic)
