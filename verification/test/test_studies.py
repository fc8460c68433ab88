"""Studies of Mata, Heimann and Abdellatif, Rosyid: checks pass, and wrong verdicts, models and data are found out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.dynamics.parameter_reduction.reduced_models import MATA_MODELS
from pkm_description.loading import load_machine
from pkm_description.machine import Machine

from verification.heimann_abdellatif import measurement
from verification.mata_2008 import estimation, ladder, machine_data, study
from verification.mata_2008.data import NOISE, truth_run
from verification.rosyid_2020 import comparison, figures, recording, searches
from verification.rosyid_2020.table import geometry_of


def failed(checks) -> list[str]:
    return [check.id for check in checks if check.status != 'met']


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


@pytest.mark.campaign
def test_measured_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine('palida')
    checks = list(measurement.checks(machine, True))
    assert failed(checks) == []
    assert {check.id for check in checks} == {'R4-15', 'R4-30', 'R4-31', 'R4-32', 'R4-33', 'R4-39'}
    motion = measurement.periodic_motion(machine, 1)
    right = measurement.line_filter

    def of_forces_alone(values: np.ndarray, *arguments: object) -> np.ndarray:
        return values if values.ndim == 3 else right(values, *arguments)

    monkeypatch.setattr(measurement, 'line_filter', of_forces_alone)
    assert 'R4-33' in failed(measurement.filter_checks(machine, motion))
    monkeypatch.setattr(measurement, 'HARMONICS', 4)
    assert 'R4-31' in failed(measurement.pose_checks(machine, motion))


@pytest.mark.campaign
def test_a_search_that_steps_over_the_bounds_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine('khalifa_3prr')
    geometry, data = geometry_of(machine), searches.measured(str(machine.path))
    assert failed(searches.truth_checks(geometry, str(machine.path), data)) == []
    fit = data.fit(searches.FRICTION_LIMITS)
    assert failed(searches.problem_checks(fit)) == []
    right = searches.pattern_search

    def careless(fit, *arguments, **settings):
        # the search that is watched: beyond the bounds friction laws refuse
        wide = fit if settings.get('scaled_mesh', True) else replace(fit, lower=fit.lower - 1.0)
        return right(wide, *arguments, **settings)

    monkeypatch.setattr(searches, 'pattern_search', careless)
    assert failed(searches.search_checks(geometry, data, fit, True)) == ['R2-33']


@pytest.mark.campaign
def test_a_model_without_stribeck_friction_is_found_out() -> None:
    """The constant model in the place of the best one."""
    machine = load_machine('khalifa_3prr')
    found = comparison.outcomes(str(machine.path))
    assert failed(comparison.model_checks(found)) == []
    assert failed(comparison.circle_checks(machine, found)) == []
    assert failed(comparison.linear_checks(machine)) == []
    swapped = found | {comparison.BEST: found['Stribeck, constant'], 'Stribeck, constant': found[comparison.BEST]}
    assert failed(comparison.model_checks(swapped)) == ['R2-41'] * 5
    assert 'R2-43' in failed(comparison.circle_checks(machine, swapped))


@pytest.mark.campaign
def test_forces_in_the_wrong_unit_and_a_table_without_its_bounds_are_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = load_machine('khalifa_3prr')
    told = recording.recorded(str(machine.path))
    assert failed(recording.signal_checks(machine, str(machine.path))) == []
    assert failed(figures.data_checks(machine)) == []
    monkeypatch.setattr(recording, 'recorded', lambda path: replace(told, forces=1e-3 * told.forces))
    assert failed(recording.signal_checks(machine, str(machine.path))) == ['R2-21']
    monkeypatch.setattr(figures, 'truth', lambda: comparison.outcomes(str(machine.path))[comparison.BEST].fit.values)
    assert failed(figures.data_checks(machine)) == ['R2-45']
