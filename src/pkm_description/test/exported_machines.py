"""Machines on which every export is tested: all that come with the package, and other kinds, written as files."""

from __future__ import annotations

import re
from pathlib import Path

from machine_writer import write_machine
from other_machines import CLOSED, cart_with_pendulum
from pkm_description.bounded_yaml import bounded_file
from pkm_description.loading import load_machine, machine_file, machine_names
from pkm_description.machine import Machine
from uneven_machine import write_uneven_machine

_WRITTEN = {re.sub(r'\W', '_', name): make for name, make in CLOSED.items()} | {'open_chain': cart_with_pendulum}

EXPORTED = [*machine_names(), 'uneven', *_WRITTEN]

#: machines of the package whose legs are not chains alike: xacro refuses their files
NOT_FOR_XACRO = [name for name in machine_names() if 'leg_chain' not in bounded_file(machine_file(name))]
FOR_XACRO = [name for name in EXPORTED if name not in NOT_FOR_XACRO]

#: one of each kind, for what takes long
KINDS = ['srs', 'uneven', 'valencia_3rps', 'khalifa_3prr', '6_PUS', 'open_chain']


def exported_machine(name: str, folder: Path) -> Machine:
    """One of :data:`EXPORTED`; files that are not in the package go into ``folder``."""
    if name == 'uneven':
        return load_machine(write_uneven_machine(folder))
    if name in _WRITTEN:
        return load_machine(write_machine(_WRITTEN[name](), folder))
    return load_machine(name)
