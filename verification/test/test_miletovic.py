"""The table of requirements: what fails it, how it ends, and that its figures are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.loading import load_machine

from verification.check import at_most
from verification.miletovic_2017 import accuracy, curves, filter_run, geometry, model, scenario
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


def corrupted(machine):
    """The machine with one joint of its platform one millimetre away."""
    leg = machine.legs[2]
    moved = leg.with_end(other_point=leg.platform_point + np.array([1e-3, 0.0, 0.0]))
    return replace(machine, legs=(*machine.legs[:2], moved, *machine.legs[3:]))


def rows_of(group, lab):
    return run_part(group.part(lab))


def failed(checks):
    return {check.id for check in checks if check.status == 'failed'}


def test_every_requirement_has_its_measurement():
    covered = {id for group in ROWS for id in group.ids}
    assert covered == {one.id for one in requirements_of('miletovic_2017')}
    assert covered == {f'S3-{number:02d}' for number in range(1, 65)}


def test_an_error_in_a_measurement_and_a_missing_one_fail():
    def breaks(lab):
        yield at_most('S3-01', 'before', 1.0, 0.0)
        raise RuntimeError('no such luck')

    checks = rows_of(RowGroup(('S3-01', 'S3-02'), breaks), small_laboratory())
    assert failed(checks) == {'S3-02'}
    assert any('no such luck' in check.measured for check in checks)
    assert failed(rows_of(RowGroup(('S3-01',), breaks), small_laboratory())) == {'S3-01'}
    assert failed(rows_of(RowGroup(('S3-07',), lambda lab: iter(())), small_laboratory())) == {'S3-07'}


def test_wrong_geometry_fails_where_it_shows(monkeypatch):
    wrong = corrupted(load_machine('srs'))
    monkeypatch.setattr(geometry, 'machine_named', lambda name: wrong)
    bad = failed(rows_of(RowGroup(('S3-01', 'S3-02'), geometry.geometry), small_laboratory()))
    assert {'S3-01', 'S3-02'} <= bad


def test_a_filter_that_believes_a_wrong_geometry_fails_and_a_right_one_does_not(monkeypatch):
    groups = [RowGroup(('S3-19', 'S3-20'), accuracy.errors), RowGroup(('S3-29',), accuracy.innovations)]
    # short runs: only what settles fast is asked of the right filter
    right = {id for group in groups for id in failed(rows_of(group, small_laboratory()))}
    assert not right & {'S3-19', 'S3-20', 'S3-21'}
    wrong = corrupted(scenario.machine_named('centred'))

    def wrong_filter(one, made=filter_run.make_filter):
        with monkeypatch.context() as patch:
            patch.setattr(filter_run, 'machine_named', lambda name: wrong)
            return made(one)

    monkeypatch.setattr(filter_run, 'make_filter', wrong_filter)
    bad = {id for group in groups for id in failed(rows_of(group, small_laboratory()))}
    assert {'S3-19', 'S3-29'} <= bad


def test_wrong_noise_of_the_filter_shows(monkeypatch):
    """S3-16 and S3-18 judge how Q enters: with dt G Q G^T in place of dt^2 they fail."""
    monkeypatch.setattr(filter_run, 'make_filter', lambda one, made=filter_run.make_filter: made(
        replace(one, config=replace(one.config, q_scale=100.0))))  # fmt: skip
    checks = rows_of(RowGroup(('S3-16', 'S3-17'), model.noise), small_laboratory())
    assert failed(checks) == {'S3-16'}


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
