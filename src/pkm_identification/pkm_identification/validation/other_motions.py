"""Models judged by motions that they were not fitted to: each motion by what was found on each, and a ladder of models.

Mata et al. (2008, Table 4) judge three ways of identification by other motions, and by the error at low speed; the same
for any machine and any settings. A fit that loses much on other motions has too many parameters for its own; one that
is bad where drives are slow has the wrong friction law.

They also (section 6.2) descend from all base parameters of a robot to the few that a recording determines, and find
hardly more force error, but parameters that mean something. The ladder: all base parameters, the significant ones, the
legs as drawn, friction alone, nothing; and what each costs in held-out error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, Indices
from pkm_description.machine import Machine, RigidBody
from pkm_description.machine.machine import with_joints

from pkm_identification.columns.observation import ObservationModel, observation_model
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import RecordingError
from pkm_identification.estimator.bodies import is_inertial
from pkm_identification.estimator.interface import estimator_after
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.fitting.extension import extended_fit
from pkm_identification.fitting.model_fit import ModelFit, fit_model
from pkm_identification.fitting.physical_machine import physical_parameters
from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.fitting.shape_search import CORRELATION_LAGS
from pkm_identification.judgement.force_error import ForceError
from pkm_identification.judgement.significance import IDENTIFIED, classify
from pkm_identification.motion_source.filters import parallel_filter
from pkm_identification.preparation import PreparedData, prepare
from pkm_identification.recording.recording import Recording
from pkm_identification.validation.held_out import filtered, prediction_of, require_other_data

#: part of a drive's root mean square of velocity up to which it is slow
SLOW = 0.3


@dataclass(frozen=True)
class OtherMotions:
    """Errors of R recordings, below one force cut-off frequency.

    Attributes
    ----------
    sources : R names
    cross : relative absolute errors of all drives together (of one unit), row: recording of the fit, column: of the
        prediction
    by_speed : R tuples of R errors at low and high speed, in the same order
    """

    sources: tuple[str, ...]
    cross: CrossPrediction
    by_speed: tuple[tuple[ErrorBySpeed, ...], ...]

    def table(self) -> str:
        """For a terminal: errors in %, in brackets the median over the drives of low over high speed."""
        lines = ['fitted on (rows), predicted (columns); eps_RA in % [low over high speed]']
        for name, errors, speeds in zip(self.sources, self.cross.errors, self.by_speed, strict=True):
            ratios = [float(np.nanmedian(one.ratio)) for one in speeds]
            cells = [f'{100.0 * error:.3g} [{ratio:.2g}]' for error, ratio in zip(errors, ratios, strict=True)]
            lines.append(f'{name}: {", ".join(cells)}')
        return '\n'.join(lines)


def other_motions(
    machine: Machine, recordings: Sequence[Recording], config: IdentificationConfig | None = None
) -> OtherMotions:
    """Fit each recording, and predict all of them.

    Parameters
    ----------
    machine : nominal machine
    recordings : two or more motions; all are judged in the bands of the first

    Raises
    ------
    RecordingError
        Fewer than two recordings, or two that share samples.
    """
    if len(recordings) < 2:
        raise RecordingError(f'{len(recordings)} recording: at least two motions are needed to predict one by another')
    config = config or IdentificationConfig()
    prepared, errors, by_speed = _prepared(machine, recordings, config), [], []
    for data in prepared:
        fit = extended_fit(data, fit_model(data, data.model, config), config, lambda text: None)[1]
        row, speeds = [], []
        for run in prepared:
            efforts = filtered(run, predicted_efforts(fit.model, run.with_model(fit.model), fit.parameters))
            velocities = run.samples.velocities[run.inner]
            rates = parallel_filter(velocities, run.recording.sample_rate, run.bands.force_cutoff)
            measured = filtered(run, run.efforts())
            row.append(relative_absolute_error(measured, efforts))
            speeds.append(error_by_speed(measured, efforts, rates))
        errors.append(row)
        by_speed.append(tuple(speeds))
    return OtherMotions(tuple(one.source for one in recordings), CrossPrediction(np.array(errors)), tuple(by_speed))


def _prepared(machine: Machine, recordings: Sequence[Recording], config: IdentificationConfig) -> list[PreparedData]:
    """Recordings of different motions, prepared in the bands of the first."""
    for place, one in enumerate(recordings):
        for other in recordings[:place]:
            require_other_data(one, other)
    first = recordings[0]
    model = observation_model(machine, config, first.drive_positions, first.sample_rate)
    data = prepare(model, first, config)
    return [data, *(prepare(model, one, config, data.bands) for one in recordings[1:])]


@dataclass(frozen=True)
class ErrorBySpeed:
    """Mean absolute errors over the mean absolute deviation of all measured forces of a drive from their mean.

    Attributes
    ----------
    slow, fast : (A,) NaN for a drive that is never so
    share : (A,) part of the samples in which a drive is slow
    """

    slow: Array
    fast: Array
    share: Array

    @property
    def ratio(self) -> Array:
        """Error at low over that at high speed (A,): well above one where the friction law is not that of the drive."""
        return np.asarray(self.slow / self.fast)


def error_by_speed(measured: Array, predicted: Array, velocities: Array, slow: float = SLOW) -> ErrorBySpeed:
    """Judge forces (N, A) by the speed of the drives, whose velocities are (N, A)."""
    speed = np.abs(velocities)
    is_slow = speed < slow * np.sqrt(np.mean(velocities**2, axis=0))
    error = np.abs(predicted - measured)
    spread = np.abs(measured - measured.mean(axis=0)).mean(axis=0)

    def mean(chosen: Array) -> Array:
        count = chosen.sum(axis=0)
        total = np.where(chosen, error, 0.0).sum(axis=0)
        return np.divide(total, count * spread, out=np.full(len(spread), np.nan), where=count * spread > 0.0)

    return ErrorBySpeed(mean(is_slow), mean(~is_slow), is_slow.mean(axis=0))


@dataclass(frozen=True)
class CrossPrediction:
    """Relative absolute errors (Eq. 33) of forces.

    Attributes
    ----------
    errors : (R, R), row: motion that the parameters were found on, column: motion that is predicted
    """

    errors: Array

    @property
    def own(self) -> Array:
        """Errors (R,) on the motion of the fit itself; they flatter."""
        return np.diag(self.errors)

    @property
    def ratios(self) -> Array:
        """Error on another motion over that on the own one, (R, R), NaN on the diagonal: well above one, overfitted."""
        found = self.errors / self.own[:, None]
        np.fill_diagonal(found, np.nan)
        return np.asarray(found)


def relative_absolute_error(measured: Array, predicted: Array) -> float:
    """Sum of absolute errors of predicted forces (N, A) over that of deviations from their mean, Eq. 33.

    0 is perfect, 1 no better than the mean. The paper does not say over which forces the mean is taken: here over those
    of all drives together, in :class:`~pkm_identification.judgement.force_error.ForceError` over those of each.
    """
    return float(np.abs(predicted - measured).sum() / np.abs(measured - measured.mean()).sum())


def mean_relative_error(values: Array, truth: Array, used: NDArray[np.bool_] | None = None) -> float:
    """Mean of ``|value - truth| / |truth|``, Eq. 34.

    Parameters
    ----------
    values, truth : (P,)
    used : (P,) which of them count, e.g. those that are properly identified; a truth of zero never does

    Returns
    -------
    float
        NaN where none is left.
    """
    chosen = np.asarray(truth != 0.0) if used is None else (truth != 0.0) & used
    if not chosen.any():
        return float('nan')
    return float(np.mean(np.abs(values[chosen] - truth[chosen]) / np.abs(truth[chosen])))


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
    config, rungs = config or IdentificationConfig(), []
    data, other = _prepared(machine, (recording, validation), config)
    for rung in _rungs(data, other, config):
        rungs.append(rung)
        if progress is not None:
            progress(f'{rung.name}: {rung.parameters} parameters')
    return rungs


def _rungs(data: PreparedData, other: PreparedData, config: IdentificationConfig) -> Iterator[Rung]:
    model = data.model
    whole = fit_model(data, model, config)
    yield _rung('all base parameters', data, other, whole, whole.parameters, whole.base, whole.estimate, config)
    kept, estimate = significant(whole, data.row_weights, config)
    values = whole.base.values(model.parameters(model.machine))
    values[kept] = estimate.parameters
    parameters = model.with_base_values(whole.parameters, whole.base, values)
    base = replace(whole.base, independent=whole.base.independent[kept], combination=whole.base.combination[kept])
    yield _rung('significant ones, others nominal', data, other, whole, parameters, base, estimate, config)
    bodies = sorted({name.rpartition('.')[0] for name in model.all_names[: model.structure_count]} - {'platform_link'})
    held = list(dict.fromkeys([*config.columns.fixed, *(f'{body}.*' for body in bodies)]))
    light = with_joints(model.machine, lambda joint: replace(joint, body=RigidBody(joint.body.name)))
    rungs = [('legs nominal', model.machine, held), ('legs without mass', light, held)]
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


def _rung(
    name: str, data: PreparedData, other: PreparedData, fit: ModelFit, parameters: Array, base: BaseParameters | None,
    estimate: Estimate | None, config: IdentificationConfig, real: bool = True,
) -> Rung:  # fmt: skip
    model = fit.model
    errors = [prediction_of(one, predicted_efforts(model, one, parameters)).filtered_error for one in (data, other)]
    feasible: bool | None = None
    if base is not None and estimate is not None and real:
        feasible = not physical_parameters(model, base, estimate, config.estimator).infeasible
    words = () if estimate is None else classify(estimate, config.judgement.max_relative_std)
    return Rung(
        name, 0 if base is None else len(base), words.count(IDENTIFIED),
        np.nan if estimate is None else estimate.condition, errors[0], errors[1], feasible, base, estimate,
    )  # fmt: skip


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
