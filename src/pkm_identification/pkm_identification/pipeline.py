"""Identification from recordings to result: the one path that node, command line and Python share."""

from __future__ import annotations

import platform
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np
import scipy
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError, State
from pkm_description.machine import Machine
from pkm_description.report.words import now_in_words, time_of_data

from pkm_identification.columns.joint_terms import DRIVE_INERTIA, LOAD_FRICTION, OFFSET, Form
from pkm_identification.columns.observation import observation_model
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.diagnosis.diagnose import diagnose
from pkm_identification.errors import NotConvergedError, NotExcitedError
from pkm_identification.estimator import least_squares
from pkm_identification.estimator.bodies import nominal_covariance, share_out
from pkm_identification.fitting.aliases import aliases, allowing_for
from pkm_identification.fitting.extension import extended_fit
from pkm_identification.fitting.lack_of_fit import with_doubtful_forces
from pkm_identification.fitting.model_fit import ModelFit, fit_model, is_late, time_limit
from pkm_identification.fitting.physical_machine import identified_machine, physical_parameters
from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.judgement.significance import KNOWN, NOT_TRUSTED, body_scale, significance
from pkm_identification.motion_source.by_name import motion_source
from pkm_identification.motion_source.sticking import WIDEST
from pkm_identification.preparation import PreparedData, prepare
from pkm_identification.recording.recording import Recording
from pkm_identification.result import (
    COMPLETE,
    INFEASIBLE,
    INSUFFICIENT,
    PARTIAL,
    IdentificationResult,
    lacking,
    remarks,
)
from pkm_identification.validation.delivered import delivered_machine, direct_dynamics, forces_beyond_overlay
from pkm_identification.validation.held_out import FAILED, compare_forces, judge, require_other_data
from pkm_identification.validation.noise_floor import noise_floor
from pkm_identification.validation.resampling import ResampledStd, block_bootstrap, monte_carlo

#: factor from band to band, and part by which errors must become smaller
WIDER, WORTH = np.sqrt(2.0), 0.05
#: part of the samples in which drives stick, from which the band matters
OFTEN = 0.05
#: estimators in words
_METHODS = {
    'gls': 'generalised least squares', 'wls': 'weighted least squares', 'ls': 'least squares',
    'rls': 'recursive least squares',
}  # fmt: skip
Progress = Callable[[str], None]


def identify(
    machine_nominal: Machine,
    recording: Recording,
    validation: Recording | None = None,
    config: IdentificationConfig | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> IdentificationResult:
    """Identify a machine's dynamic parameters.

    Parameters
    ----------
    machine_nominal : geometry, sensor noise, and nominal (prior) parameters
    recording : motion with forces; what it does not excite is named in the result and stays nominal
    validation : another motion, never used for fitting
    config : settings; default :class:`IdentificationConfig`
    progress : called with one line per stage
    executor : runs the repetitions of Monte Carlo; default: one after another

    Returns
    -------
    IdentificationResult

    Raises
    ------
    RecordingError, NotExcitedError, KinematicsError
        If the data cannot be used, or determine nothing, or the validation data are those of the fit; the message says
        why.
    """
    config = config or IdentificationConfig()
    if validation is not None:
        require_other_data(recording, validation)
    say = progress or (lambda text: None)
    model = observation_model(machine_nominal, config, recording.drive_positions, recording.sample_rate)
    # first, while nothing else is in memory: it is what needs most of it
    say(f'diagnosis of {recording.source} ({len(recording.time)} samples)')
    findings = diagnose(machine_nominal, recording)
    if validation is not None:
        others = diagnose(machine_nominal, validation)
        findings += [replace(one, sentence=f'{validation.source}: {one.sentence}') for one in others]
    for finding in findings:
        say(str(finding))
    say(f'motion and regressor of {recording.source}')
    data = prepare(model, recording, config)
    if data.repeatability is not None:
        say(data.repeatability.summary)
    say(f'least squares: {int(data.row_weights.sum())} equations')
    with time_limit(config.columns.time_limit):
        data, fit = in_a_fitting_band(recording, data, fit_model(data, model, config), config)
        data, fit, missing, added = extended_fit(data, fit, config, say)
        until = f'columns.time_limit = {config.columns.time_limit:g} s were over'
        notes = (f'the model was extended until {until}: more may be missing',) if is_late() else ()
    if not fit.is_settled:
        notes = (f'the fit had not settled when {until}: no base parameter is identified',)
    fit = with_unknown_loads(data, fit)
    fit = replace(fit, estimate=with_doubtful_forces(fit.estimate, missing))
    model, base, estimate = fit.model, fit.base, fit.estimate
    weights = data.row_weights
    plain = least_squares.ordinary(fit.rows * weights[..., None], fit.row_forces * weights)
    bound = least_squares.error_bound(plain, fit.rows * weights[..., None], fit.row_forces * weights)

    say('physical parameters and validation')
    nominal = model.parameters(machine_nominal)
    physical = physical_parameters(model, base, estimate, config.estimator)
    floor = noise_floor(data, model, fit.parameters, data.efforts() - fit.efforts, config)
    insufficient = not (floor is None or floor.is_noise) or any(force.is_decisive for force in missing)
    insufficient |= not fit.is_settled or any(one.state is State.WRONG for one in findings)
    identified = None if physical.infeasible else identified_machine(model, physical)
    delivered = None if identified is None else delivered_machine(model, identified)
    training = compare_forces(data, model, fit.parameters, fit.efforts, delivered)
    held_out, judged_data = None, data
    if validation is not None:
        # judged in the band and with the smoothing of the identification
        judged_data = prepare(model, validation, config, data.bands)
        efforts = predicted_efforts(model, judged_data, fit.parameters)
        held_out = compare_forces(judged_data, model, fit.parameters, efforts, delivered)
    verdict = judge(held_out, training, delivered, config.judgement, machine_nominal.drive_labels)
    direct, not_simulated = None, ''
    if config.judgement.direct_window > 0.0 and delivered is not None:
        say(f'direct dynamics of {judged_data.recording.source}')
        extra = forces_beyond_overlay(model, judged_data, fit.parameters)
        try:
            direct = direct_dynamics(delivered.machine, judged_data, extra, config.judgement.direct_window)
        except KinematicsError as error:
            not_simulated = f'the machine as delivered leaves its workspace under the measured efforts: {error}'
    resampled = _resampled(data, fit, config, say, executor)
    scale = body_scale(base, nominal, fit.rows, fit.row_forces, weights)
    known = significance(base, estimate, scale, config.judgement.max_relative_std, config.judgement.max_scaled_std)
    unknown = [name for name, status in zip(base.names, known.status, strict=True) if status not in KNOWN]
    classification = (NOT_TRUSTED,) * len(base) if insufficient else known.status
    if insufficient:
        status = INSUFFICIENT
    elif physical.infeasible:
        status = INFEASIBLE
    else:
        status = PARTIAL if unknown or fit.not_excited else COMPLETE
    return IdentificationResult(
        status=status,
        machine=machine_nominal,
        config=replace(config),
        model=model,
        bands=data.bands,
        base=base,
        nominal_base=base.values(nominal),
        estimate=estimate,
        shape=fit.shape,
        model_parameters=fit.parameters,
        row_time=data.row_time,
        classification=classification,
        significance=known,
        not_excited=fit.not_excited,
        findings=tuple(findings),
        missing_forces=tuple(missing),
        added=added,
        physical=physical,
        identified_machine=identified,
        delivered=delivered,
        bound=bound,
        training=training,
        validation=held_out,
        verdict=verdict,
        direct=direct,
        noise_floor=floor,
        resampled=resampled,
        warnings=(
            *map(str, findings),
            *lacking(missing, floor),
            *notes,
            *remarks(fit, added, classification, physical, held_out, config),
            *map(str, aliases(data, fit, unknown)),
            *(term.note for term in model.terms if term.note),
            *([str(verdict)] if verdict.status == FAILED else []),
            *(text for one in resampled for text in one.disagreements(base.names, estimate.std)),
            *([not_simulated] if not_simulated else []),
        ),
        provenance=provenance_of(machine_nominal, recording, validation, config),
        repeatability=data.repeatability,
    )


def _resampled(
    data: PreparedData, fit: ModelFit, config: IdentificationConfig, say: Progress, executor: Executor | None
) -> tuple[ResampledStd, ...]:
    """Standard deviations by repetition, as far as they are asked for."""
    judgement, found = config.judgement, []
    if judgement.bootstrap:
        say(f'block bootstrap with {judgement.bootstrap} repetitions')
        found.append(block_bootstrap(fit, data.row_weights, judgement.bootstrap, judgement.seed))
    if judgement.monte_carlo:
        say(f'Monte Carlo with {judgement.monte_carlo} repetitions')
        found.append(monte_carlo(data, fit, config, judgement.monte_carlo, judgement.seed, executor))
    return tuple(found)


def provenance_of(
    machine: Machine, recording: Recording, validation: Recording | None, config: IdentificationConfig
) -> dict[str, str]:
    """Where the numbers come from; the date is that of the run, the data have their own clock."""
    legs = 'identical legs' if config.columns.identical_legs else 'legs one by one'
    source = motion_source(config.motion).title
    return {
        'machine': machine.name,
        'machine file': str(machine.path),
        'data': recording.source + (f', {validation.source}' if validation else ''),
        'date': now_in_words(),
        'time of the data': time_of_data(recording.start_stamp),
        'method': f'{_METHODS[config.estimator.method]} on base parameters, {legs}, '
        f'friction of {config.columns.friction} joints, motion from {source}',
        'versions': f'Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}',
    }


# Friction that grows with the drive's force, where that force is not known: part of it may be the sensor's offset, or
# the rotor's.
#
# What a motion tells is the sum of the force that a drive passes on and of what it does not pass on. Most offsets look
# like bodies, and so do rotors: forces tell the sum of a rotor and the arm that it turns. The fit takes offsets for
# loads, and rotors that it does not tell from bodies as the machine file states them. If the offset is the sensor's, or
# the rotor another one, then the load is another one, and friction by its coefficient times that: with the same sign
# of the load, an offset makes it Coulomb friction. Offsets are of the size of Coulomb friction, or of the estimated
# one where it is smaller; rotors of which only sums with bodies are known may be as wrong as data sheets are. The
# deviations allow for both.
#: relative standard deviation of rotors, and of the bodies with which they make sums, in files
DATA_SHEET = 0.3


def with_unknown_loads(data: PreparedData, fit: ModelFit) -> ModelFit:
    """The fit with deviations that allow for forces which the drives may not pass on; see the module."""
    if LOAD_FRICTION.kind not in fit.model.kinds:
        return fit
    coefficients = next(
        values for term, values in fit.model.with_parameters(fit.parameters) if term.kind == LOAD_FRICTION.kind
    )

    def changes(form: Form, deviations: Array) -> Array:
        def friction(part: slice) -> Array:  # (N, A) per unit of coefficient and of the force that is not passed on
            samples = fit.samples[part]
            return np.asarray(np.sign(samples.passed_on) * samples.signs * form.force(samples))

        rows = data.joint_rows(friction, np.arange(len(coefficients)))
        return np.asarray(fit.weighed(data.row_weights).moved_by(rows) * coefficients @ deviations)

    allowed = fit
    if OFFSET.kind in fit.model.kinds:
        allowed = allowing_for(allowed, changes(OFFSET, np.diag(_sizes(fit))))
    if DRIVE_INERTIA.kind in fit.model.kinds:
        allowed = allowing_for(allowed, changes(DRIVE_INERTIA, _rotor_deviations(fit)))
    return allowed


def _rotor_deviations(fit: ModelFit) -> Array:
    """What the base parameters leave open of the rotors (A, A): ``D D'`` is their covariance."""
    model, names = fit.model, [f'{joint.name}.{DRIVE_INERTIA.parameter}' for joint in fit.model.machine.actuated_joints]
    nominal, free = model.all_parameters(model.machine), model.free
    prior = nominal_covariance(model.all_names, nominal, DATA_SHEET, DATA_SHEET)
    found = np.zeros((len(names), len(names)))
    own = [place for place, name in enumerate(names) if name in model.names]
    places = [model.all_names.index(names[place]) for place in own]
    prior[places, places] = (DATA_SHEET * nominal[places]) ** 2
    spread = share_out(
        fit.base, fit.estimate.parameters, fit.estimate.covariance, nominal[free], prior[np.ix_(free, free)]
    )[1]
    columns = [model.names.index(names[place]) for place in own]
    sizes, axes = np.linalg.eigh(spread[np.ix_(columns, columns)])
    found[np.ix_(own, own)] = axes * np.sqrt(np.maximum(sizes, 0.0))
    return found


def _sizes(fit: ModelFit) -> Array:
    """Offsets (A,) N or N m that are possible."""
    base = list(fit.base.names)
    fitted = dict(zip(fit.model.all_names, fit.parameters.tolist(), strict=True))
    possible = []
    for joint in fit.model.machine.actuated_joints:
        size = abs(fitted.get(f'{joint.name}.coulomb', joint.friction.coulomb))
        name = f'{joint.name}.{OFFSET.parameter}'
        if name in base:  # by itself, not in a sum with bodies
            place = base.index(name)
            size = min(size, float(np.hypot(fit.estimate.parameters[place], fit.estimate.std[place])))
        possible.append(size)
    return np.array(possible)


# The band of the motion where drives stick: as wide as the residuals ask for.
#
# Below its cut-off the low-pass of the motion takes from forces and columns alike. But what a drive does while it
# sticks is left out, before the filter of the rows, and when a drive stops or starts its acceleration jumps: a narrow
# low-pass spreads that jump to where the drive slides. A wide one lets noise through. So it is widened as long as the
# errors of the fit become smaller, in all rows, those near reversals too.
def in_a_fitting_band(
    recording: Recording, data: PreparedData, fit: ModelFit, config: IdentificationConfig
) -> tuple[PreparedData, ModelFit]:
    """A prepared recording and its fit, or those in a wider band of the motion.

    Parameters
    ----------
    recording : as it was recorded
    data : the prepared recording
    fit : of a model to it
    config : a band that it states stays
    """
    if config.motion.cutoff_frequency or np.mean(~data.slides) < OFTEN:
        return data, fit
    widest = WIDEST * data.recording.sample_rate
    while data.bands.motion_cutoff < widest and not is_late():
        cutoff = float(min(WIDER * data.bands.motion_cutoff, widest))
        bands = replace(data.bands, motion_cutoff=cutoff, sign_cutoff=max(cutoff, data.bands.sign_cutoff))
        try:
            wider = prepare(data.model, recording, config, bands)
            other = fit_model(wider, fit.model, config)
        except (NotConvergedError, NotExcitedError):
            break
        if len(other.base) != len(fit.base) or _size(other) > _size(fit) - WORTH:
            break
        data, fit = wider, other
    return data, fit


def _size(fit: ModelFit) -> float:
    """Logarithm of the errors of all rows, mean over the drives."""
    return float(np.mean(np.log(np.maximum(np.mean(fit.errors**2, axis=0), 1e-300)))) / 2.0


def predict_forces(result: IdentificationResult, recording: Recording) -> tuple[Array, Array]:
    """Predict what the efforts' instruments measure, by the base parameters and whatever else was fitted.

    Parameters
    ----------
    result : of an identification
    recording : its forces are not looked at, and its positions are smoothed as those of the identification were

    Returns
    -------
    (n,) s and (n, A) N or N m, without both ends of the recording, where the smoothing begins

    Raises
    ------
    RecordingError, KinematicsError
        If the positions cannot be used; says why.

    Examples
    --------
    >>> time, forces = predict_forces(result, Recording(time, drive_positions, np.zeros_like(drive_positions)))
    """
    data = prepare(result.model, recording, result.config, result.bands)
    return data.recording.time[data.inner], predicted_efforts(result.model, data, result.model_parameters)[data.inner]
