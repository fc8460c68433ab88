"""The band of the motion where drives stick: as wide as the residuals ask for.

Below its cut-off the low-pass of the motion takes from forces and columns alike. But what a drive does while it sticks
is left out, before the filter of the rows, and when a drive stops or starts its acceleration jumps: a narrow low-pass
spreads that jump to where the drive slides. A wide one lets noise through. So it is widened as long as the errors of
the fit become smaller, in all rows, those near reversals too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import NotConvergedError, NotExcitedError
from pkm_identification.fitting.model_fit import ModelFit, fit_model
from pkm_identification.motion_source.sign_cutoff import WIDEST
from pkm_identification.preparation import prepare
from pkm_identification.prepared_data import PreparedData
from pkm_identification.recording.recording import Recording

#: factor from band to band, and part by which errors must become smaller
WIDER, WORTH = np.sqrt(2.0), 0.05
#: part of the samples in which drives stick, from which the band matters
OFTEN = 0.05


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
    while data.bands.motion_cutoff < widest:
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
