"""Efforts that a model predicts for a prepared recording, and the forces in the joints that friction depends on."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_identification.columns.joint_samples import JointSamples
from pkm_identification.columns.joint_terms import EffortDelay
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.columns.presliding import presliding_of
from pkm_identification.columns.term import Term
from pkm_identification.prepared_data import PreparedData


def predicted_efforts(model: ObservationModel, data: PreparedData, parameters: Array) -> Array:
    """Efforts (N, A) of all samples by all parameters of a model, as an instrument with its delay measures them."""
    return efforts_by(model, data, with_forces(model, data, parameters), parameters)


def efforts_by(model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array) -> Array:
    """Efforts (N, A) as :func:`predicted_efforts`, friction by the forces of ``samples``."""
    still = efforts_without_friction(model, data, samples, parameters)
    return measured_efforts(model, data, still + friction_forces(model, data, samples, parameters))


def efforts_without_friction(
    model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array
) -> Array:
    """Forces (N, A) of bodies and rotors, and of the terms that are no friction: no deflection changes them."""
    efforts = data.structure_forces(parameters[model.inertial]) + data.rotor_forces
    return _with_terms(model, data, samples, parameters, efforts, dissipates=False)


def friction_forces(model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array) -> Array:
    """Forces (N, A) of the terms that are friction."""
    return _with_terms(model, data, samples, parameters, np.zeros_like(samples.positions), dissipates=True)


def _with_terms(
    model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array, efforts: Array,
    dissipates: bool,
) -> Array:  # fmt: skip
    for term, part in zip(model.terms, model.term_parts, strict=True):
        if term.dissipates == dissipates:
            efforts = efforts + data.term_forces(term, samples, parameters[part])
    return efforts


def measured_efforts(model: ObservationModel, data: PreparedData, efforts: Array) -> Array:
    """Efforts (N, A) as they are measured, with the delay of the model."""
    delay = effort_delay(model.terms)
    if not delay:
        return efforts
    time = data.recording.time
    return np.stack([np.interp(time - delay, time, column) for column in efforts.T], axis=1)


def effort_delay(terms: tuple[Term, ...]) -> float:
    """Seconds by which efforts come late."""
    return sum(term.delay for term in terms if isinstance(term, EffortDelay))


def deflected(model: ObservationModel, data: PreparedData, samples: JointSamples) -> JointSamples:
    """Samples with the deflections of the drives' contacts that the model has."""
    presliding = presliding_of(model.terms)
    return samples if presliding is None else presliding.deflected(samples, 1.0 / data.recording.sample_rate)


def with_forces(
    model: ObservationModel, data: PreparedData, parameters: Array, believed: Machine | None = None
) -> JointSamples:
    """Samples with the forces by all parameters; loads in the joints are those of a machine."""
    if not any(term.from_model for term in model.terms):
        return deflected(model, data, data.samples)
    return samples_with_efforts(model, data, parameters, believed or model.machine)


def samples_with_efforts(
    model: ObservationModel, data: PreparedData, parameters: Array, believed: Machine
) -> JointSamples:
    """Samples with the efforts without friction by all parameters, and the loads in the joints of a machine.

    Whatever is not friction belongs to them. The bodies alone would not do: their forces and those of offsets, springs
    and rotors may be known together only.
    """
    efforts = efforts_without_friction(model, data, data.samples, parameters)
    samples = deflected(model, data, data.samples)
    return model.with_forces(samples, data.motion, believed, efforts, data.recording.sample_rate)
