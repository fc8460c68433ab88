"""Identification from recordings to result: the one path that node, command line and Python share."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import scipy
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.machine import Machine

from pkm_identification.columns.observation import ObservationModel
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.estimator import least_squares
from pkm_identification.judgement.force_error import force_error
from pkm_identification.judgement.identifiability import IDENTIFIED, NOT_TRUSTED, WEAK, classify, excited_parameters
from pkm_identification.judgement.lack_of_fit import MissingForce, missing_forces
from pkm_identification.judgement.physical import (
    PhysicalParameters,
    bodies_by_name,
    infeasibilities,
    machine_with,
    nominal_covariance,
    share_out,
)
from pkm_identification.motion_source.filters import kept_rows, parallel_filter
from pkm_identification.prepared_data import REST_REACH, PreparedData, prepare
from pkm_identification.recording.recording import Recording
from pkm_identification.result import (
    COMPLETE,
    INFEASIBLE,
    INSUFFICIENT,
    PARTIAL,
    ForceComparison,
    IdentificationResult,
)

Progress = Callable[[str], None]

#: lags of the residuals' correlation in the covariance: rows are 0.4 periods of the cut-off apart, so this is
#: 2.4 periods
CORRELATION_LAGS = 6


def identify(
    machine_nominal: Machine,
    recording: Recording,
    validation: Recording | None = None,
    config: IdentificationConfig | None = None,
    progress: Progress | None = None,
) -> IdentificationResult:
    """Identify a machine's dynamic parameters.

    Parameters
    ----------
    machine_nominal : geometry, sensor noise, and nominal (prior) parameters
    recording : motion with forces; what it does not excite is named in the result and stays nominal
    validation : another motion, never used for fitting
    config : settings; default :class:`IdentificationConfig`
    progress : called with one line per stage

    Returns
    -------
    IdentificationResult

    Raises
    ------
    RecordingError, NotExcitedError, KinematicsError
        If the data cannot be used, or determine nothing; the message says why.
    """
    config = config or IdentificationConfig()
    say = progress or (lambda text: None)
    model = ObservationModel(machine_nominal, config.identical_legs, config.friction, config.fixed)
    say('base parameters of the structure')
    structure = model.base_parameters(config.rank_tolerance)
    say(f'motion and regressor of {recording.source} ({len(recording.time)} samples)')
    data = prepare(model, recording, config)
    everything = structure.columns(data.row_regressor) * data.row_weights[..., None]
    base, not_excited = excited_parameters(everything, structure)
    rows = base.columns(data.row_regressor)
    say(f'least squares: {int(data.row_weights.sum())} equations, {len(base)} base parameters')
    estimate = least_squares.weighted(rows, data.row_forces, data.row_weights, correlation_lags=CORRELATION_LAGS)
    plain = least_squares.ordinary(rows * data.row_weights[..., None], data.row_forces * data.row_weights)
    bound = least_squares.error_bound(plain, rows * data.row_weights[..., None], data.row_forces * data.row_weights)

    say('physical parameters and validation')
    nominal = model.parameters(machine_nominal)
    physical = _physical(model, base, estimate, nominal, config)
    training = _compare(recording, data, base, estimate.parameters, nominal)
    missing = tuple(missing_forces(data, rows, estimate, training.predicted))
    insufficient = any(force.is_decisive for force in missing)
    held_out = None
    if validation is not None:
        # judged in the band and with the smoothing of the identification
        other = prepare(model, validation, config, data.bands)
        held_out = _compare(validation, other, base, estimate.parameters, nominal)
    classification = classify(estimate, config.max_relative_std)
    if insufficient:
        classification = (NOT_TRUSTED,) * len(base)
    identified = None
    if not physical.infeasible:
        identified = machine_with(machine_nominal, *_complete(model, physical.values))
    if physical.infeasible:
        status = INFEASIBLE
    elif insufficient:
        status = INSUFFICIENT
    else:
        status = COMPLETE if set(classification) == {IDENTIFIED} and not not_excited else PARTIAL
    return IdentificationResult(
        status=status,
        machine=machine_nominal,
        config=replace(config),
        bands=data.bands,
        base=base,
        nominal_base=base.values(nominal),
        estimate=estimate,
        row_time=data.row_time,
        classification=classification,
        not_excited=not_excited,
        missing_forces=missing,
        physical=physical,
        identified_machine=identified,
        bound=bound,
        training=training,
        validation=held_out,
        warnings=(
            *_lacks(missing),
            *_warnings(base, estimate, classification, not_excited, physical, held_out, config, machine_nominal),
        ),
        provenance=_provenance(machine_nominal, recording, validation, config),
    )


def _complete(model: ObservationModel, values: Array) -> tuple[tuple[str, ...], Array]:
    """All parameters, free ones from ``values``, held ones nominal."""
    everything = model.all_parameters(model.machine)
    everything[model.free] = values
    return model.all_names, everything


def _physical(
    model: ObservationModel,
    base: BaseParameters,
    estimate: least_squares.Estimate,
    nominal: Array,
    config: IdentificationConfig,
) -> PhysicalParameters:
    believed = model.all_parameters(model.machine)
    prior = nominal_covariance(model.all_names, believed, config.platform_uncertainty, config.leg_uncertainty)
    prior = prior[np.ix_(model.free, model.free)]
    values, covariance = share_out(base, estimate.parameters, estimate.covariance, nominal, prior)
    names, everything = _complete(model, values)
    infeasible = list(infeasibilities(bodies_by_name(names, everything)))
    for name, value in zip(model.names[model.body_count :], values[model.body_count :], strict=True):
        if value < 0.0:
            infeasible.append(f'{name}: friction {value:.4g} is negative')
    return PhysicalParameters(model.names, nominal, values, covariance, tuple(infeasible))


def _compare(
    recording: Recording, data: PreparedData, base: BaseParameters, parameters: Array, nominal: Array
) -> ForceComparison:
    """Compare measured forces with those of the base parameters and of the nominal machine.

    What the identification data did not excite is predicted with the nominal values.
    """
    believed = data.regressor @ nominal + data.known
    predicted = believed + base.columns(data.regressor) @ (parameters - base.values(nominal))
    cutoff, rate = data.bands.force_cutoff, recording.sample_rate
    return ForceComparison(
        recording.source,
        recording.duration,
        data.time,
        data.forces,
        predicted,
        believed,
        force_error(data.forces, predicted, ~data.resting),
        force_error(
            parallel_filter(data.forces, rate, cutoff),
            parallel_filter(predicted, rate, cutoff),
            kept_rows(data.resting, rate, cutoff, REST_REACH) > 0.0,
        ),
        force_error(data.forces, believed, ~data.resting),
    )


def _lacks(missing: tuple[MissingForce, ...]) -> tuple[str, ...]:
    """What makes the model insufficient: the clearest force, for it explains much of what the others seem to."""
    decisive = [force for force in missing if force.is_decisive]
    if not decisive:
        return ()
    also = '; '.join(force.name for force in decisive[1:])
    return (
        f'the model is insufficient, no base parameter is identified: it most likely lacks {decisive[0].name}; with '
        f'it, base parameters change by up to {decisive[0].shift:.3g} of their standard deviations'
        + (f'. Part of that, or all, may also be: {also}' if also else ''),
    )


def _warnings(
    base: BaseParameters,
    estimate: least_squares.Estimate,
    classification: tuple[str, ...],
    not_excited: tuple[str, ...],
    physical: PhysicalParameters,
    held_out: ForceComparison | None,
    config: IdentificationConfig,
    machine: Machine,
) -> tuple[str, ...]:
    found = []
    weak = [name for name, status in zip(base.names, classification, strict=True) if status == WEAK]
    if weak:
        found.append(
            f'{len(weak)} base parameters '
            f'have a standard deviation above {100 * config.max_relative_std:g} % of their value: '
            + '; '.join(weak)
        )
    if not_excited:
        found.append(
            f'{len(not_excited)} base parameters are not excited by this motion, '
            'they are not identified and stay nominal: ' + '; '.join(not_excited)
        )
    found += [f'physically impossible, no overlay is written: {text}' for text in physical.infeasible]
    if estimate.condition > 1e3:
        found.append(
            f'condition number {estimate.condition:.3g} after column scaling: parameters are strongly correlated'
        )
    correlated = np.abs(estimate.autocorrelation[1]).max()
    if correlated > 0.5:
        found.append(
            f'residuals are correlated from row to row (up to {correlated:.2f}); the model misses something, standard '
            'deviations allow for it only in part'
        )
    if held_out is None:
        found.append('no held-out recording: the force error is that of the fit itself and flatters')
    elif held_out.filtered_error.relative > 0.03:
        found.append(
            f'force error on the held-out motion is {100 * held_out.filtered_error.relative:.1f} % rms, above 3 %'
        )
    return tuple(found)


def _provenance(
    machine: Machine, recording: Recording, validation: Recording | None, config: IdentificationConfig
) -> dict[str, str]:
    """Where the numbers come from; the date is that of the data's first stamp."""
    legs = 'identical legs' if config.identical_legs else 'legs one by one'
    source = {'forward_kinematics': 'forward kinematics of the drive positions', 'estimator': "the estimator's poses"}[
        config.motion_source
    ]
    return {
        'machine': machine.name,
        'machine file': str(machine.path),
        'data': recording.source + (f', {validation.source}' if validation else ''),
        'date': datetime.fromtimestamp(recording.start_stamp / 1e9, tz=UTC).isoformat(timespec='milliseconds'),
        'method': f'weighted least squares on base parameters, {legs}, '
        f'friction of {config.friction} joints, motion from {source}',
        'versions': f'Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}',
    }
