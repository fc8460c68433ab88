"""A model that lacks a force says so, names it, and calls nothing identified; a complete one gives no alarm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_joints
from pkm_identification.compare import compare_with_truth
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.fitting.lack_of_fit import MissingForce, with_doubtful_forces
from pkm_identification.judgement.significance import KNOWN, NOT_TRUSTED
from pkm_identification.pipeline import identify
from pkm_identification.result import INSUFFICIENT
from synthetic import clean_signals, recording, with_force

Force = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def stribeck(position: np.ndarray, velocity: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Friction that fades with a form of its own, not with the one that is tried."""
    fading = 1.0 / (1.0 + (velocity / (0.07 * np.abs(velocity).max())) ** 2)
    return 0.02 * np.abs(force).mean() * np.sign(velocity) * fading


#: the model stays as it is
FIXED = IdentificationConfig.from_mapping({'columns.extend': False})

#: what is added to the efforts, and a word of its name
MISSING: dict[str, tuple[Force, str]] = {
    'offset': (lambda q, v, f: 0.02 * np.abs(f).mean() * np.array([1.0, 0.0, -1.0, 0.5, -0.5, 0.0]), 'offset'),
    'asymmetric': (
        lambda q, v, f: np.where(v > 0.0, 0.02, -0.01) * np.abs(f).mean() * (np.arange(f.shape[1]) < 2), 'by direction'
    ),
    'load': (lambda q, v, f: 0.02 * np.abs(f) * np.sign(v), 'grows with the drive'),
    'stribeck': (stribeck, 'Stribeck'),
}


@pytest.fixture(scope='module', params=[pytest.param('srs', marks=pytest.mark.campaign), 'palida'])
def machine(request: pytest.FixtureRequest) -> Machine:
    """Return two machines with forces of 4000 and 30 N."""
    return known_machine(request.param)


@pytest.fixture(scope='module')
def signals(machine: Machine) -> tuple:
    """Return 16 s of excitation."""
    return clean_signals(machine, 'fourier', 16.0, 100.0, 0)


@pytest.mark.usefixtures('fit_alone')
@pytest.mark.parametrize('kind', sorted(MISSING))
def test_missing_force_is_named_and_nothing_is_identified(machine: Machine, signals: tuple, kind: str) -> None:
    force, word = MISSING[kind]
    result = identify(machine, recording(machine, with_force(signals, force), 1), config=FIXED)
    assert result.status == INSUFFICIENT
    assert set(result.classification) == {NOT_TRUSTED}
    assert 'the model is insufficient' in result.warnings[0]
    assert any(word in found.name for found in result.missing_forces[:2])
    assert result.missing_forces[0].probability < 1e-10
    assert result.summary.startswith('model insufficient: 0 of')
    # the alarm is right: without it, values far from the truth would be called identified. An offset is so slow that
    # the noise of the rows has it, and their weights with it
    if kind != 'offset':
        assert max(abs(row.standardised_error) for row in compare_with_truth(result, machine)) > 3.0


@pytest.mark.usefixtures('fit_alone')
@pytest.mark.parametrize('size', [0.005, 0.02])
def test_a_slow_force_that_makes_most_of_the_residuals_is_seen(size: float) -> None:
    """Residuals that are hardly more than it are as slow as it is: their correlation is no noise."""
    palida = known_machine('palida')
    clean = clean_signals(palida, 'fourier', 12.0, 100.0, 0)
    factors = size * np.array([1.0, -0.7, -1.0, 0.5, -0.5, 0.8])
    signals = with_force(clean, lambda q, v, f: factors * np.abs(f).mean())
    result = identify(palida, recording(palida, signals, 1), config=FIXED)
    assert result.status == INSUFFICIENT
    assert 'constant offset' in result.missing_forces[0].name
    assert (result.missing_forces[0].share > 0.5) == (size > 0.01)


@pytest.mark.usefixtures('fit_alone')
def test_one_drive_with_an_offset_counts_little(machine: Machine) -> None:
    """The weights follow the residuals: one drive that does not fit spoils no values, alarm or not."""
    signals = clean_signals(machine, 'fourier', 25.0, 100.0, 0)
    force = with_force(signals, lambda q, v, f: 0.02 * np.abs(f).mean() * (np.arange(f.shape[1]) == 1))
    result = identify(machine, recording(machine, force, 1), config=FIXED)
    assert max(abs(row.standardised_error) for row in compare_with_truth(result, machine)) < 4.0
    assert result.estimate.force_std[1] > 2.0 * np.median(result.estimate.force_std)


@pytest.mark.usefixtures('fit_alone')
@pytest.mark.parametrize('seed', [0, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in (1, 2, 3))])
def test_complete_model_gives_no_alarm(machine: Machine, signals: tuple, seed: int) -> None:
    result = identify(machine, recording(machine, signals, seed))
    assert not [found for found in result.missing_forces if found.is_decisive]
    assert result.missing_forces[0].probability > 1e-5
    assert result.classification.count('identified') >= 20


@pytest.mark.usefixtures('fit_alone')
def test_harmless_ripple_is_no_alarm(signals: tuple, machine: Machine) -> None:
    ripple = with_force(signals, lambda q, v, f: 0.0005 * np.abs(f).mean() * np.sin(2.0 * np.pi * q / 0.01))
    result = identify(machine, recording(machine, ripple, 1), config=FIXED)
    assert result.status != INSUFFICIENT
    assert max(abs(row.standardised_error) for row in compare_with_truth(result, machine)) < 4.0


def force_that_shifts(shifts: list[float], probability: float) -> MissingForce:
    """Two base parameters with deviations of 2 and 3 would change by so many of them."""
    changes = np.array(shifts) * [2.0, 3.0]
    return MissingForce('a force', float(np.log(probability)), 0.01, np.array(shifts), None, lambda: changes)  # type: ignore[arg-type]


def test_from_one_deviation_on_a_force_is_decisive_and_below_deviations_have_it() -> None:
    estimate = Estimate(
        np.ones(2), np.diag([4.0, 9.0]), np.ones(1), np.zeros((3, 1)), np.ones((1, 1)), 1.0, 1.0
    )  # fmt: skip
    decisive, small = force_that_shifts([0.1, -1.1], 1e-9), force_that_shifts([0.1, -0.9], 1e-9)
    doubtful, chance = force_that_shifts([-2.0, 0.0], 1e-4), force_that_shifts([5.0, 5.0], 0.01)
    assert [force.is_decisive for force in (decisive, small, doubtful, chance)] == [True, False, False, False]
    np.testing.assert_allclose(
        with_doubtful_forces(estimate, [small, doubtful, chance]).covariance,
        np.diag([4.0, 9.0]) + np.outer([0.2, -2.7], [0.2, -2.7]) + np.diag([16.0, 0.0]),
    )
    # an alarm says that deviations mean nothing, and chance has no part in them
    assert with_doubtful_forces(estimate, [decisive, small]) is estimate
    assert with_doubtful_forces(estimate, [chance]) is estimate


@pytest.mark.usefixtures('fit_alone')
@pytest.mark.parametrize(
    ('size', 'seed'),
    [(0.2, 1), *(pytest.param(*one, marks=pytest.mark.campaign) for one in ((0.15, 1), (0.2, 2)))],
)
def test_what_is_hardly_seen_is_an_alarm_or_in_the_deviations(size: float, seed: int) -> None:
    """Stribeck friction alike in all drives, of 0.3 and 0.4 % of the force, at the edge of what noise lets through."""
    palida = known_machine('palida')
    clean = clean_signals(palida, 'fourier', 25.0, 100.0, 0)
    weak = with_force(clean, lambda q, v, f: size * stribeck(q, v, f))
    result = identify(palida, recording(palida, weak, seed), config=FIXED)
    worst = max(abs(row.standardised_error) for row in compare_with_truth(result, palida))
    assert result.status == INSUFFICIENT if size == 0.2 else worst < 4.0


@pytest.mark.usefixtures('fit_alone')
def test_fewer_degrees_of_freedom() -> None:
    tripod = known_machine('valencia_3rps')
    signals = clean_signals(tripod, 'drives', 16.0, 100.0, 0)
    # drives here move against friction nearly always: with rotors of any size, this is a gain of all efforts
    held = IdentificationConfig.from_mapping({'columns.extend': False, 'columns.fixed': '*.rotor_inertia'})
    complete = identify(tripod, recording(tripod, signals, 1), config=held)
    assert not any(found.is_decisive for found in complete.missing_forces)
    loaded = with_force(signals, lambda q, v, f: 0.1 * np.abs(f) * np.sign(v))  # its efforts have noise of 50 N in 700
    assert identify(tripod, recording(tripod, loaded, 1), config=held).status == INSUFFICIENT


@pytest.mark.usefixtures('fit_alone')
def test_a_data_sheet_of_the_rotors_that_is_wrong_moves_no_value() -> None:
    """Rotors that the file states are fitted: 15 % off, masses were 69 of their standard deviations wrong."""
    tripod = known_machine('valencia_3rps')
    quiet = replace(tripod, leg_sensors=replace(tripod.leg_sensors, effort_noise=0.1 * tripod.leg_sensors.effort_noise))
    wrong = with_joints(quiet, lambda joint: replace(joint, rotor_inertia=0.85 * joint.rotor_inertia))
    result = identify(wrong, recording(quiet, clean_signals(quiet, 'drives', 16.0, 100.0, 0), 1))
    rows = [row for row in compare_with_truth(result, tripod) if row.status in KNOWN]
    assert not result.added and len(rows) > 12
    assert max(abs(row.standardised_error) for row in rows) < 4.0
