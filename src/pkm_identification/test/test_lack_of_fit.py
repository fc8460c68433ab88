"""A model that lacks a force says so, names it, and calls nothing identified; a complete one gives no alarm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_identification.compare import compare_with_truth
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.judgement.significance import NOT_TRUSTED
from pkm_identification.pipeline import identify
from pkm_identification.result import INSUFFICIENT
from synthetic import clean_signals, recording

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


def with_force(signals: tuple, force: Force | None) -> tuple:
    """Signals of a machine that has one more force."""
    motion, positions, forces = signals
    if force is None:
        return signals
    velocities = np.gradient(positions, motion.time, axis=0)
    return motion, positions, forces + force(positions, velocities, forces)


@pytest.fixture(scope='module', params=['srs', 'palida'])
def machine(request: pytest.FixtureRequest) -> Machine:
    """Return two machines with forces of 4000 and 30 N."""
    return load_machine(request.param)


@pytest.fixture(scope='module')
def signals(machine: Machine) -> tuple:
    """Return 25 s of excitation."""
    return clean_signals(machine, 'fourier', 25.0, 100.0, 0)


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
    # the alarm is right: without it, values far from the truth would be called identified
    assert max(abs(row.standardised_error) for row in compare_with_truth(result, machine)) > 3.0


def test_one_drive_with_an_offset_counts_little(machine: Machine, signals: tuple) -> None:
    """The weights follow the residuals: one drive that does not fit spoils no values, alarm or not."""
    force = with_force(signals, lambda q, v, f: 0.02 * np.abs(f).mean() * (np.arange(f.shape[1]) == 1))
    result = identify(machine, recording(machine, force, 1), config=FIXED)
    assert max(abs(row.standardised_error) for row in compare_with_truth(result, machine)) < 4.0
    assert result.estimate.force_std[1] > 5.0 * np.median(result.estimate.force_std)


@pytest.mark.parametrize('seed', range(4))
def test_complete_model_gives_no_alarm(machine: Machine, signals: tuple, seed: int) -> None:
    result = identify(machine, recording(machine, signals, seed))
    assert not [found for found in result.missing_forces if found.is_decisive]
    assert result.missing_forces[0].probability > 1e-5
    assert result.classification.count('identified') >= 20


def test_harmless_ripple_is_no_alarm(signals: tuple, machine: Machine) -> None:
    ripple = with_force(signals, lambda q, v, f: 0.002 * np.abs(f).mean() * np.sin(2.0 * np.pi * q / 0.01))
    result = identify(machine, recording(machine, ripple, 1), config=FIXED)
    assert result.status != INSUFFICIENT


def test_fewer_degrees_of_freedom() -> None:
    tripod = load_machine('valencia_3rps')
    signals = clean_signals(tripod, 'drives', 25.0, 100.0, 0)
    assert not any(found.is_decisive for found in identify(tripod, recording(tripod, signals, 1)).missing_forces)
    loaded = with_force(signals, lambda q, v, f: 0.1 * np.abs(f) * np.sign(v))  # its efforts have noise of 50 N in 700
    assert identify(tripod, recording(tripod, loaded, 1), config=FIXED).status == INSUFFICIENT
