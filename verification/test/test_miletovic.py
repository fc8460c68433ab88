"""The table of requirements: what fails it, how it ends, and that its figures are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from verification.check import at_most
from verification.miletovic_2017 import curves, filter_run
from verification.miletovic_2017.comparison import experiment
from verification.miletovic_2017.figures import figures
from verification.miletovic_2017.laboratory import Laboratory
from verification.miletovic_2017.rows import ROWS, RowGroup
from verification.miletovic_2017.scenario import PRINTED, Scenario
from verification.requirements import requirements_of
from verification.suite import run_part


def small_laboratory():
    lab = Laboratory(quick=True)
    lab.seeds, lab.duration, lab.settling = range(1, 2), 12.0, 5.0
    return lab


def rows_of(group, lab):
    return run_part(group.part(lab))


def failed(checks):
    return {check.id for check in checks if check.status == 'not met'}


def test_every_requirement_has_its_measurement():
    covered = {id for group in ROWS for id in group.ids}
    assert covered == {one.id for one in requirements_of('miletovic_2017')}
    assert covered == {f'S3-{number:02d}' for number in range(1, 65)}


#: of long runs, and that of the processor's time; most of what they judge the estimator's own tests do, too
LONG = {f'S3-{number}' for number in ('08', 12, 48, 50, 51, 52, 55, 56, 58, 62, 63, 64)}


@pytest.fixture(scope='module')
def laboratory():
    return Laboratory(quick=True)


@pytest.mark.parametrize(
    'group',
    [pytest.param(one, id=one.ids[0], marks=pytest.mark.campaign if one.ids[0] in LONG else ()) for one in ROWS],
)
def test_no_row_fails(group, laboratory):
    assert [check for check in run_part(replace(group.part(laboratory), quick=True)) if check.failed] == []


def test_an_error_in_a_measurement_and_a_missing_one_fail():
    def breaks(lab):
        yield at_most('S3-01', 'before', 1.0, 0.0)
        raise RuntimeError('no such luck')

    checks = rows_of(RowGroup(('S3-01', 'S3-02'), breaks), small_laboratory())
    assert failed(checks) == {'S3-02'}
    assert any('no such luck' in check.measured for check in checks)
    assert failed(rows_of(RowGroup(('S3-01',), breaks), small_laboratory())) == {'S3-01'}
    assert failed(rows_of(RowGroup(('S3-07',), lambda lab: iter(())), small_laboratory())) == {'S3-07'}


@pytest.mark.campaign
def test_figures_are_drawn(monkeypatch):
    lab = small_laboratory()
    monkeypatch.setattr(
        curves, 'experiment', lambda lab, motion, *config: replace(experiment(lab, motion, *config), duration=12.0)
    )
    monkeypatch.setattr(
        curves, '_run', lambda lab, motion: lab.filters([Scenario(motion=motion, duration=12.0, config=PRINTED)])[0]
    )
    assert [figure.name for figure in figures(lab)] == [f'figure_{number:02d}' for number in range(7, 18)]
    for figure in figures(lab, (8, 9, 16)):
        assert len(figure.draw().axes) >= 6 and figure.caption.startswith('Figure ')
    # the panels of the others
    for panels in (curves.signals, curves.state_errors, curves.bias_errors, curves.experiment_states, curves.excerpts):
        for panel in panels(lab, 'mp1'):
            assert all(len(one.time) > 100 and np.isfinite(one.values).all() for one in panel.curves)


def test_same_scenario_same_run():
    one = Scenario(duration=2.0, seed=4)
    first, second = (filter_run.run_filter(one) for _ in range(2))
    for name in ('error', 'residual', 'nis', 'nees'):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
