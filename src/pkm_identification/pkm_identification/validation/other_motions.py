"""Recordings of several motions: each predicted by what was found on each, and how well at low speed.

Mata et al. (2008, Table 4) judge three ways of identification so, for their robot; the same for any machine and any
settings. A fit that loses much on other motions has too many parameters for its own; one that is bad where drives are
slow has the wrong friction law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_identification.columns.observation import observation_model
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import RecordingError
from pkm_identification.fitting.extension import extended_fit
from pkm_identification.fitting.model_fit import fit_model
from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.motion_source.filters import parallel_filter
from pkm_identification.preparation import prepare
from pkm_identification.recording.recording import Recording
from pkm_identification.validation.held_out import filtered, require_other_data

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
    for place, one in enumerate(recordings):
        for other in recordings[:place]:
            require_other_data(one, other)
    config = config or IdentificationConfig()
    first = recordings[0]
    model = observation_model(machine, config, first.drive_positions, first.sample_rate)
    prepared = [prepare(model, first, config)]
    prepared += [prepare(model, one, config, prepared[0].bands) for one in recordings[1:]]
    errors, by_speed = [], []
    for data in prepared:
        fit = extended_fit(data, fit_model(data, model, config), config, lambda text: None)[1]
        row, speeds = [], []
        for run in prepared:
            efforts = filtered(run, predicted_efforts(fit.model, run.with_model(fit.model), fit.parameters))
            velocities = run.samples.velocities[run.inner]
            rates = parallel_filter(velocities, run.recording.sample_rate, run.bands.force_cutoff)
            measured = filtered(run, run.efforts())
            row.append(relative_absolute_error(measured, efforts).stacked)
            speeds.append(error_by_speed(measured, efforts, rates))
        errors.append(row)
        by_speed.append(tuple(speeds))
    return OtherMotions(tuple(one.source for one in recordings), CrossPrediction(np.array(errors)), tuple(by_speed))


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


@dataclass(frozen=True)
class RelativeAbsoluteError:
    """Sum of absolute errors over that of deviations from the mean, Eq. 33.

    The paper does not say over which forces the mean is taken; both readings are here.

    Attributes
    ----------
    stacked : of all drives together, with one mean
    by_drive : (A,) with the mean of each drive
    """

    stacked: float
    by_drive: Array


def relative_absolute_error(measured: Array, predicted: Array) -> RelativeAbsoluteError:
    """Compare predicted forces (N, A) with measured ones; 0 is perfect, 1 no better than the mean."""
    error = np.abs(predicted - measured)
    spread = np.abs(measured - measured.mean())
    own = np.abs(measured - measured.mean(axis=0))
    by_drive = np.asarray(error.sum(axis=0) / own.sum(axis=0), dtype=float)
    return RelativeAbsoluteError(float(error.sum() / spread.sum()), by_drive)


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
