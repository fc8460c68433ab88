"""Recordings of several motions: each predicted by what was found on each, and how well at low speed.

Mata et al. (2008, Table 4) judge three ways of identification so, for their robot; the same for any machine and any
settings. A fit that loses much on other motions has too many parameters for its own; one that is bad where drives are
slow has the wrong friction law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_identification.columns.chosen import observation_model
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import RecordingError
from pkm_identification.fitting.extension import extended_fit
from pkm_identification.fitting.model_fit import ModelFit, fit_model
from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.judgement.cross_prediction import CrossPrediction, cross_prediction
from pkm_identification.judgement.slow_motion import ErrorBySpeed, error_by_speed
from pkm_identification.motion_source.filters import parallel_filter
from pkm_identification.preparation import prepare
from pkm_identification.prepared_data import PreparedData
from pkm_identification.recording.recording import Recording
from pkm_identification.validation.force_comparison import filtered
from pkm_identification.validation.held_out import require_other_data


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
    speeds: dict[int, list[ErrorBySpeed]] = {}

    def fitted(data: PreparedData) -> ModelFit:
        return extended_fit(data, fit_model(data, model, config), config, lambda text: None)[1]

    def predicted(fit: ModelFit, data: PreparedData) -> Array:
        efforts = filtered(data, predicted_efforts(fit.model, data.with_model(fit.model), fit.parameters))
        velocities = data.samples.velocities[data.inner]
        rates = parallel_filter(velocities, data.recording.sample_rate, data.bands.force_cutoff)
        speeds.setdefault(id(fit), []).append(error_by_speed(measured(data), efforts, rates))
        return efforts

    def measured(data: PreparedData) -> Array:
        return filtered(data, data.efforts())

    cross = cross_prediction(prepared, fitted, predicted, measured)
    return OtherMotions(
        tuple(one.source for one in recordings), cross, tuple(tuple(found) for found in speeds.values())
    )
