"""Verdict on data that no fit has seen, with limits declared before; measured beside predicted forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from pkm_description.arrays import Array
from pkm_description.report.words import keeps_limit

from pkm_identification.columns.observation import ObservationModel
from pkm_identification.configuration import JudgementSettings
from pkm_identification.errors import RecordingError
from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.judgement.force_error import ForceError, force_error
from pkm_identification.motion_source.filters import kept_rows, parallel_filter
from pkm_identification.preparation import REST_REACH, PreparedData
from pkm_identification.recording.recording import Recording
from pkm_identification.validation.delivered import DeliveredMachine, forces_beyond_overlay, library_efforts

VerdictStatus = Literal['passed', 'failed', 'not judged']
PASSED: Final = 'passed'
FAILED: Final = 'failed'
NOT_JUDGED: Final = 'not judged'

#: different samples that two recordings may share by chance, and part of the samples: machines at rest repeat them
COMMON_SAMPLES, COMMON_PART = 10, 0.01
#: growth of the error from which what is delivered is not what was fitted, and part of the force below which it does
#: not matter
WORSE, NEGLIGIBLE = 1.2, 1e-4


@dataclass(frozen=True)
class JudgedError:
    """One figure of the held-out error.

    Attributes
    ----------
    name : of the figure, with the drive where it is that of one
    value, limit : in the figure's unit
    unit : empty for ratios
    """

    name: str
    value: float
    limit: float
    unit: str = ''

    @property
    def kept(self) -> bool:
        """Whether it keeps its limit."""
        return keeps_limit(self.value, self.limit)

    def __str__(self) -> str:
        sign = '<=' if self.kept else '>'
        if self.unit:
            return f'{self.name} {self.value:.4g} {self.unit} ({sign} {self.limit:.4g} {self.unit})'
        return f'{self.name} {100.0 * self.value:.3g} % ({sign} {100.0 * self.limit:.3g} %)'


@dataclass(frozen=True)
class Verdict:
    """Whether the machine as delivered predicts forces as well as the fit, on held-out data within declared limits.

    Attributes
    ----------
    status : ``passed``, ``failed`` or ``not judged``
    figures : what was judged
    reason : why nothing was judged; else what decided
    """

    status: VerdictStatus
    figures: tuple[JudgedError, ...]
    reason: str

    def __str__(self) -> str:
        return f'held-out verdict: {self.status}; {self.reason}'


def judge(
    held_out: ForceComparison | None, training: ForceComparison, delivered: DeliveredMachine | None,
    limits: JudgementSettings, labels: tuple[str, ...],
) -> Verdict:  # fmt: skip
    """Judge the forces of the machine as delivered, below the force cut-off frequency.

    They must be as good as those of the fit, on held-out data if there are any; these alone have limits.

    Parameters
    ----------
    held_out, training : comparisons on both recordings
    delivered : machine that file and overlay give
    limits : settings ``max_relative_absolute``, ``max_normalised_rms``, ``max_rms``; 0: none
    labels : (L,) of the drives
    """
    comparison = held_out or training
    if delivered is None or comparison.delivered is None:
        return Verdict(FAILED, (), 'no machine is delivered: the identified bodies cannot exist')
    if delivered.problem:
        return Verdict(FAILED, (), f'no overlay is delivered: {delivered.problem}')
    bounds = limits if held_out else JudgementSettings()
    fitted = comparison.fitted.filtered_error
    figures = tuple(_figures(comparison.delivered.filtered_error, fitted, bounds, labels))
    broken = [figure for figure in figures if not figure.kept]
    if not broken and len(figures) == 1:
        open_end = 'no limit is declared (max_relative_absolute, max_normalised_rms, max_rms)'
        return Verdict(NOT_JUDGED, figures, open_end if held_out else 'there is no held-out recording')
    text = '; '.join(map(str, broken or figures))
    rest = comparison.with_the_rest
    kept = rest is not None and all(one.kept for one in _figures(rest.filtered_error, fitted, bounds, labels))
    if broken and delivered.lost:
        text += f'. The overlay does not carry {"; ".join(delivered.lost)} (parameters.yaml does)'
        text += ': with it the limits are kept' if kept else ''
    if figures[-1] in broken and not kept:
        text += (
            '. What the nominal bodies change in the base parameters becomes less with keep_base_values: true, or '
            'larger platform_uncertainty and leg_uncertainty'
        )
    return Verdict(FAILED if broken else PASSED, figures, text)


def _figures(
    error: ForceError, fitted: ForceError, limits: JudgementSettings, labels: tuple[str, ...]
) -> list[JudgedError]:
    """Declared figures, and at last the error beside that of the fit."""
    found = []
    if limits.max_relative_absolute:
        found.append(JudgedError('eps_RA', error.relative_absolute, limits.max_relative_absolute))
    if limits.max_normalised_rms:
        found.append(JudgedError('NRMS', error.normalised_rms, limits.max_normalised_rms))
    if limits.max_rms:
        worst = int(np.argmax(error.rms))
        found.append(JudgedError(f'rms of {labels[worst]}', float(error.rms[worst]), limits.max_rms, 'N or N m'))
    limit = WORSE * fitted.relative + NEGLIGIBLE
    return [*found, JudgedError('error of the delivered machine beside the fit', error.relative, limit)]


def require_other_data(recording: Recording, validation: Recording) -> None:
    """Refuse validation data that are training data, all or in part.

    Raises
    ------
    RecordingError
        The same source at the same time, or the same samples.
    """
    advice = 'held-out data must be another motion: record one, or choose intervals that do not overlap'
    ends = [one.start_stamp + round(1e9 * one.duration) for one in (recording, validation)]
    overlap = (min(ends) - max(recording.start_stamp, validation.start_stamp)) / 1e9
    if recording.origin and recording.origin == validation.origin and overlap > 0.0:
        raise RecordingError(
            f'{validation.source}: identification and validation share {overlap:.3g} s of {recording.origin}; {advice}'
        )
    common = _common_samples(recording, validation)
    if common > max(COMMON_SAMPLES, COMMON_PART * len(validation.time)):
        raise RecordingError(
            f'{validation.source}: {common} of its {len(validation.time)} samples are also in {recording.source}, with '
            f'which the identification is done; {advice}'
        )


def _common_samples(recording: Recording, validation: Recording) -> int:
    """Number of different samples of the second recording that the first one has, too, digit by digit."""
    if recording.drive_positions.shape[1] != validation.drive_positions.shape[1]:
        return 0
    mine, its = (
        {row.tobytes() for row in np.hstack([one.drive_positions, one.forces])} for one in (recording, validation)
    )
    return len(mine & its)


@dataclass(frozen=True)
class Prediction:
    """Forces of one model along a recording.

    Attributes
    ----------
    forces : (N, L) N or N m
    error : of the raw samples, sensor noise included, without drives that stick (with any force up to Coulomb's)
    filtered_error : below the force cut-off frequency, what happens while a drive sticks left out of both forces
    """

    forces: Array
    error: ForceError
    filtered_error: ForceError


@dataclass(frozen=True)
class ForceComparison:
    """Measured and predicted forces of the drives in one recording.

    Attributes
    ----------
    source : recording
    duration : s
    time : (N,) s
    measured : (N, L) N or N m
    fitted : by the identified base parameters and whatever else was fitted
    delivered : by the library's inverse dynamics of the machine that file and overlay give; ``None`` without an overlay
    with_the_rest : the same, and the forces that an overlay does not carry (offsets, ripples ...); ``None`` where there
        are no such forces
    nominal_error : of the nominal machine, raw samples
    nominal : (N, L) forces of the nominal machine
    """

    source: str
    duration: float
    time: Array
    measured: Array
    fitted: Prediction
    delivered: Prediction | None
    with_the_rest: Prediction | None
    nominal: Array
    nominal_error: ForceError

    @property
    def predicted(self) -> Array:
        """Forces (N, L) of the fit."""
        return self.fitted.forces

    @property
    def error(self) -> ForceError:
        """Error of the fit, raw samples."""
        return self.fitted.error

    @property
    def filtered_error(self) -> ForceError:
        """Error of the fit below the force cut-off frequency."""
        return self.fitted.filtered_error


def prediction_of(data: PreparedData, efforts: Array) -> Prediction:
    """Judge predicted efforts (N, A) of all samples of a prepared recording."""
    inner, cutoff, rate = data.inner, data.bands.force_cutoff, data.recording.sample_rate
    measured, predicted = data.efforts(), efforts[inner]
    rows = kept_rows(data.turns_slowly[inner], rate, cutoff, REST_REACH) > 0.0
    low, found = filtered(data, measured), filtered(data, efforts)
    return Prediction(
        predicted, force_error(measured[inner], predicted, data.slides[inner]), force_error(low, found, rows)
    )


def filtered(data: PreparedData, efforts: Array) -> Array:
    """Efforts (N, A) below the force cut-off frequency, (m, A), without what happens while a drive sticks."""
    inner = data.inner
    return parallel_filter(data.slides[inner] * efforts[inner], data.recording.sample_rate, data.bands.force_cutoff)


def compare_forces(
    data: PreparedData, model: ObservationModel, parameters: Array, efforts: Array, delivered: DeliveredMachine | None
) -> ForceComparison:
    """Compare the measured efforts of a recording with predicted ones.

    Parameters
    ----------
    data : a prepared recording
    model : that was fitted
    parameters : all of its parameters, in the order of ``model.all_names``
    efforts : (N, A) of all samples as the fit predicts them
    delivered : machine that file and overlay give
    """
    recording, inner = data.recording, data.inner
    measured, sliding = data.efforts()[inner], data.slides[inner]
    believed = predicted_efforts(model, data, model.all_parameters(model.machine))[inner]
    given = None if delivered is None else library_efforts(delivered.machine, data)
    rest = given is not None and delivered is not None and bool(delivered.lost)
    whole = given + forces_beyond_overlay(model, data, parameters) if rest and given is not None else None
    return ForceComparison(
        recording.source, recording.duration, data.time, measured,
        prediction_of(data, efforts),
        None if given is None else prediction_of(data, given),
        None if whole is None else prediction_of(data, whole),
        believed, force_error(measured, believed, sliding),
    )  # fmt: skip
