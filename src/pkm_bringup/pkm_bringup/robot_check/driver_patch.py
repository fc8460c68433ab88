"""Lines of a driver's settings file that mend what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import yaml
from pkm_description.arrays import Array
from pkm_description.machine import Machine


@dataclass
class DriverPatch:
    """Section ``driver`` that grows with the findings.

    Attributes
    ----------
    machine : whose driver it is
    content : the section so far
    """

    machine: Machine
    content: dict[str, Any] = field(default_factory=dict)

    def add(self, key: str, value: Any) -> str:
        """Add ``key`` (dotted for a key inside a section) and return the lines of this entry alone."""
        section, _, name = key.rpartition('.')
        target = self.content.setdefault(section, {}) if section else self.content
        target[name] = value
        alone = {section: {name: value}} if section else {name: value}
        return _dump({'driver': {'machine': self.machine.name} | alone})

    def add_all(self, entries: dict[str, Any]) -> str:
        """Add several entries and return the lines of all of them."""
        part = DriverPatch(self.machine)
        for key, value in entries.items():
            self.add(key, value)
            part.add(key, value)
        return part.text()

    def joints(self, names: Sequence[str]) -> str:
        """Add the map of names (A), by drive, and return its lines."""
        return self.add('joints', dict(zip(names, self.machine.drive_labels, strict=True)))

    def by_leg(self, values: Array) -> Any:
        """One number if all drives have the same, else leg: number."""
        numbers = [_round(value) for value in np.asarray(values, dtype=float)]
        if len(set(numbers)) == 1:
            return numbers[0]
        return dict(zip(self.machine.drive_labels, numbers, strict=True))

    def text(self) -> str:
        """The whole file; empty if nothing was added."""
        if not self.content:
            return ''
        return _dump({'driver': {'machine': self.machine.name} | self.content})


def _round(value: float) -> float | int:
    short = float(f'{value:.6g}')
    return int(short) if short in (1.0, -1.0) else short


def _dump(content: dict[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=110).rstrip()
