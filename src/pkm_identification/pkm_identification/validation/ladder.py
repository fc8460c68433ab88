"""A ladder of models over one pair of recordings: fewer parameters, and what each costs in held-out error.

Mata et al. (2008, section 6.2) descend from all base parameters of a robot to the few that a recording determines, and
find hardly more force error, but parameters that mean something. The same for any machine: all base parameters, the
significant ones, the legs as drawn, friction alone, nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, Indices
from pkm_description.machine import Machine, RigidBody
from pkm_description.machine.machine import with_joints

from pkm_identification.columns.observation import ObservationModel, observation_model
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.estimator.interface import estimator_after
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.estimator.pseudo_inertia import is_inertial
from pkm_identification.fitting.model_fit import ModelFit, fit_model
from pkm_identification.fitting.physical_machine import physical_parameters
from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.fitting.shape_search import CORRELATION_LAGS
from pkm_identification.judgement.force_error import ForceError
from pkm_identification.judgement.significance import IDENTIFIED, classify
from pkm_identification.preparation import PreparedData, prepare
from pkm_identification.recording.recording import Recording
from pkm_identification.validation.held_out import compare_forces, require_other_data


@dataclass(frozen=True)
class Rung:
    """One model of the ladder.

    Attributes
    ----------
    name : in words
    parameters : fitted base parameters
    identified : how many of them keep the published rule (standard deviation over value)
    condition : of the observation matrix, columns of unit norm; NaN without parameters
    training, held_out : force errors below the force cut-off
    feasible : whether a machine that can exist has such values; ``None`` where there is no such machine by construction
    base, estimate : what was fitted; ``None`` without parameters
    """

    name: str
    parameters: int
    identified: int
    condition: float
    training: ForceError
    held_out: ForceError
    feasible: bool | None
    base: BaseParameters | None
    estimate: Estimate | None


def model_ladder(
    machine: Machine,
    recording: Recording,
    validation: Recording,
    config: IdentificationConfig | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Rung]:
    """Fit the models of the ladder to one recording, and judge each on another.

    Parameters
    ----------
    machine : with nominal parameters
    recording, validation : two motions
    config : settings; the model of the first rung is theirs, nothing is added to it
    progress : called with one line per rung

    Raises
    ------
    RecordingError, NotExcitedError, KinematicsError
        As :func:`pkm_identification.identify`.
    """
    config = config or IdentificationConfig()
    require_other_data(recording, validation)
    model = observation_model(machine, config, recording.drive_positions, recording.sample_rate)
    data = prepare(model, recording, config)
    other = prepare(model, validation, config, data.bands)
    rungs = []
    for rung in _rungs(data, other, model, config):
        rungs.append(rung)
        if progress is not None:
            progress(f'{rung.name}: {rung.parameters} parameters')
    return rungs


def _rungs(
    data: PreparedData, other: PreparedData, model: ObservationModel, config: IdentificationConfig
) -> Iterator[Rung]:
    whole = fit_model(data, model, config)
    yield _rung('all base parameters', data, other, whole, whole.parameters, whole.base, whole.estimate, config)
    kept, estimate = significant(whole, data.row_weights, config)
    values = whole.base.values(model.parameters(model.machine))
    values[kept] = estimate.parameters
    parameters = _with_base_values(whole, values)
    base = replace(
        whole.base, independent=whole.base.independent[kept], combination=whole.base.combination[kept]
    )
    yield _rung('significant ones, others nominal', data, other, whole, parameters, base, estimate, config)
    bodies = sorted({name.rpartition('.')[0] for name in model.all_names[model.inertial]} - {'platform_link'})
    held = list(dict.fromkeys([*config.columns.fixed, *(f'{body}.*' for body in bodies)]))
    rungs = [('legs nominal', model.machine, held), ('legs without mass', _light(model.machine), held)]
    everything = [name for name in model.all_names if is_inertial(name)]
    if len(everything) < len(model.all_names):
        rungs.append(('friction and drives only', model.machine, everything))
    for name, legs, fixed in rungs:
        less = ObservationModel(legs, model.identical_legs, model.friction, fixed, model.terms)
        own, its = data.with_model(less), other.with_model(less)
        fit = fit_model(own, less, config)
        yield _rung(name, own, its, fit, fit.parameters, fit.base, fit.estimate, config, legs is model.machine)
    yield _rung('nominal machine', data, other, whole, model.all_parameters(model.machine), None, None, config)


def significant(fit: ModelFit, row_weights: Array, config: IdentificationConfig) -> tuple[Indices, Estimate]:
    """Backward elimination: the parameter with the largest standard deviation over value goes, until all keep the rule.

    One that goes is held at its nominal value, as the drawings have it.

    Returns
    -------
    kept : (K,) places of the base parameters that stay
    estimate : of these
    """
    estimator = estimator_after(config.estimator.method, fit.noise, CORRELATION_LAGS)
    nominal = fit.base.values(fit.model.parameters(fit.model.machine))
    kept = np.arange(len(fit.base))
    while True:
        gone = np.setdiff1d(np.arange(len(fit.base)), kept)
        estimate = estimator(fit.rows[..., kept], fit.row_forces - fit.rows[..., gone] @ nominal[gone], row_weights)
        relative = estimate.std / np.maximum(np.abs(estimate.parameters), 1e-300)
        worst = int(np.argmax(relative))
        if relative[worst] <= config.judgement.max_relative_std or len(kept) == 1:
            return kept, estimate
        kept = np.delete(kept, worst)


def _with_base_values(fit: ModelFit, values: Array) -> Array:
    """All parameters of the fitted model with other base values (B,)."""
    model, free = fit.model, fit.parameters[fit.model.free].copy()
    free[fit.base.independent] += values - fit.base.values(free)
    parameters = fit.parameters.copy()
    parameters[model.free] = free
    return parameters


def _rung(
    name: str, data: PreparedData, other: PreparedData, fit: ModelFit, parameters: Array, base: BaseParameters | None,
    estimate: Estimate | None, config: IdentificationConfig, real: bool = True,
) -> Rung:  # fmt: skip
    model = fit.model
    errors = [
        compare_forces(one, model, parameters, predicted_efforts(model, one, parameters), None).filtered_error
        for one in (data, other)
    ]
    feasible: bool | None = None
    if base is not None and estimate is not None and real:
        feasible = not physical_parameters(model, base, estimate, config.estimator).infeasible
    words = () if estimate is None else classify(estimate, config.judgement.max_relative_std)
    return Rung(
        name, 0 if base is None else len(base), words.count(IDENTIFIED),
        np.nan if estimate is None else estimate.condition, errors[0], errors[1], feasible, base, estimate,
    )  # fmt: skip


def _light(machine: Machine) -> Machine:
    """The same machine, whose legs weigh nothing."""
    return with_joints(machine, lambda joint: replace(joint, body=RigidBody(joint.body.name)))


def ladder_table(rungs: list[Rung]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows of the ladder as text."""
    header = (
        'model', 'parameters', 'identified', 'condition', 'training eps_RA', 'held-out eps_RA', 'held-out rms', 'real',
    )  # fmt: skip
    words = {True: 'yes', False: 'no', None: '-'}
    return header, [
        (
            rung.name, str(rung.parameters), str(rung.identified), f'{rung.condition:.4g}',
            f'{100 * rung.training.relative_absolute:.3g} %', f'{100 * rung.held_out.relative_absolute:.3g} %',
            f'{100 * rung.held_out.relative:.3g} %', words[rung.feasible],
        )
        for rung in rungs
    ]  # fmt: skip
