"""The table of requirements: what fails it, how it ends, and that its figures are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.loading import load_machine

from verification.check import Check, at_most
from verification.miletovic_2017 import accuracy, curves, filter_run, geometry, model, program, scenario
from verification.miletovic_2017.catalogue import CATALOGUE, RowGroup, run_group
from verification.miletovic_2017.figures import draw
from verification.miletovic_2017.laboratory import Laboratory
from verification.miletovic_2017.report import statuses, verdict
from verification.miletovic_2017.requirements import REQUIREMENTS
from verification.miletovic_2017.robustness import experiment
from verification.miletovic_2017.scenario import PRINTED, Scenario


def small_laboratory():
    lab = Laboratory(quick=True)
    lab.seeds, lab.duration, lab.settling = range(1, 2), 12.0, 5.0
    return lab


def corrupted(machine):
    """The machine with one joint of its platform one millimetre away."""
    leg = machine.legs[2]
    moved = replace(leg, platform_point=leg.platform_point + np.array([1e-3, 0.0, 0.0]))
    return replace(machine, legs=(*machine.legs[:2], moved, *machine.legs[3:]))


def failed(checks):
    return {check.id for check in checks if check.status == 'failed'}


def test_every_requirement_has_its_measurement():
    covered = {id for group in CATALOGUE for id in group.ids}
    assert covered == set(REQUIREMENTS) == {f'S3-{number:02d}' for number in range(1, 65)}


def test_a_requirement_fails_with_one_of_its_checks_and_without_any():
    good, bad = at_most('S3-01', 'a', 1.0, 0.5), at_most('S3-01', 'b', 1.0, np.nan)
    away = Check('S3-02', 'c', '1', 'not built', 'not reachable')
    found = statuses([good, bad, away])
    assert (found['S3-01'], found['S3-02'], found['S3-03']) == ('failed', 'not reachable', 'failed')
    assert statuses([good])['S3-01'] == 'met'
    assert statuses([replace(good, id='S3-02'), away])['S3-02'] == 'not reachable'
    every = [at_most(id, 'x', 1.0, 0.0) for id in REQUIREMENTS]
    assert verdict(every) == 'Miletovic 2017: 64 met, 0 failed, 0 not reachable'
    assert verdict([*every[:-1], away]) == 'Miletovic 2017: 62 met, 1 failed, 1 not reachable'


def test_an_error_in_a_measurement_and_a_missing_one_fail():
    def breaks(lab):
        yield at_most('S3-01', 'before', 1.0, 0.0)
        raise RuntimeError('no such luck')

    checks = run_group(RowGroup(('S3-01', 'S3-02'), breaks), small_laboratory())
    assert failed(checks) == {'S3-02'}
    assert any('no such luck' in check.measured for check in checks)
    assert failed(run_group(RowGroup(('S3-01',), breaks), small_laboratory())) == {'S3-01'}
    assert failed(run_group(RowGroup(('S3-07',), lambda lab: iter(())), small_laboratory())) == {'S3-07'}


def test_wrong_geometry_fails_where_it_shows(monkeypatch):
    wrong = corrupted(load_machine('srs'))
    monkeypatch.setattr(geometry, 'machine_named', lambda name: wrong)
    bad = failed(run_group(RowGroup(('S3-01', 'S3-02'), geometry.geometry), small_laboratory()))
    assert {'S3-01', 'S3-02'} <= bad


def test_a_filter_that_believes_a_wrong_geometry_fails_and_a_right_one_does_not(monkeypatch):
    groups = [RowGroup(('S3-19', 'S3-20'), accuracy.errors), RowGroup(('S3-29',), accuracy.innovations)]
    # short runs: only what settles fast is asked of the right filter
    right = {id for group in groups for id in failed(run_group(group, small_laboratory()))}
    assert not right & {'S3-19', 'S3-20', 'S3-21'}
    wrong = corrupted(scenario.machine_named('centred'))

    def wrong_filter(one, made=filter_run.make_filter):
        with monkeypatch.context() as patch:
            patch.setattr(filter_run, 'machine_named', lambda name: wrong)
            return made(one)

    monkeypatch.setattr(filter_run, 'make_filter', wrong_filter)
    bad = {id for group in groups for id in failed(run_group(group, small_laboratory()))}
    assert {'S3-19', 'S3-29'} <= bad


def test_wrong_noise_of_the_filter_shows(monkeypatch):
    """S3-16 and S3-18 judge how Q enters: with dt G Q G^T in place of dt^2 they fail."""
    monkeypatch.setattr(filter_run, 'make_filter', lambda one, made=filter_run.make_filter: made(
        replace(one, config=replace(one.config, q_scale=100.0))))  # fmt: skip
    checks = run_group(RowGroup(('S3-16', 'S3-17'), model.noise), small_laboratory())
    assert failed(checks) == {'S3-16'}


@pytest.mark.parametrize('good', [True, False])
def test_program_ends_with_the_verdict(good, monkeypatch, capsys, tmp_path):
    def everything(lab):
        for id in REQUIREMENTS:
            yield at_most(id, 'x', 1.0, 0.0 if good or id != 'S3-40' else 2.0)

    monkeypatch.setattr(program, 'CATALOGUE', (RowGroup(tuple(REQUIREMENTS), everything),))
    monkeypatch.setattr(program, 'draw', lambda lab, folder: [folder / 'figure_07.png'])
    code = program.main(['--quick', '--jobs', '1', '-o', str(tmp_path)])
    last = capsys.readouterr().out.splitlines()[-1]
    expected = (0, 64, 0) if good else (1, 63, 1)
    assert (code, last) == (expected[0], f'Miletovic 2017: {expected[1]} met, {expected[2]} failed, 0 not reachable')
    assert (tmp_path / 'table.txt').read_text().splitlines()[-1] == last


def test_figures_are_written(monkeypatch, tmp_path):
    lab = small_laboratory()
    monkeypatch.setattr(curves, 'experiment', lambda lab, motion: replace(experiment(lab, motion), duration=12.0))
    monkeypatch.setattr(
        curves, '_run', lambda lab, motion: lab.filters([Scenario(motion=motion, duration=12.0, config=PRINTED)])[0]
    )
    files = draw(lab, tmp_path / 'out', (9, 16))
    assert [path.name for path in files] == [*(f'figure_{n:02d}.png' for n in (9, 16)), 'figures.pdf']
    assert all(path.read_bytes()[:4] in (b'\x89PNG', b'%PDF') for path in files)
    # the panels of the others
    for panels in (curves.signals, curves.state_errors, curves.bias_errors, curves.experiment_states, curves.excerpts):
        for panel in panels(lab, 'mp1'):
            assert all(len(one.time) > 100 and np.isfinite(one.values).all() for one in panel.curves)


def test_same_scenario_same_run():
    one = Scenario(duration=2.0, seed=4)
    first, second = (filter_run.run_filter(one) for _ in range(2))
    for name in ('error', 'residual', 'nis', 'nees'):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
