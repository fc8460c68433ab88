"""Measured forces against those of the fit, of the machine as delivered, and of the nominal machine."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.arrays import Array

from pkm_identification.columns.observation import ObservationModel
from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.judgement.force_error import ForceError, force_error
from pkm_identification.motion_source.filters import kept_rows, parallel_filter
from pkm_identification.prepared_data import REST_REACH, PreparedData
from pkm_identification.validation.delivered import DeliveredMachine, forces_beyond_overlay, library_efforts


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

