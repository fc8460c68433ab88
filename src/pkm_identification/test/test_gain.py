"""Gains of the efforts against a reference drive: ratios are found, the scale of all is named as unknown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.machine import Machine
from pkm_identification.columns.observation import observation_model
from pkm_identification.fitting.model_fit import ModelFit, fit_model
from pkm_identification.preparation import prepare
from synthetic import clean_signals, recording

from pkm_identification import IdentificationConfig, IdentificationResult, Recording, identify

GAINS = np.array([1.0, 1.1, 0.95, 1.0, 0.85, 1.05])
TOTAL = 'platform_link.m + 6 leg_rod.m'
CONFIG = IdentificationConfig.from_mapping({'columns.extend': False, 'columns.terms': 'gain'})


@pytest.fixture(scope='module')
def clean(srs: Machine) -> Recording:
    return recording(srs, clean_signals(srs, 'fourier', 16.0, 100.0, 0), 1)


def fitted(machine: Machine, run: Recording) -> ModelFit:
    """Fit with gains, without what an identification has beside it."""
    model = observation_model(machine, CONFIG, run.drive_positions, run.sample_rate)
    return fit_model(prepare(model, run, CONFIG), model, CONFIG)


@pytest.fixture(scope='module')
def total(srs: Machine, clean: Recording) -> float:
    """Return the mass of platform and rods with right efforts."""
    return value_of(fitted(srs, clean), TOTAL)


def value_of(found: IdentificationResult | ModelFit, name: str) -> float:
    return float(found.estimate.parameters[found.base.names.index(name)])


def gain_errors(result: IdentificationResult | ModelFit) -> tuple[np.ndarray, np.ndarray]:
    """Values and standard deviations."""
    places = [place for place, name in enumerate(result.base.names) if name.endswith('.gain_error')]
    return result.estimate.parameters[places], result.estimate.std[places]


def test_ratios_to_the_reference_are_found(srs: Machine, clean: Recording, total: float) -> None:
    """The wrong gains are known to a thousandth, and the machine as if they were right."""
    found = identify(srs, replace(clean, forces=clean.forces * GAINS), config=CONFIG)
    errors, std = gain_errors(found)
    assert errors == pytest.approx(GAINS[1:] - 1.0, abs=2e-3)
    assert np.abs((errors - GAINS[1:] + 1.0) / std).max() < 5.0
    assert found.status != 'model insufficient'
    assert value_of(found, TOTAL) == pytest.approx(total, rel=2e-3)
    assert any('gains are relative to the effort of leg1_prismatic: all gains' in text for text in found.warnings)


def test_all_gains_together_are_all_masses(srs: Machine, clean: Recording, total: float) -> None:
    """Efforts that are all 10 % too large: no gain is found, the bodies are 10 % heavier."""
    wrong = fitted(srs, replace(clean, forces=1.1 * clean.forces))
    assert np.abs(gain_errors(wrong)[0]).max() < 2e-3
    assert value_of(wrong, TOTAL) / total == pytest.approx(1.1, rel=1e-3)
