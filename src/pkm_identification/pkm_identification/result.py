"""Result of an identification, including parameters that were not identified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from types import MappingProxyType

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.errors import Finding
from pkm_description.machine import Machine

from pkm_identification.columns.observation import ObservationModel, legs_agree
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.estimator.bodies import PhysicalParameters
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.fitting.lack_of_fit import MissingForce
from pkm_identification.fitting.model_fit import ModelFit, ShapeEstimate
from pkm_identification.judgement.significance import IMPOSSIBLE, KNOWN, SMALL, WEAK, Significance
from pkm_identification.motion_source.bands import Bands
from pkm_identification.motion_source.interface import Repeatability
from pkm_identification.validation.delivered import DeliveredMachine, DirectDynamics
from pkm_identification.validation.held_out import ForceComparison, Verdict
from pkm_identification.validation.noise_floor import NoiseFloor
from pkm_identification.validation.resampling import ResampledStd

#: all base parameters identified; some weakly or not excited; bodies impossible; the model lacks a force
COMPLETE, PARTIAL, INFEASIBLE, INSUFFICIENT = 'complete', 'partial', 'infeasible', 'model insufficient'


#: fields that hold machines, models and candidates, which others use, too; they are immutable by themselves
_OF_OTHERS = ('machine', 'model', 'identified_machine', 'delivered', 'missing_forces', 'findings')


def _freeze(value: object) -> None:
    """Make the arrays of a value read-only, those of dataclasses and tuples within it, too."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple):
        for part in value:
            _freeze(part)
    elif is_dataclass(value):
        for entry in fields(value):
            _freeze(getattr(value, entry.name))


@dataclass(frozen=True)
class IdentificationResult:
    """Outcome of one identification. Nothing in it is silently replaced by nominal values, and nothing can be changed.

    Attributes
    ----------
    status : ``complete``, ``partial`` (some base parameters weakly excited or not excited), ``infeasible`` (bodies
        cannot exist) or ``model insufficient`` (it lacks a force that changes the base parameters: none is identified)
    machine : nominal machine
    config, bands : settings, and the frequencies that were chosen
    model : columns that were fitted
    base : base parameters that the recording determines; ``base.names`` has the combinations
    nominal_base : (B,) values of the nominal machine
    estimate : values, covariance, residuals at ``row_time``
    shape : nonlinear parameters of friction laws and other forces
    model_parameters : all parameters of the model, in the order of ``model.all_names``; parameters that only their
        combinations in ``base`` determine are the nominal ones with what the combinations change
    row_time : (n,) s
    classification : (B,) ``identified``, ``identified as small``, ``weakly excited``, ``impossible`` or ``model
        insufficient``
    significance : standard deviations beside values and sizes of the bodies, feasibility of each value
    not_excited : base parameters of the structure to which this motion gives no force of their own: not identified
    findings : faults of the recordings, the gravest first, see :mod:`pkm_identification.diagnosis`; with one that gives
        wrong values and that the model does not have, the status is ``model insufficient``
    missing_forces : forces that the model may lack, the clearest first
    added : names of the forces that were added to the model, because the recording shows them
    physical : bodies and friction under the stated trust in the nominal machine
    identified_machine : machine with the physical parameters; ``None`` if they are infeasible
    delivered : machine that file and overlay give, and what an overlay does not carry; ``None`` if it is infeasible
    bound : relative error bound (8) of Heimann & Abdellatif for the ordinary least-squares solution
    training, validation : force comparisons; validation is ``None`` without a second recording
    verdict : of the held-out data, by the declared limits
    noise_floor : residual of the training data beside the noise of the sensors; ``None`` where the motion comes from
        an estimator
    resampled : standard deviations by bootstrap and Monte Carlo, if they were asked for
    direct : simulated against measured motion, if it was asked for (``direct_window``)
    warnings : everything the user should know
    provenance : machine file, data, date, method, versions
    repeatability : mean and variance over the periods, of ``motion.source = 'periods'``
    """

    status: str
    machine: Machine
    config: IdentificationConfig
    model: ObservationModel
    bands: Bands
    base: BaseParameters
    nominal_base: Array
    estimate: Estimate
    shape: ShapeEstimate
    model_parameters: Array
    row_time: Array
    classification: tuple[str, ...]
    significance: Significance
    not_excited: tuple[str, ...]
    findings: tuple[Finding, ...]
    missing_forces: tuple[MissingForce, ...]
    added: tuple[str, ...]
    physical: PhysicalParameters
    identified_machine: Machine | None
    delivered: DeliveredMachine | None
    bound: float
    training: ForceComparison
    validation: ForceComparison | None
    verdict: Verdict
    direct: DirectDynamics | None
    noise_floor: NoiseFloor | None
    resampled: tuple[ResampledStd, ...]
    warnings: tuple[str, ...]
    provenance: Mapping[str, str] = field(default_factory=dict)
    repeatability: Repeatability | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, 'provenance', MappingProxyType(dict(self.provenance)))
        for name in self.__dataclass_fields__:
            if name not in _OF_OTHERS:
                _freeze(getattr(self, name))

    @property
    def has_overlay(self) -> bool:
        """Whether there is an overlay that loads."""
        return self.delivered is not None and not self.delivered.problem

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
        identified = sum(status in KNOWN for status in self.classification)
        count = len(self.base) + len(self.not_excited)
        text = f'{self.status}: {identified} of {count} base parameters identified'
        comparison, kind = (self.validation, 'held-out') if self.validation else (self.training, 'training')
        assert comparison is not None
        return f'{text}, {kind} force error {100 * comparison.error.relative:.2f} % rms'


def lacking(missing: Sequence[MissingForce], floor: NoiseFloor | None) -> tuple[str, ...]:
    """What makes the model insufficient: its residual, and the clearest force that may explain it, and the others.

    Where nothing does: forces that may be there, for which the standard deviations allow.
    """
    if floor is not None and not floor.is_noise:
        names = '; '.join(force.name for force in missing if force.is_there)
        return (
            f'the model is insufficient, no base parameter is identified: {floor}. What it lacks '
            + (f'may be: {names}' if names else 'is none of the forces that were tried'),
        )
    decisive = [force for force in missing if force.is_decisive]
    doubtful = [force for force in missing if force.is_allowed_for]
    if not decisive and doubtful:
        names = '; '.join(f'{force.name} (probability that it is chance {force.probability:.1g})' for force in doubtful)
        return (f'the model may lack, and standard deviations have what that would change: {names}',)
    if not decisive:
        return ()
    also = '; '.join(force.name for force in decisive[1:])
    return (
        f'the model is insufficient, no base parameter is identified: it most likely lacks {decisive[0].name}; with '
        f'it, base parameters change by up to {decisive[0].shift:.3g} of their standard deviations'
        + (f'. Part of that, or all, may also be: {also}' if also else ''),
    )


def remarks(
    fit: ModelFit,
    added: tuple[str, ...],
    classification: tuple[str, ...],
    physical: PhysicalParameters,
    held_out: ForceComparison | None,
    config: IdentificationConfig,
) -> tuple[str, ...]:
    """Everything that the user should know of model, data, parameters and bodies."""
    base, estimate, not_excited = fit.base, fit.estimate, fit.not_excited
    found = [f'added to the model, because the recording shows it: {name}' for name in added]
    if config.columns.identical_legs and not legs_agree(fit.model.machine):
        found.append('the legs of the machine file differ: each leg has parameters of its own')
    open_shapes = [name for name, std in zip(fit.shape.names, fit.shape.std, strict=True) if not np.isfinite(std)]
    if open_shapes:
        found.append('the recording does not determine, so they stay where they began: ' + '; '.join(open_shapes))
    weak, small, impossible = (
        [name for name, status in zip(base.names, classification, strict=True) if status == word]
        for word in (WEAK, SMALL, IMPOSSIBLE)
    )
    if weak:
        found.append(
            f'{len(weak)} base parameters '
            f'have a standard deviation above {100 * config.judgement.max_relative_std:g} % of their value, and above '
            f'{100 * config.judgement.max_scaled_std:g} % of the size of their bodies: ' + '; '.join(weak)
        )
    if small:
        found.append(
            f'{len(small)} base parameters are known to be small beside the size of their bodies (their standard '
            f'deviation is below {100 * config.judgement.max_scaled_std:g} % of it), their values are not: '
            + '; '.join(small)
        )
    found += [
        f'{name}: no real body has a value of this sign, so the model or the recording is wrong' for name in impossible
    ]
    if not_excited:
        found.append(
            f'{len(not_excited)} base parameters are not excited by this motion, '
            'they are not identified and stay nominal: ' + '; '.join(not_excited)
        )
    found += [f'physically impossible, no overlay is written: {text}' for text in physical.infeasible]
    found += physical.remarks
    if physical.active:
        found.append('the machine is at the edge of what can exist: ' + '; '.join(physical.active))
    if estimate.condition > 1e3:
        found.append(
            f'condition number {estimate.condition:.3g} after column scaling: parameters are strongly correlated'
        )
    if held_out is None:
        found.append('no held-out recording: the force error is that of the fit itself and flatters')
    elif held_out.filtered_error.relative > 0.03:
        found.append(
            f'force error on the held-out motion is {100 * held_out.filtered_error.relative:.1f} % rms, above 3 %'
        )
    return tuple(found)
