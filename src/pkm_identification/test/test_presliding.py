"""Friction that rises over a distance after reversals: the contact's model, its derivatives, and finding it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.arrays import Array
from pkm_description.kernels.friction import deflect
from pkm_description.machine import Machine
from pkm_identification.columns.friction_term import Presliding, presliding_of
from pkm_identification.columns.observation import observation_model
from pkm_identification.columns.term import JointSamples
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.pipeline import identify
from pkm_identification.result import IdentificationResult
from scipy.interpolate import make_interp_spline
from synthetic import clean_signals, recording

PERIOD = 1e-3


def waves(count: int = 2000) -> JointSamples:
    """Two drives that turn several times."""
    time = PERIOD * np.arange(count)[:, None]
    rates = 2.0 * np.pi * np.array([1.3, 2.1])
    wave = np.sin(rates * time)
    motion = [0.02 * wave, 0.02 * rates * np.cos(rates * time), -0.02 * rates**2 * wave]
    return JointSamples(*motion, lively=motion[1], sign_shares=np.ones_like(motion[1]))


def contact(positions: Array, distance: float | Array, finer: int = 20) -> Array:
    """Deflections (N,) over positions (N,): Dahl's equation in explicit steps between the samples.

    ``distance`` of all samples, or of each (N,).
    """
    distances = np.broadcast_to(distance, positions.shape)
    count = len(positions)
    fine = make_interp_spline(np.arange(count), positions, k=3)(np.linspace(0.0, count - 1.0, finer * (count - 1) + 1))
    deflection, found = float(np.sign(fine[1] - fine[0])), []
    for place, step in enumerate(np.diff(fine)):
        if place % finer == 0:
            found.append(deflection)
        deflection += (np.sign(step) - deflection) * -np.expm1(-abs(step) / distances[place // finer + 1])
    return np.array([*found, deflection])


def test_deflection_and_its_slope() -> None:
    samples, stiffnesses = waves(), np.array([5e5, 1e5])
    # friction that changes with the load, threefold
    levels = 50.0 * (1.0 + 0.5 * np.sin(7.0 * PERIOD * np.arange(2000)))[:, None] * np.array([1.0, 1.4])
    found, slopes, higher, lower = np.empty((4, *samples.lively.shape))
    deflect(samples.lively, samples.directions, PERIOD, levels, stiffnesses, found, slopes)
    for drive, distance in enumerate((levels / stiffnesses).T):
        assert found[:, drive] == pytest.approx(contact(samples.positions[:, drive], distance), abs=0.03)
    unused = np.empty_like(found)
    deflect(samples.lively, samples.directions, PERIOD, levels, stiffnesses * (1.0 + 1e-6), higher, unused)
    deflect(samples.lively, samples.directions, PERIOD, levels, stiffnesses * (1.0 - 1e-6), lower, unused)
    assert slopes == pytest.approx((higher - lower) / (2e-6 * stiffnesses), abs=1e-5 * np.abs(slopes).max())


def test_contacts_without_friction_slide_at_once() -> None:
    samples = waves()
    found, slopes = np.empty((2, *samples.lively.shape))
    deflect(samples.lively, samples.directions, PERIOD, np.zeros_like(found), np.ones(2), found, slopes)
    assert np.array_equal(found, samples.directions)
    assert not slopes.any()


def test_a_short_distance_is_none() -> None:
    samples = waves()
    term = Presliding(['a', 'b'], ['drives', 'drives'], [1e12, 1e12])
    samples = replace(samples, levels=np.ones_like(samples.lively))
    assert term.deflected(samples, PERIOD).signs[1:] == pytest.approx(samples.signs[1:], abs=1e-9)


@pytest.mark.parametrize('law', ['stribeck', 'asymmetric_coulomb'])
def test_slopes_of_friction(law: str) -> None:
    """Of all friction together, against finite differences."""
    names = {'columns.friction_law': law, 'columns.terms': ['load_friction', 'presliding']}
    khalifa, samples = known_machine('khalifa_3prr'), waves()
    samples = JointSamples(*(np.repeat(part[:, :1], 3, axis=1) for part in (
        samples.positions, samples.velocities, samples.accelerations, samples.lively, samples.sign_shares,
    )), efforts=np.full((len(samples.lively), 3), -300.0))  # fmt: skip
    model = observation_model(khalifa, IdentificationConfig.from_mapping(names), samples.positions, 1.0 / PERIOD)
    term = presliding_of(model.terms)
    coulomb = np.exp(np.mean(np.log([joint.friction.coulomb for joint in khalifa.actuated_joints])))
    assert term is not None and term.shape == pytest.approx(coulomb / (1e-4 * 0.04), rel=0.1)
    random = np.random.default_rng(0)
    terms = [(one, random.uniform(0.5, 1.5, size=len(one.names))) for one in model.terms]
    drives = np.arange(3)
    own = [(one.column_places[:, None] == drives) * values[:, None] for one, values in terms]
    sliding = np.sum([one.by_deflection(samples) @ part for (one, _), part in zip(terms, own, strict=True)], axis=0)
    samples = replace(samples, levels=np.maximum(sliding, 0.0))
    middle = float(samples.levels.mean()) / 2e-4

    def forces(stiffness: float) -> Array:
        deflected = term.with_shape(np.array([stiffness])).deflected(samples, PERIOD)
        return np.sum([one.columns(deflected) @ part for (one, _), part in zip(terms, own, strict=True)], axis=0)

    slopes = term.with_shape(np.array([middle])).deflection_slopes(samples, PERIOD) * sliding
    expected = (forces(middle * (1.0 + 1e-6)) - forces(middle * (1.0 - 1e-6))) / (2e-6 * middle)
    assert slopes == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())


def identified(machine: Machine, duration: float, distance: float, **settings: object) -> IdentificationResult:
    """Identification of forces whose Coulomb friction turns over a distance; 0: at once."""
    motion, positions, forces = clean_signals(machine, 'fourier', duration, 500.0, 0)
    if distance:
        rates = np.gradient(positions, motion.time, axis=0)
        turned = np.stack([contact(column, distance) for column in positions.T], axis=1)
        coulomb = np.array([joint.friction.coulomb for joint in machine.actuated_joints])
        forces = forces + coulomb * (turned - np.sign(rates))
    config = IdentificationConfig.from_mapping({f'columns.{name}': value for name, value in settings.items()})
    return identify(machine, recording(machine, (motion, positions, forces), 1), config=config)


@pytest.mark.usefixtures('fit_alone')
def test_it_is_found(srs: Machine) -> None:
    result = identified(srs, 9.0, 3e-4)
    assert result.added == (Presliding.title,)
    names = [name for name in result.shape.names if name.endswith('.presliding_stiffness')]
    places = [result.shape.names.index(name) for name in names]
    values, std = result.shape.values[places], result.shape.std[places]
    truth = np.array([joint.friction.coulomb for joint in srs.actuated_joints]) / 3e-4
    print(f'{names}: {values} +- {std}, {truth}')
    assert (np.abs(values - truth) < 4.0 * std).all() and (std < 0.15 * values).all()
    assert any(Presliding.title in text for text in result.warnings)


@pytest.mark.usefixtures('fit_alone')
def test_what_turns_at_once_has_none(srs: Machine) -> None:
    assert identified(srs, 8.0, 0.0).added == ()


def test_a_drive_that_stands_still_has_no_distance_of_zero() -> None:
    term = Presliding.of(known_machine('srs'), np.zeros(6), np.zeros(6))
    assert (term.shape > 0.0).all() and (term.shape_limits[:, 0] > 0.0).all()
    still = JointSamples(*np.zeros((4, 10, 6)), np.ones((10, 6)), levels=np.ones((10, 6)))
    assert not term.deflected(still, PERIOD).signs.any()
