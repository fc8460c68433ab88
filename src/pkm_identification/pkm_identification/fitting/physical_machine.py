"""The machine that belongs to identified base parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.friction_laws.law import SLIDING_LEVELS
from pkm_description.machine import Machine
from scipy.stats import chi2

from pkm_identification.columns.friction_term import FrictionTerm
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.configuration import EstimatorSettings
from pkm_identification.estimator.estimate import Estimate
from pkm_identification.estimator.feasible import FeasibleParameters, feasible_parameters
from pkm_identification.estimator.feasible_problem import feasible_problem
from pkm_identification.estimator.pseudo_inertia import bodies_by_name
from pkm_identification.fitting.machine_of_parameters import machine_of_parameters
from pkm_identification.judgement.physical import (
    PhysicalParameters,
    infeasibilities,
    nominal_covariance,
    share_out,
)

#: probability of base values of a machine that can exist being as far from it, below which there is none
CHANCE = 1e-6
#: the same of the most probable machine, below which the trust in the nominal bodies contradicts the recording
DOUBT = 1e-3
#: standard deviations by which friction at rest may be below that of motion: chance, both are then written as equal
NEAR = 3.0


def physical_parameters(
    model: ObservationModel, base: BaseParameters, estimate: Estimate, settings: EstimatorSettings
) -> PhysicalParameters:
    """Bodies and friction under the trust in the nominal machine, by the method of the setting ``physical``."""
    nominal = model.parameters(model.machine)
    found = _shared(model, base, estimate, settings) if settings.physical == 'share_out' else _feasible(
        model, base, estimate, settings
    )
    values, texts = _static_above_coulomb(model, found.values, found.std)
    return replace(found, nominal=nominal, values=values, infeasible=(*found.infeasible, *texts))


def _shared(
    model: ObservationModel, base: BaseParameters, estimate: Estimate, settings: EstimatorSettings
) -> PhysicalParameters:
    """Mean of the physical parameters given the base parameters; it may be a machine that cannot exist."""
    believed, nominal = model.all_parameters(model.machine), model.parameters(model.machine)
    prior = nominal_covariance(model.all_names, believed, settings.platform_uncertainty, settings.leg_uncertainty)
    prior = prior[np.ix_(model.free, model.free)]
    values, covariance = share_out(base, estimate.parameters, estimate.covariance, nominal, prior)
    infeasible = list(infeasibilities(bodies_by_name(model.all_names, model.complete(values))))
    friction = {name for term in model.terms if isinstance(term, FrictionTerm) for name in term.names}
    for name, value in zip(model.names, values, strict=True):
        if name in friction and value < 0.0:
            infeasible.append(f'{name}: friction {value:.4g} is negative')
    return PhysicalParameters(model.names, nominal, values, covariance, tuple(infeasible))


def _feasible(
    model: ObservationModel, base: BaseParameters, estimate: Estimate, settings: EstimatorSettings
) -> PhysicalParameters:
    """The most probable machine that can exist, or the one nearest to the base values where they contradict it."""
    problem = feasible_problem(
        base, estimate.parameters, estimate.covariance, model.all_names, model.all_parameters(model.machine),
        platform_uncertainty=settings.platform_uncertainty, leg_uncertainty=settings.leg_uncertainty,
    )  # fmt: skip
    remarks: tuple[str, ...] = ()
    if settings.keep_base_values:
        found = feasible_parameters(problem, settings.physical)
    else:
        found = feasible_parameters(problem, settings.physical, 1.0)
        if _probability(found, base) < DOUBT:
            remarks = (
                'the recording contradicts the trust in the nominal bodies (estimator.platform_uncertainty = '
                f'{settings.platform_uncertainty:g}, leg_uncertainty = {settings.leg_uncertainty:g}): the most '
                f'probable machine under it differs from {_farthest(found, base)}. The machine that keeps the base '
                'parameters is taken; raise the uncertainties that are too small',
            )
            found = feasible_parameters(problem, settings.physical)
    infeasible: tuple[str, ...] = ()
    if _probability(found, base) < CHANCE:
        infeasible = (f'no machine that can exist has these base parameters: the nearest one differs from '
                      f'{_farthest(found, base)}',)  # fmt: skip
    free = model.free
    return PhysicalParameters(
        model.names, model.parameters(model.machine), found.values[free], found.covariance[np.ix_(free, free)],
        infeasible, settings.physical, found.active, remarks,
    )  # fmt: skip


def _probability(found: FeasibleParameters, base: BaseParameters) -> float:
    """Probability that the base values of a machine are identified so far from their true values."""
    return float(chi2.sf(found.chi_square, len(base)))


def _farthest(found: FeasibleParameters, base: BaseParameters) -> str:
    """The base parameter that differs most, and by how much."""
    worst = int(np.argmax(np.abs(found.base_shifts)))
    return f'{base.names[worst]} by {abs(found.base_shifts[worst]):.1f} standard deviations'


def _static_above_coulomb(model: ObservationModel, values: Array, std: Array) -> tuple[Array, tuple[str, ...]]:
    """Friction at rest is at least that of motion: a machine file with less is refused."""
    place = {name: index for index, name in enumerate(model.names)}
    values, found = values.copy(), []
    for name, index in place.items():
        joint, _, kind = name.rpartition('.')
        other = place.get(f'{joint}.{SLIDING_LEVELS.get(kind, "")}')
        if other is None or values[index] >= values[other]:
            continue
        gap = (values[other] - values[index]) / max(float(np.hypot(std[index], std[other])), 1e-300)
        if gap > NEAR:
            found.append(
                f'{joint}: friction at rest {values[index]:.4g} is {gap:.1f} standard deviations below that of motion, '
                f'{values[other]:.4g}'
            )
        values[index] = values[other]
    return values, tuple(found)


def identified_machine(model: ObservationModel, physical: PhysicalParameters) -> Machine:
    """The machine with identified bodies, friction, whose laws may be others than those of its file, and rotors."""
    return machine_of_parameters(model, model.complete(physical.values))
