"""Checks of Mata's ladder, predictions, simulator and figures: they pass, and wrong verdicts and data are found out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.dynamics.parameter_reduction.reduced_models import MATA_MODELS
from pkm_description.loading import load_machine
from pkm_description.machine import Machine

from verification.mata_2008 import estimation, ladder, machine_data, study
from verification.mata_2008.data import NOISE, truth_run


def failed(checks) -> list[str]:
    return [check.id for check in checks if check.status == 'failed']


@pytest.fixture(scope='module')
def machine() -> Machine:
    return load_machine('valencia_3rps')


@pytest.mark.campaign
def test_study_passes_and_covers_its_requirements(machine: Machine) -> None:
    checks = list(study.checks(machine, True))
    assert failed(checks) == []
    assert {check.id for check in checks} == {'M15', *(f'M{item}' for item in (21, 22, *range(30, 40), 42))}


def test_a_verdict_without_feasibility_is_found_out(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ladder.Ladder(machine)
    clean = truth_run(str(machine.path))
    fit = steps.fit(MATA_MODELS[0], clean.with_noise(replace(NOISE, efforts=ladder.FORCE_NOISE), 0), clean)
    assert failed(ladder.verdict_checks(steps, fit)) == []
    assert failed(ladder.collinear_checks(fit)) == []
    monkeypatch.setattr(ladder, 'possible_signs', lambda base: np.zeros(len(base)))
    assert failed(ladder.verdict_checks(steps, fit)) == ['M30']
    monkeypatch.setattr(ladder, 'collinear_groups', lambda rows, names: ())
    assert failed(ladder.collinear_checks(fit)) == ['M35', 'M35']


def test_simulator_currents_and_noise(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pass; a simulator that takes any machine, and noise without seed, are found out."""
    assert failed(machine_data.checks(machine, True)) == []
    monkeypatch.setattr(machine_data, 'simulate', lambda *arguments: None)
    monkeypatch.setattr(machine_data, 'forward_dynamics', lambda *arguments: -np.ones(6))
    assert failed(machine_data.refusal_checks(machine)) == ['M40', 'M40']


def test_truth_has_the_friction_that_it_says(machine: Machine) -> None:
    """Slow and fast samples of the run differ from viscous and Coulomb friction by the Stribeck part."""
    run = estimation.run_of(machine, 1)
    linear = estimation.Model(machine)
    rest = run.clean - linear.columns(run)[..., :-12] @ linear.nominal[:-12]
    rest -= machine.rotor_inertia[machine.drive_columns] * run.accelerations
    part = np.sign(run.rates) * (rest - estimation.VISCOUS * run.rates)
    used = np.abs(run.rates) > 0.01
    expected = 228.0 + (420.0 - 228.0) * np.exp(-np.abs(run.rates) / 0.03)
    np.testing.assert_allclose(part[used], expected[used], rtol=1e-3)
