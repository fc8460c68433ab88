"""Result of an identification, including parameters that were not identified."""

from __future__ import annotations

from dataclasses import dataclass, field

from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.machine import Machine

from pkm_identification.configuration import IdentificationConfig
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.judgement.force_error import ForceError
from pkm_identification.judgement.lack_of_fit import MissingForce
from pkm_identification.judgement.physical import PhysicalParameters
from pkm_identification.prepared_data import Bands

#: all base parameters identified; some weakly or not excited; bodies impossible; the model lacks a force
COMPLETE, PARTIAL, INFEASIBLE, INSUFFICIENT = 'complete', 'partial', 'infeasible', 'model insufficient'


@dataclass(frozen=True)
class ForceComparison:
    """Measured and predicted leg forces of one recording.

    Attributes
    ----------
    source : recording
    duration : s
    time : (N,) s
    measured, predicted, nominal : (N, L) N; predicted by the identified base parameters, and by the nominal machine
    error : of the raw samples, sensor noise included, without legs at rest (sticking takes any force up to Coulomb's)
    filtered_error : below the force cut-off frequency
    nominal_error : of the nominal machine, raw samples
    """

    source: str
    duration: float
    time: Array
    measured: Array
    predicted: Array
    nominal: Array
    error: ForceError
    filtered_error: ForceError
    nominal_error: ForceError


@dataclass(frozen=True)
class IdentificationResult:
    """Outcome of one identification. Nothing in it is silently replaced by nominal values.

    Attributes
    ----------
    status : ``complete``, ``partial`` (some base parameters weakly excited or not excited), ``infeasible`` (bodies
        cannot exist) or ``model insufficient`` (it lacks a force that changes the base parameters: none is identified)
    machine : nominal machine
    config, bands : settings, and the frequencies that were chosen
    base : base parameters that the recording determines; ``base.names`` has the combinations
    nominal_base : (B,) values of the nominal machine
    estimate : values, covariance, residuals at ``row_time``
    row_time : (n,) s
    classification : (B,) ``identified``, ``weakly excited`` or ``model insufficient``
    not_excited : base parameters of the structure to which this motion gives no force of their own: not identified
    missing_forces : forces that the model may lack, the clearest first
    physical : bodies and friction under the stated trust in the nominal machine
    identified_machine : machine with the physical parameters; ``None`` if they are infeasible
    bound : relative error bound (8) of Heimann & Abdellatif for the ordinary least-squares solution
    training, validation : force comparisons; validation is ``None`` without a second recording
    warnings : everything the user should know
    provenance : machine file, data, date, method, versions
    """

    status: str
    machine: Machine
    config: IdentificationConfig
    bands: Bands
    base: BaseParameters
    nominal_base: Array
    estimate: Estimate
    row_time: Array
    classification: tuple[str, ...]
    not_excited: tuple[str, ...]
    missing_forces: tuple[MissingForce, ...]
    physical: PhysicalParameters
    identified_machine: Machine | None
    bound: float
    training: ForceComparison
    validation: ForceComparison | None
    warnings: tuple[str, ...]
    provenance: dict[str, str] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, float]:
        """Identified base parameters by name."""
        return dict(zip(self.base.names, map(float, self.estimate.parameters), strict=True))

    @property
    def std(self) -> dict[str, float]:
        """Standard deviations of the base parameters by name."""
        return dict(zip(self.base.names, map(float, self.estimate.std), strict=True))

    @property
    def summary(self) -> str:
        """One line for logs and service responses."""
        identified = self.classification.count('identified')
        count = len(self.base) + len(self.not_excited)
        text = f'{self.status}: {identified} of {count} base parameters identified'
        comparison, kind = (self.validation, 'held-out') if self.validation else (self.training, 'training')
        assert comparison is not None
        return f'{text}, {kind} force error {100 * comparison.error.relative:.2f} % rms'
