"""Machines of the package, loaded once for all tests of a process: they do not change."""

from __future__ import annotations

from functools import cache

from pkm_description.loading import load_machine
from pkm_description.machine import Machine


@cache
def known_machine(name: str) -> Machine:
    """Machine of a name."""
    return load_machine(name)
