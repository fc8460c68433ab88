"""Comparison of identified with true parameters, if these are known (simulation)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import friction_parameter_names
from pkm_description.machine import Machine

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

    Left out are forces that a machine file does not know (offsets, ripples), for it does not state their true values.
    ``true_machine`` must have the geometry of the machine that was identified: base parameters are combinations with
    factors from the geometry.
    """
    truth = result.base.values(_free_parameters(result, true_machine))
    stated = ~(result.base.combination[:, ~_is_stated(result, true_machine)] != 0.0).any(axis=1)
    rows = zip(
        result.base.names,
        result.estimate.parameters,
        result.estimate.std,
        truth,
        result.classification,
        stated,
        strict=True,
    )
    return [ComparisonRow(name, float(p), float(s), float(t), status) for name, p, s, t, status, known in rows if known]


def compare_physical_with_truth(result: IdentificationResult, true_machine: Machine) -> list[ComparisonRow]:
    """Physical parameters (platform mass, friction ...) against the true machine's, in the result's order."""
    physical = result.physical
    truth = _free_parameters(result, true_machine)
    stated = _is_stated(result, true_machine)
    rows = zip(physical.names, physical.values, physical.std, truth, stated, strict=True)
    return [
        ComparisonRow(name, float(p), float(s), float(t), 'given nominal') for name, p, s, t, known in rows if known
    ]


def _free_parameters(result: IdentificationResult, machine: Machine) -> Array:
    return result.model.all_parameters(machine)[result.model.free]


def _is_stated(result: IdentificationResult, machine: Machine) -> NDArray[np.bool_]:
    """Which free parameters (P,) a machine file states: those of its bodies, friction laws and rotors."""
    model = result.model
    own = set(model.all_names[: model.structure_count]) | {f'{j.name}.rotor_inertia' for j in machine.actuated_joints}
    own |= set(friction_parameter_names(machine, joints='all'))
    return np.array([name in own for name in model.names])
