"""Checks of Rosyid's study: they pass, and wrong searches, models and data are found out.

All tests of what shares the same simulated recordings are in this file: one process makes them once. The campaign of
test_verification runs the whole suite.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from pkm_description.loading import load_machine

from verification.check import Check
from verification.rosyid_2020 import comparison, figures, recording, searches
from verification.rosyid_2020.table import geometry_of


def failed(checks: Iterable[Check]) -> list[str]:
    return [check.id for check in checks if check.status != 'met']


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
