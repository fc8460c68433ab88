"""Forces that real drives have, offered to a fit: each with the model that would have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

import numpy as np
from pkm_description.arrays import Array
from pkm_description.friction_laws import FrictionLaw, Stribeck, ViscousCoulomb
from pkm_description.machine import Machine
from scipy.sparse import csr_array

from pkm_identification.columns.friction_term import BEGIN, FrictionTerm, Pooled
from pkm_identification.columns.joint_terms import (
    DRIVE_INERTIA,
    LOAD_FRICTION,
    OFFSET,
    QUADRATIC_FRICTION,
    SPRING,
    THRUST_FRICTION,
    EffortDelay,
    Gain,
    OneFactor,
    PlatformForce,
    Ripple,
    delay_of,
)
from pkm_identification.columns.observation import OF_PASSIVE_JOINTS, ObservationModel, of_passive_joints
from pkm_identification.columns.term import JointSamples, PerJoint, Term
from pkm_identification.fitting.model_fit import ModelFit
from pkm_identification.fitting.prediction import samples_with_efforts, slope_rows
from pkm_identification.preparation import PreparedData

#: periods of a ripple, as numbers of waves over the travel of a drive: no wave is far from one of them
WAVES = np.arange(1.0, 60.5, 0.5)
#: of them, whose rows are computed at once
TOGETHER = 20
#: speeds at which Stribeck friction fades, as parts of the largest one
STRIBECK = (0.03, 0.1)
#: exponents of it from which it is searched: with one alone the search may end in another minimum
EXPONENTS = (1.0, 2.0)
#: s, time constant of the drives' filter of the effort, from which it is searched
LAG = 5e-3
#: titles of forces that are offered elsewhere, too
STRIBECK_TITLE, GAIN_TITLE = 'Stribeck friction', 'a wrong gain of the effort, or legs that differ'
LAG_TITLE = 'efforts that come late by a filter'
#: titles of laws by direction
VISCOUS_TITLE = 'viscous friction that differs with the direction'
DIRECTED, DIRECTED_TITLE = 'asymmetric_stribeck', 'Stribeck friction that differs with the direction'

Extension = Callable[[ObservationModel], ObservationModel]


@dataclass(frozen=True)
class Candidate:
    """A force that a model may lack.

    Attributes
    ----------
    title : in words
    rows : its rows (n, A, C) for a prepared recording
    extensions : each makes a model that has it, where a search of nonlinear parameters begins elsewhere; none of ours
        may have it
    alike : (C, G) the G sums of columns that drives which are built alike have; ``None`` where drives may differ
    size : factors (C,) in words
    """

    title: str
    rows: Callable[[PreparedData], Array]
    extensions: tuple[Extension, ...]
    alike: Array | None = None
    size: Callable[[Array], str] | None = None


def candidates(data: PreparedData, fit: ModelFit) -> Iterator[Candidate]:
    """Forces of single joints that a fitted model does not have, but for ripples."""
    model = fit.model
    joints = model.machine.actuated_joint_names
    samples = _with_efforts(data, fit)
    kinds, near_home = model.kinds, from_home(model.machine, samples)
    for form in (OFFSET, LOAD_FRICTION, QUADRATIC_FRICTION, SPRING, DRIVE_INERTIA):
        if form.kind not in kinds:
            offered = _per_drive(form.title, near_home, [form.force], _with(OneFactor(form, joints)))
            # a coefficient has the same sign and no unit
            yield replace(offered, alike=np.ones((len(joints), 1))) if form is LOAD_FRICTION else offered
    yield from _of_passive_joints(data, model)
    if PlatformForce.kind not in kinds:
        yield Candidate(PlatformForce.title, attrgetter('platform_rows'), (_with(PlatformForce()),))
    fastest = np.maximum(np.abs(samples.lively).max(axis=0), 1e-300)
    if not model.has_drive_friction:
        viscous = FrictionTerm.of(model.machine).with_law('viscous_coulomb', fastest)
        yield _per_drive('Coulomb friction', samples, [attrgetter('signs')], _with(viscous))
        yield _per_drive('viscous friction', samples, [attrgetter('velocities')], _with(viscous))
    fades = [partial(fading, part * fastest) for part in STRIBECK]
    starts = _starts('stribeck', fastest) if _have_all_drives(model, ViscousCoulomb) else ()
    yield replace(_per_drive(STRIBECK_TITLE, samples, fades, *starts), alike=_alike(model.machine))
    if _have_all_drives(model, ViscousCoulomb):
        yield _per_drive(VISCOUS_TITLE, samples, [lambda own: np.abs(own.velocities)], _with_law('asymmetric', fastest))
    if _have_all_drives(model, Stribeck):
        fades = [partial(_fading_alike, part * fastest) for part in STRIBECK]
        kept = _with_law(DIRECTED, fastest)
        yield _per_drive(DIRECTED_TITLE, samples, fades, kept, *_starts(DIRECTED, fastest))
    for term in model.terms:
        if isinstance(term, Pooled) and term.pooled and term.can_be_pooled:
            yield _of_own(term, fit)
    rates = np.gradient(fit.efforts, 1.0 / data.recording.sample_rate, axis=0)
    total = replace(samples, efforts=fit.efforts, effort_rates=rates)
    if 'gain' not in kinds:
        gain = _per_drive(GAIN_TITLE, total, [attrgetter('efforts')], _with(Gain(joints)))
        yield replace(gain, size=partial(_gains, model.machine.drive_labels))
    late = delay_of(model.terms)
    if late is None:
        delay = _per_drive(EffortDelay.title, total, [attrgetter('effort_rates')], _with(EffortDelay()))
        yield replace(delay, alike=np.ones((len(joints), 1)))
    elif not late.lag:  # a filter is a delay, and at first order in its time constant nothing else
        bent = replace(total, effort_rates=np.gradient(rates, 1.0 / data.recording.sample_rate, axis=0))
        lag = _per_drive(LAG_TITLE, bent, [attrgetter('effort_rates')], _with_lag)
        yield replace(lag, alike=np.ones((len(joints), 1)))


def _of_own(term: Pooled, fit: ModelFit) -> Candidate:
    """Nonlinear parameters of each drive's own, in place of shared ones."""
    single = term.pooling(False)
    names = ', '.join(dict.fromkeys(name.rpartition('.')[2] for name in single.shape_names))

    def extended(model: ObservationModel) -> ObservationModel:
        alike = [one.kind == term.kind and one.names == term.names for one in model.terms]
        return model.with_terms([
            one.pooling(False) if own and isinstance(one, Pooled) else one
            for one, own in zip(model.terms, alike, strict=True)
        ])

    return Candidate(
        f"{names} of the drives' own: those of the same kind do not share them",
        lambda data: slope_rows(fit.model, data, single, fit.samples, fit.parameters), (extended,),
    )  # fmt: skip


def _of_passive_joints(data: PreparedData, model: ObservationModel) -> Iterator[Candidate]:
    """Friction of passive joints, with loads by the machine file: constant, and growing with the force in the joint."""
    machine = model.machine
    if machine.actuated_count == len(machine.joints):
        return
    offers: list[tuple[str, FrictionTerm | PerJoint]] = [
        ('Coulomb friction of passive joints', FrictionTerm.of(machine, 'passive'))
    ]
    for form in OF_PASSIVE_JOINTS:
        title = form.title if form is THRUST_FRICTION else f'{form.title}, in passive joints'
        offers.append((title, of_passive_joints(machine, form)))
    kinds = {term.kind for term in model.terms if (term.column_places >= machine.actuated_count).any()}
    for place, (title, term) in enumerate(offers):
        if term.kind not in kinds:
            yield Candidate(title, partial(_passive_rows, place), (_with(term),))


def ripples(data: PreparedData) -> Iterator[Candidate]:
    """Ripples of several periods over the position of the drives, m or rad; rows are computed once."""
    joints, positions = data.model.machine.actuated_joint_names, data.samples.positions
    travel = max(float(np.ptp(positions, axis=0).mean()), 1e-300)
    drives = np.repeat(np.arange(len(joints)), 2)
    for several in np.split(WAVES, range(TOGETHER, len(WAVES), TOGETHER)):
        columns = partial(_waves, several, 2.0 * np.pi / travel * positions)
        rows = data.joint_rows(columns, np.tile(drives, len(several)))
        for waves, own in zip(several.tolist(), np.split(rows, len(several), axis=-1), strict=True):
            ripple = Ripple(joints, travel / waves, travel)
            title = f'{Ripple.title}, with a period of about {ripple.period:.3g} m or rad'
            yield Candidate(title, _constant(own), (_with(ripple),))


def _waves(numbers: Array, phases: Array, part: slice) -> Array:
    """Columns (n, 2 A K) of K numbers of waves, each half a wave more: sines and cosines (:meth:`Ripple.columns`)."""
    wave, half = np.exp(1j * numbers[0] * phases[part]), np.exp(0.5j * phases[part])
    found = []
    for _ in numbers:
        found.append(np.stack([wave.imag, wave.real], axis=-1))
        wave = wave * half
    return np.stack(found, axis=1).reshape(len(half), -1)


def _with_efforts(data: PreparedData, fit: ModelFit) -> JointSamples:
    """Samples with the efforts without friction.

    They are the model's: the noise of measured ones is in the residuals, too, so that they would explain them.
    """
    if any(term.from_model for term in fit.model.terms):
        return fit.samples
    return samples_with_efforts(fit.model, data, fit.parameters, fit.model.machine)


def _passive_rows(place: int, data: PreparedData) -> Array:
    return data.passive_rows[place]


def _constant(rows: Array) -> Callable[[PreparedData], Array]:
    """Rows (n, A, P), kept without their zeros: a drive's force has no rows in the other drives."""
    shape, kept = rows.shape, csr_array(rows.reshape(-1, rows.shape[-1]))
    return lambda data: kept.toarray().reshape(shape)


def _gains(labels: tuple[str, ...], factors: Array) -> str:
    """Gains (A,) less 1 in words, relative to the usual one."""
    gains = (1.0 + factors) / (1.0 + np.median(factors))
    return ', '.join(f'{label} {gain:.2f}' for label, gain in zip(labels, gains, strict=True))


def from_home(machine: Machine, samples: JointSamples) -> JointSamples:
    """Samples of the drives with positions from home: the rest of a spring's force is an offset, which is offered, too.

    Beside lengths from zero, what a spring changes on the way would be lost.
    """
    return replace(samples, positions=samples.positions - [joint.home for joint in machine.actuated_joints])


def _alike(machine: Machine) -> Array:
    """Columns (S A, S) of drives in proportion to the file's Coulomb friction, if all have it, for each of S speeds."""
    sizes = np.array([joint.friction.coulomb for joint in machine.actuated_joints])
    sizes = sizes if (sizes > 0.0).all() else np.ones(len(sizes))
    return np.asarray(np.kron(np.eye(len(STRIBECK)), sizes[:, None]), dtype=float)


def fading(speeds: Array, samples: JointSamples) -> Array:
    """Force (N, A) of 1 N near rest that fades with the speed of the drive, by ``speeds`` (A,)."""
    return samples.signs * _fading_alike(speeds, samples)


def _fading_alike(speeds: Array, samples: JointSamples) -> Array:
    """The same with one direction, whichever way the drive moves."""
    return np.asarray(np.exp(-np.abs(samples.lively) / speeds))


def _per_drive(
    title: str, samples: JointSamples, forms: Sequence[Callable[[JointSamples], Array]], *extensions: Extension
) -> Candidate:
    """Candidate with forms (N, A), one factor for each drive."""
    drives = np.tile(np.arange(samples.positions.shape[1]), len(forms))

    def columns(part: slice) -> Array:
        return np.concatenate([form(samples[part]) for form in forms], axis=1)

    return Candidate(title, lambda data: data.joint_rows(columns, drives), extensions)


def _with(term: Term) -> Extension:
    return lambda model: model.with_terms((*model.terms, term))


def _with_lag(model: ObservationModel) -> ObservationModel:
    """A filter takes over a part of the delay."""
    late = delay_of(model.terms)
    others = [term for term in model.terms if term is not late]
    return model.with_terms([*others, EffortDelay((late.delay if late else 0.0) - LAG, LAG)])


def _have_all_drives(model: ObservationModel, kind: type[FrictionLaw]) -> bool:
    """Whether all drives have friction of one law; other laws stay."""
    frictions = [term for term in model.terms if isinstance(term, FrictionTerm)]
    drives = model.machine.actuated_count
    laws = [law for term in frictions for law, place in zip(term.laws, term.places, strict=True) if place < drives]
    return bool(laws) and all(isinstance(law, kind) for law in laws)


def _starts(law: str, fastest: Array) -> tuple[Extension, ...]:
    """Models with a law that fades, and exponents from which it is searched."""
    velocity = BEGIN['stribeck_velocity']
    return tuple(_with_law(law, fastest, exponent=exponent, stribeck_velocity=velocity) for exponent in EXPONENTS)


def _with_law(name: str, fastest: Array, **shape: float) -> Extension:
    """Another law of the drives in place of theirs."""

    def extended(model: ObservationModel) -> ObservationModel:
        return model.with_terms([
            term.with_law(name, fastest, **shape) if isinstance(term, FrictionTerm) else term for term in model.terms
        ])

    return extended


def own_legs(fit: ModelFit) -> Iterator[Candidate]:
    """Legs that differ: parameters of its own for each."""
    if apart := fit.model.with_own_legs():
        yield Candidate(
            'legs that differ',
            lambda data: data.rows_of(lambda part: apart.structure(data.motion[part])),
            (lambda model: model.with_own_legs() or model,),
        )
