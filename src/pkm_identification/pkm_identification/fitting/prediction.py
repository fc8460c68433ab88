"""Efforts that a model predicts for a prepared recording, and the forces in the joints that friction depends on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from scipy.interpolate import CubicSpline
from scipy.signal import lfilter

from pkm_identification.blocks import OfPart, joined
from pkm_identification.columns.friction_term import Presliding, presliding_of
from pkm_identification.columns.joint_terms import EffortDelay, delay_of
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
    return measured(still + friction, data.recording.time, *lateness(model.terms))


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


def measured(efforts: Array, time: Array, delay: float, lag: float) -> Array:
    """Efforts (N, A) at times (N,) s as a drive gives them: after a filter of first order, and later by a delay."""
    efforts = filtered(efforts, time, lag)
    return CubicSpline(time, efforts, axis=0)(np.clip(time - delay, time[0], time[-1])) if delay else efforts


def filtered(values: Array, time: Array, lag: float) -> Array:
    """Values (N, A) at times (N,) s after a filter of first order with a time constant; 0: as they are."""
    if not lag:
        return values
    half = 0.5 * (time[-1] - time[0]) / (len(time) - 1)
    new, old = half / (lag + half), (lag - half) / (lag + half)  # trapezoidal rule
    return np.asarray(lfilter([new, new], [1.0, -old], values, axis=0, zi=(1.0 - new) * values[:1])[0])


def lateness(terms: tuple[Term, ...]) -> tuple[float, float]:
    """Delay and time constant of the filter by which efforts come late, s."""
    late = delay_of(terms)
    return (late.delay, late.lag) if late else (0.0, 0.0)


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
        samples = at_levels(model, data, samples, parameters)
    return presliding.deflected(samples, 1.0 / data.recording.sample_rate)


def at_levels(
    model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array
) -> JointSamples:
    """Samples with the levels of the drives' friction by all parameters of a model."""
    levels = joined(_sliding(model, data, samples, parameters), len(data.motion))
    return replace(samples, levels=np.maximum(levels, 0.0))


def _sliding(model: ObservationModel, data: PreparedData, samples: JointSamples, parameters: Array) -> OfPart:
    """Friction (n, A) of each drive per unit of its deflection, that of sliding, in a part of the samples."""
    drives = np.arange(model.machine.actuated_count)
    rubbing = [
        (data.by_deflection(term, samples), (term.column_places[:, None] == drives) * values[:, None])
        for term, values in model.with_parameters(parameters) if term.dissipates
    ]  # fmt: skip
    return lambda part: sum((by(part) @ own for by, own in rubbing), np.zeros((1, len(drives))))


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
        slopes = term.deflection_slopes(samples, 1.0 / data.recording.sample_rate)
        sliding = _sliding(model, data, samples, parameters)
        rows = data.joint_rows(lambda part: slopes[part] * sliding(part), np.arange(len(term.joints)))
        return term.of_owners(rows)
    if isinstance(term, EffortDelay):
        rates, drives = samples.effort_rates, np.arange(model.machine.actuated_count)
        both = -rates, -filtered(rates, data.recording.time, term.lag)
        return np.stack([
            data.joint_rows(one.__getitem__, drives).sum(axis=-1) for one in both[: len(term.shape)]
        ], axis=-1)  # fmt: skip
    own = next(values for one, values in model.with_parameters(parameters) if one.names == term.names)
    return data.slope_rows(term, samples, own)


def all_rows(
    model: ObservationModel, data: PreparedData, samples: JointSamples, kept: dict[Term, Array] | None = None
) -> Array:
    """Rows (n, A, P) of all parameters of a model, free and held, in the order of its ``all_names``.

    Parameters
    ----------
    kept : rows of terms that no solution changes, without deflections, which are computed once, and put there
    """
    kept = {} if kept is None else kept
    deflections = samples.deflections if presliding_of(model.terms) is not None else None
    # contacts that are not deflected at all: rows are affine in the deflections
    still = samples if deflections is None else replace(samples, deflections=np.zeros_like(deflections))

    def rows(term: Term) -> Array:
        if term.from_model or term.shape_names:
            return data.term_rows(term, samples)
        if term not in kept:
            kept[term] = data.term_rows(term, still if term.dissipates else samples)
        if deflections is None or not term.dissipates:
            return kept[term]
        by, places = data.by_deflection(term, samples), term.column_places
        drives = np.minimum(places, deflections.shape[1] - 1)  # columns of passive joints do not change
        return kept[term] + data.joint_rows(lambda part: by(part) * deflections[part][:, drives], places)

    return np.concatenate([data.structure_rows, *map(rows, model.terms)], axis=-1)
