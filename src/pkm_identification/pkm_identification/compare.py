"""Comparison of identified with true parameters, if these are known (simulation)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.machine import Machine

from pkm_identification.columns.observation import ObservationModel
from pkm_identification.result import IdentificationResult


@dataclass(frozen=True)
class ComparisonRow:
    """One parameter: ``identified`` with ``std`` against ``truth``; ``status`` as in the result."""

    name: str
    identified: float
    std: float
    truth: float
    status: str

    @property
    def standardised_error(self) -> float:
        """Error in units of its own standard deviation."""
        return (self.identified - self.truth) / self.std

    @property
    def relative_error(self) -> float:
        """Error as a part of the true value; infinite where that is zero."""
        return abs(self.identified - self.truth) / abs(self.truth) if self.truth else float('inf')


def compare_with_truth(result: IdentificationResult, true_machine: Machine) -> list[ComparisonRow]:
    """Base parameters against those of the true machine, in the result's order.

    ``true_machine`` must have the geometry of the machine that was identified: base parameters are combinations with
    factors from the geometry.
    """
    truth = result.base.values(_free_parameters(result, true_machine))
    rows = zip(
        result.base.names,
        result.estimate.parameters,
        result.estimate.std,
        truth,
        result.classification,
        strict=True,
    )
    return [ComparisonRow(name, float(p), float(s), float(t), status) for name, p, s, t, status in rows]


def compare_physical_with_truth(result: IdentificationResult, true_machine: Machine) -> list[ComparisonRow]:
    """Physical parameters (platform mass, friction ...) against the true machine's, in the result's order."""
    physical = result.physical
    truth = _free_parameters(result, true_machine)
    rows = zip(physical.names, physical.values, physical.std, truth, strict=True)
    return [ComparisonRow(name, float(p), float(s), float(t), 'given nominal') for name, p, s, t in rows]


def _free_parameters(result: IdentificationResult, machine: Machine) -> np.ndarray:
    config = result.config
    model = ObservationModel(machine, config.identical_legs, config.friction, config.fixed)
    return model.parameters(machine)
