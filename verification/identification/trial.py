"""One identification of a data set, and what it says of the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_identification.compare import compare_with_truth
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.judgement.significance import KNOWN
from pkm_identification.pipeline import identify, predict_forces
from pkm_identification.preparation import prepare
from pkm_identification.result import INSUFFICIENT, IdentificationResult
from pkm_identification.validation.held_out import prediction_of
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, sosfiltfilt

from verification.identification.expectations import settings_for
from verification.identification.peer import TextbookPipeline
from verification.identification_data.dataset import DataSet

#: Hz, band in which the product and its peer are compared
BAND = 5.0
#: s, left out at either end of the comparison
_EDGE = 1.0


@dataclass(frozen=True)
class Outcome:
    """What one identification reached.

    Attributes
    ----------
    held_out : force error on the validation motion, below the product's force cut-off, of the force
    noise_floor : what noise of efforts and positions in the validation makes of it, whatever the parameters
    status : of the result
    sigmas : (B,) errors of the base parameters called identified, or identified as small, in their standard deviations
    all_sigmas : of all base parameters, called identified or not
    coulomb : largest relative error of a Coulomb friction; NaN without such parameters
    stribeck_velocity : largest relative error; NaN without such parameters
    compared, peer : force errors of the product and of the textbook's pipeline in the same band, along the true drive
        positions of the validation: what is wrong with the model alone; NaN without a peer
    """

    held_out: float
    noise_floor: float
    status: str
    sigmas: Array
    all_sigmas: Array
    coulomb: float
    stribeck_velocity: float
    compared: float = np.nan
    peer: float = np.nan

    @property
    def is_alarm(self) -> bool:
        """Whether the result says that its model lacks a force."""
        return self.status == INSUFFICIENT

    @property
    def worst(self) -> float:
        """Largest error of a value called identified, in its standard deviations; 0 if none is."""
        return float(self.sigmas.max(initial=0.0))


def run_trial(data: DataSet, settings: dict[str, Any], with_peer: bool = False) -> Outcome:
    """Identify a data set from its nominal machine.

    Parameters
    ----------
    settings : of ``IdentificationConfig``; ``columns.identical_legs`` is set by the data, unless it is given
    with_peer : run the textbook's pipeline on the same recordings
    """
    training, validation = data.training.recording, data.validation.recording
    result = identify(data.nominal, training, validation, config_of(data, settings))
    identified, errors = sigmas_of(data, result)
    assert result.validation is not None
    along_truth = predict_forces(result, data.validation.noise_free)
    compared = peer = np.nan
    if with_peer:
        pipeline = TextbookPipeline(data.nominal)
        predicted = pipeline.predict(data.validation.noise_free, pipeline.identify(training))
        compared, peer = (_band_error(data, *forces) for forces in (along_truth, predicted))
    return Outcome(
        result.validation.filtered_error.relative,
        _noise_floor(data, result, *along_truth),
        result.status,
        identified,
        errors,
        _coulomb_error(data, result),
        _stribeck_error(data, result),
        compared,
        peer,
    )


def config_of(data: DataSet, settings: dict[str, Any]) -> IdentificationConfig:
    """Settings of an identification of a data set."""
    return IdentificationConfig.from_mapping(settings_for(data.nominal, data.case.unlike_legs, settings))


def sigmas_of(data: DataSet, result: IdentificationResult) -> tuple[Array, Array]:
    """Errors in standard deviations of the values called identified, and of all."""
    rows = compare_with_truth(result, data.true_machine)
    errors = np.abs([row.standardised_error for row in rows])
    return errors[np.array([row.status in KNOWN for row in rows], dtype=bool)], errors


def _low_passed(values: Array, time: Array, cutoff: float) -> Array:
    rate = (len(time) - 1) / (time[-1] - time[0])
    return np.asarray(sosfiltfilt(butter(4, cutoff, fs=rate, output='sos'), values, axis=0))


def _band_error(data: DataSet, time: Array, predicted: Array) -> float:
    """Error of predictions (n, A) against the noise-free effort signals below :data:`BAND`, of the signals."""
    truth = data.validation
    clean = make_interp_spline(truth.recording.time, truth.clean_efforts, k=1)(time)
    inside = (time > time[0] + _EDGE) & (time < time[-1] - _EDGE)
    difference = _low_passed(predicted - clean, time, BAND)[inside]
    return float(np.sqrt(np.mean(difference**2) / np.mean(clean[inside] ** 2)))


def _noise_floor(data: DataSet, result: IdentificationResult, time: Array, expected: Array) -> float:
    """Error of a model that is right: with its forces along the true positions, and noise of positions and efforts."""
    noisy = data.validation.recording
    forces = noisy.forces.copy()
    known = np.isin(noisy.time, time)
    forces[known] = expected + (noisy.forces - data.validation.clean_efforts)[known]
    made = replace(noisy, forces=forces)
    prepared = prepare(result.model, made, result.config, result.bands)
    efforts = predicted_efforts(result.model, prepared, result.model_parameters)
    return prediction_of(prepared, efforts).filtered_error.relative


def _coulomb_error(data: DataSet, result: IdentificationResult) -> float:
    """Largest relative error of the drives' Coulomb friction, by direction where the law has directions."""
    friction, errors = data.friction, []
    forward, backward = friction.coulomb_forward, friction.coulomb_backward
    truths = {'coulomb': 0.5 * (forward + backward), 'coulomb_positive': forward, 'coulomb_negative': backward}
    places = {name: place for place, name in enumerate(data.nominal.actuated_joint_names)}
    for name, value in zip(result.physical.names, result.physical.values, strict=True):
        joint, _, parameter = name.rpartition('.')
        if joint in places and parameter in truths:
            truth = truths[parameter][places[joint]]
            errors.append(abs(value - truth) / truth)
    return max(errors, default=np.nan)


def _stribeck_error(data: DataSet, result: IdentificationResult) -> float:
    if result.identified_machine is None:
        return np.nan
    errors = []
    for truth, joint in zip(data.friction.stribeck_velocity, result.identified_machine.actuated_joints, strict=True):
        found = getattr(joint.friction.law, 'stribeck_velocity', np.nan)
        errors.append(abs(found - truth) / truth)
    return float(np.max(errors))
