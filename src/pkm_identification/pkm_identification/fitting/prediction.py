"""Efforts that a model predicts for a prepared recording, and the forces in the joints that friction depends on."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_identification.columns.friction_term import Presliding, at_levels, presliding_of
from pkm_identification.columns.joint_terms import EffortDelay
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.columns.term import JointSamples, Term
from pkm_identification.preparation import PreparedData


def predicted_efforts(model: ObservationModel, data: PreparedData, parameters: Array) -> Array:
    """Efforts (N, A) of all samples by all parameters of a model, as an instrument with its delay measures them."""
    return efforts_by(model, data, with_forces(model, data, parameters), parameters)


def efforts_by(model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array) -> Array:
    """Efforts (N, A) as :func:`predicted_efforts`, friction by the forces of ``samples``."""
    still = efforts_without_friction(model, data, samples, parameters)
    efforts = still + friction_forces(model, data, samples, parameters)
    return delayed(efforts, data.recording.time, effort_delay(model.terms))


def efforts_without_friction(
    model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array
) -> Array:
    """Forces (N, A) of bodies and rotors, and of the terms that are no friction: no deflection changes them."""
    passed_on, others = _forces_without_friction(model, data, samples, parameters)
    return passed_on + others


def _forces_without_friction(
    model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array
) -> tuple[Array, Array]:
    """What the drives pass on to the machine (N, A), and what else is no friction."""
    passed_on = data.structure_forces(parameters[model.inertial])
    others = np.zeros_like(passed_on)
    for term, values in model.with_parameters(parameters):
        if term.dissipates:
            continue
        forces = data.term_forces(term, samples, values)
        if term.passed_on:
            passed_on = passed_on + forces
        else:
            others = others + forces
    return passed_on, others


def friction_forces(model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array) -> Array:
    """Forces (N, A) of the terms that are friction."""
    found = np.zeros_like(samples.positions)
    for term, values in model.with_parameters(parameters):
        if term.dissipates:
            found = found + data.term_forces(term, samples, values)
    return found


def delayed(efforts: Array, time: Array, delay: float) -> Array:
    """Efforts (N, A) at times (N,) s that come later by a delay."""
    return np.stack([np.interp(time - delay, time, column) for column in efforts.T], axis=1) if delay else efforts


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
    if any(term.from_model for term in model.terms):
        return samples_with_efforts(model, data, parameters, believed or model.machine)
    return _with_contacts(model, data, data.samples, parameters)


def samples_with_efforts(
    model: ObservationModel, data: PreparedData, parameters: Array, believed: Machine
) -> JointSamples:
    """Samples with the efforts without friction by all parameters, and the loads in the joints of a machine.

    Whatever is not friction belongs to them. What the drives pass on is less: a rotor turns before the screw.
    """
    passed_on, others = _forces_without_friction(model, data, data.samples, parameters)
    samples = model.with_forces(
        data.samples, data.motion, believed, passed_on + others, data.recording.sample_rate, passed_on
    )
    return _with_contacts(model, data, samples, parameters)


def _with_contacts(
    model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array
) -> JointSamples:
    """Samples with contacts that are deflected up to the friction by all parameters."""
    if presliding_of(model.terms) is None:
        return samples
    return deflected(model, data, at_levels(samples, model.with_parameters(parameters)))


def slope_rows(
    model: ObservationModel, data: PreparedData, term: Term, samples: JointSamples, parameters: Array
) -> Array:
    """Rows (n, A, Q) of the derivatives of a model's forces by the nonlinear parameters of a term.

    Parameters
    ----------
    term : of the model, or the same forces with other nonlinear parameters
    samples : with deflected contacts
    parameters : all of the model
    """
    if isinstance(term, Presliding):
        forces = term.force_slopes(samples, 1.0 / data.recording.sample_rate, model.with_parameters(parameters))
        return term.of_owners(data.joint_rows(forces, np.arange(len(term.joints))))
    own = next(values for one, values in model.with_parameters(parameters) if one.names == term.names)
    return data.slope_rows(term, samples, own)


def all_rows(
    model: ObservationModel, data: PreparedData, samples: JointSamples, kept: dict[Term, Array] | None = None
) -> Array:
    """Rows (n, A, P) of all parameters of a model, free and held, in the order of its ``all_names``.

    Parameters
    ----------
    kept : rows of terms that no solution changes, which are computed once, and put there
    """
    kept, deflects = {} if kept is None else kept, presliding_of(model.terms) is not None

    def rows(term: Term) -> Array:
        if term in kept:
            return kept[term]
        found = data.term_rows(term, samples)
        if not (term.from_model or term.shape_names or (term.dissipates and deflects)):
            kept[term] = found
        return found

    return np.concatenate([data.structure_rows, *map(rows, model.terms)], axis=-1)
