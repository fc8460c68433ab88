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


def efforts_by(
    model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array, still: Array | None = None
) -> Array:
    """Efforts (N, A) as :func:`predicted_efforts`, friction by the forces of ``samples``.

    Parameters
    ----------
    still : (N, A) sum of :func:`forces_without_friction`, where it is known already
    """
    if still is None:
        still = np.add(*forces_without_friction(model, data, samples, parameters))
    friction = np.zeros_like(still)
    for term, values in model.with_parameters(parameters):
        if term.dissipates:
            friction = friction + data.term_forces(term, samples, values)
    return delayed(still + friction, data.recording.time, effort_delay(model.terms))


def forces_without_friction(
    model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array
) -> tuple[Array, Array]:
    """What the drives pass on to the machine (N, A), and what else is no friction; no deflection changes them."""
    passed_on = data.structure_forces(parameters[: model.structure_count])
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


def delayed(efforts: Array, time: Array, delay: float) -> Array:
    """Efforts (N, A) at times (N,) s that come later by a delay."""
    return np.stack([np.interp(time - delay, time, column) for column in efforts.T], axis=1) if delay else efforts


def effort_delay(terms: tuple[Term, ...]) -> float:
    """Seconds by which efforts come late."""
    return sum(term.delay for term in terms if isinstance(term, EffortDelay))


def deflected(
    model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array | None = None
) -> JointSamples:
    """Samples with the deflections of the drives' contacts that the model has, if it has any.

    Parameters
    ----------
    parameters : all of the model, by whose friction the contacts slide; default: by the levels of the samples
    """
    presliding = presliding_of(model.terms)
    if presliding is None:
        return samples
    if parameters is not None:
        samples = at_levels(samples, model.with_parameters(parameters))
    return presliding.deflected(samples, 1.0 / data.recording.sample_rate)


def with_forces(
    model: ObservationModel, data: PreparedData, parameters: Array, believed: Machine | None = None
) -> JointSamples:
    """Samples with the forces by all parameters; loads in the joints are those of a machine."""
    if any(term.from_model for term in model.terms):
        return samples_with_efforts(model, data, parameters, believed or model.machine)
    return deflected(model, data, data.samples, parameters)


def samples_with_efforts(
    model: ObservationModel, data: PreparedData, parameters: Array, believed: Machine
) -> JointSamples:
    """Samples with the efforts without friction by all parameters, and the loads in the joints of a machine.

    Whatever is not friction belongs to them. What the drives pass on is less: a rotor turns before the screw.
    """
    passed_on, others = forces_without_friction(model, data, data.samples, parameters)
    samples = model.with_forces(
        data.samples, data.motion, believed, passed_on + others, data.recording.sample_rate, passed_on
    )
    return deflected(model, data, samples, parameters)


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
