"""Checks of estimators and feasible machines: they pass, and fail where an estimator is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_identification.estimator import recursive as recursive_module

from verification.estimators import feasible_runs
from verification.heimann_abdellatif import estimators as heimann
from verification.mata_2008 import estimation as mata


def failed(checks) -> list[str]:
    return [check.id for check in checks if check.status != 'met']


def test_noisy_runs_are_feasible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten runs pass; an engine that returns a negative friction is found out."""
    machine = load_machine('palida')
    assert failed(feasible_runs.checks(machine, True)) == []
    right = feasible_runs.feasible_parameters

    def wrong(problem, *arguments, **settings):
        found = right(problem, *arguments, **settings)
        return replace(found, values=np.append(found.values[:-1], -1.0))

    monkeypatch.setattr(feasible_runs, 'feasible_parameters', wrong)
    monkeypatch.setattr(feasible_runs, 'QUICK_RUNS', 2)
    assert failed(feasible_runs.checks(machine, True)) == ['runs']


def test_estimators_of_heimann(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pass; recursive least squares that forget are not the batch."""
    machine = load_machine('palida')
    assert failed(heimann.checks(machine, True)) == []
    right = recursive_module.RecursiveLeastSquares
    monkeypatch.setattr(recursive_module, 'RecursiveLeastSquares', lambda count, forgetting: right(count, 0.999))
    # they take longest and are of another estimator
    monkeypatch.setattr(heimann, 'likelihood_checks', lambda machine, runs: iter(()))
    assert failed(heimann.checks(machine, True)) == ['R4-37']


@pytest.mark.campaign
def test_constrained_fit_of_mata(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pass; base values without constraints are no machine, and friction that is not fitted is no better."""
    machine = load_machine('valencia_3rps')
    assert failed(mata.checks(machine, True)) == []

    def unconstrained(model, run):
        base, rows = model.base(run)
        found = np.zeros(len(model.names))
        found[base.independent] = mata.ordinary(rows, run.noisy).parameters
        found[[name.endswith('.m') for name in model.names]] = 1.0
        return found

    monkeypatch.setattr(mata.Model, 'fit', unconstrained)
    assert any(check.id == 'M26' and check.status != 'met' for check in mata.checks(machine, True))
