"""Errors of the identified parameters relative to those of the simulated machine, with their limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_bringup.demo.criteria import Criterion, criterion


@dataclass(frozen=True)
class ParameterRow:
    """One identified parameter and its true value."""

    name: str
    value: float
    std: float
    true_value: float

    @property
    def standardised_error(self) -> float:
        """Error in standard deviations."""
        return abs(self.value - self.true_value) / self.std

    @property
    def relative_error(self) -> float:
        """Error as a part of the true value."""
        return float(np.divide(abs(self.value - self.true_value), abs(self.true_value)))


@dataclass(frozen=True)
class IdentificationFigures:
    """What the demo shows of an identification.

    Attributes
    ----------
    base : identifiable base parameters
    unidentified : names of base parameters that the data do not determine
    physical : bodies and friction of the machine file
    held_out_force_error : rms of the force error on the validation motion over the rms of the force
    report, overlay : files written
    """

    base: tuple[ParameterRow, ...]
    unidentified: tuple[str, ...]
    physical: tuple[ParameterRow, ...]
    held_out_force_error: float
    report: str = ''
    overlay: str = ''

    def physical_rows(self, ending: str) -> list[ParameterRow]:
        """Physical parameters whose name has that ending."""
        return [row for row in self.physical if row.name.endswith(ending)]


def judge_identification(figures: IdentificationFigures, excuse: str = '') -> list[Criterion]:
    """Judge base parameters in standard deviations, mass and friction in percent, forces on held-out data."""

    def worst(values: Sequence[float]) -> float:
        return float(np.max(values)) if len(values) else float('nan')

    mass = [row.relative_error for row in figures.physical_rows('platform_link.m')]
    friction = [
        row.relative_error
        for row in [*figures.physical_rows('.viscous'), *figures.physical_rows('.coulomb')]
        if row.true_value != 0.0
    ]
    name = f'base parameters ({len(figures.base)}), largest error'
    return [
        criterion(name, worst([row.standardised_error for row in figures.base]), 3.0, 'std', excuse=excuse),
        criterion('platform mass, error', worst(mass), 0.01, '%', 100.0, excuse=excuse),
        criterion(
            f'friction ({len(friction)}), largest error', worst(friction), 0.05, '%', 100.0, excuse=excuse
        ),
        criterion(
            'force on the held-out motion, rms error',
            figures.held_out_force_error,
            0.03,
            '%',
            100.0,
            excuse=excuse,
        ),
    ]
