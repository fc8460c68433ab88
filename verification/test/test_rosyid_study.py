"""Checks of Rosyid's comparison of friction models: they pass, and a model without Stribeck friction is found out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pkm_description.loading import load_machine

from verification.rosyid_2020 import comparison, figures, recording


def failed(checks) -> list[str]:
    return [check.id for check in checks if check.status != 'met']


def test_models_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine('khalifa_3prr')
    found = comparison.outcomes(str(machine.path))
    assert failed(comparison.model_checks(found)) == []
    assert failed(comparison.circle_checks(machine, found)) == []
    assert failed(comparison.linear_checks(machine)) == []
    # the constant model in the place of the best one
    swapped = found | {comparison.BEST: found['Stribeck, constant'], 'Stribeck, constant': found[comparison.BEST]}
    assert failed(comparison.model_checks(swapped)) == ['R2-41'] * 5
    assert 'R2-43' in failed(comparison.circle_checks(machine, swapped))


def test_recordings_and_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pass; forces in the wrong unit and a table without its bounds are found out."""
    machine = load_machine('khalifa_3prr')
    checks = [*recording.checks(machine, True), *figures.checks(machine, True)]
    assert failed(checks) == []
    assert {check.id for check in checks} == {f'R2-{item}' for item in (21, 22, 23, 24, 25, 44, 45)}
    told = recording.recorded(str(machine.path))
    monkeypatch.setattr(recording, 'recorded', lambda path: replace(told, forces=1e-3 * told.forces))
    assert failed(recording.signal_checks(machine, str(machine.path))) == ['R2-21']
    monkeypatch.setattr(figures, 'truth', lambda: comparison.outcomes(str(machine.path))[comparison.BEST].fit.values)
    assert failed(figures.data_checks(machine)) == ['R2-45']
