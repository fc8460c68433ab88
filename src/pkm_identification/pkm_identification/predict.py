"""Forces of the drives that an identified model predicts along any recording of positions."""

from __future__ import annotations

from pkm_description.arrays import Array

from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.preparation import prepare
from pkm_identification.recording.recording import Recording
from pkm_identification.result import IdentificationResult


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
