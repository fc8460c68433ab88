"""The suites: every quick part that a test can wait for has no failed check, and every requirement has its checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pkm_description.loading import machine_names

from verification.accepted import accepted_in
from verification.catalogue import GROUPS, SUITES
from verification.check import Check, at_least, at_most, equal, near, refused, within
from verification.miletovic_2017 import curves
from verification.miletovic_2017.comparison import experiment
from verification.miletovic_2017.figures import figures
from verification.miletovic_2017.pipeline_run import Laboratory
from verification.miletovic_2017.rows import ROWS
from verification.miletovic_2017.scenario import PRINTED, Scenario
from verification.oh_2003 import campaign
from verification.oh_2003.figures import figures as oh_figures
from verification.requirements import requirements_file
from verification.run import Processes
from verification.suite import Part, Request, run_part

#: parts that take long, ``suite: title``: the campaign runs them, too
LONG = (
    'engines: *simulation of the SDF', 'estimators: *', 'heimann_abdellatif: *estimators',
    'heimann_abdellatif: *measured motion and forces', 'heimann_abdellatif: *excitation*',
    'heimann_abdellatif: *feed-forward with*', 'heimann_abdellatif: *identified*', 'heimann_abdellatif: *hydraulic*',
    'heimann_abdellatif: [!k]*: feed-forward control', 'mata_2008: *models 1 to 4*', 'mata_2008: *estimation',
    'mata_2008: *excitation', 'oh_2003: *estimators of*', 'rosyid_2020: *excitation', 'rosyid_2020: *identification',
    # machines of kinds that others are of, too
    '*: palida: *', '*: uf: *', '*: msi: *', 'wiring: 3rrs, *', 'wiring: delta, *',
    # of long runs, and that of the processor's time; most of what they judge the estimator's own tests do, too
    *(f'miletovic_2017: S3-{number}*' for number in ('08', 12, 39, 45, 48, 50, 51, 52, 55, 56, 58, 62, 63, 64)),
)  # fmt: skip
#: of suites that are campaigns by themselves (``./pkm verify --quick``), the parts that are run here
CHOSEN = {
    'soak': (), 'consistency': ('srs, MP1', 'srs, standstill', 'srs, calibrated by a tracker *'),
    'identification': (),
    'wiring': ('3rrs, drives, *', 'srs, drives, *', 'palida, small, good systems', 'srs, wired by others',
               'delta, wired by others'),
}  # fmt: skip
#: of those, what is changed of the quick settings
SETTINGS: dict[str, dict[str, Any]] = {'wiring': {'duration': 6.0, 'motions': ('rest', 'small', 'drives')}}


def parts() -> Iterator[Any]:
    for name, suite in SUITES.items():
        settings = suite.quick_settings and replace(suite.quick_settings, **SETTINGS.get(name, {}))
        for part in suite.plan(Request(quick=True, settings=settings), Processes()).parts:
            title = f'{name}: {part.title}'
            if any(fnmatchcase(part.title, pattern) for pattern in CHOSEN.get(name, '*')):
                marks = pytest.mark.campaign if any(fnmatchcase(title, pattern) for pattern in LONG) else ()
                yield pytest.param(name, replace(part, quick=True), id=title, marks=marks)


@pytest.mark.parametrize(('suite', 'part'), list(parts()))
def test_no_check_fails(suite: str, part: Part) -> None:
    checks = run_part(part)
    assert [check for check in checks if check.failed] == []
    assert all(check.required and check.measured for check in checks)
    if requirements := SUITES[suite].requirements:
        assert {check.id for check in checks} <= {requirement.id for requirement in requirements}


def test_every_suite_has_its_parts() -> None:
    named = {name for groups in GROUPS.values() for group in groups for name in group.names}
    assert named <= set(machine_names())
    for name, suite in SUITES.items():
        plans = [
            suite.plan(Request(quick=quick, settings=settings), Processes())
            for quick, settings in ((True, suite.quick_settings), (False, suite.settings))
        ]
        titles = [part.title for part in plans[0].parts]
        assert titles and (len(set(titles)) == len(titles) or plans[0].together), name
        if name in ('consistency', 'miletovic_2017'):
            assert titles == [part.title for part in plans[1].parts]


def test_every_requirement_is_named_by_a_check() -> None:
    with_list = {name for name, suite in SUITES.items() if suite.requirements}
    assert with_list == {'oh_2003', 'mata_2008', 'rosyid_2020', 'heimann_abdellatif', 'miletovic_2017'}
    for name in with_list:
        requirements = SUITES[name].requirements
        assert all(one.id and one.sentence.endswith('.') and one.required for one in requirements)
        texts = [path.read_text(encoding='utf-8') for path in Path(requirements_file(name)).parent.glob('*.py')]
        unnamed = [one.id for one in requirements if not any(f"'{one.id}'" in text for text in texts)]
        if name == 'miletovic_2017':  # its rows say which requirements they measure
            unnamed = sorted({one.id for one in requirements} ^ {id for ids in ROWS for id in ids})
        assert unnamed == []


def test_what_is_accepted_is_of_requirements() -> None:
    ids = {requirement.id for suite in SUITES.values() for requirement in suite.requirements}
    for one in accepted_in().values():
        assert one.id in ids or one.id.islower(), one.id
        assert one.why and one.date <= date.today()


@pytest.mark.parametrize(
    ('check', 'status'),
    [
        (at_most('a', 'b', 1.0, [0.5, -0.9]), 'met'),
        (at_most('a', 'b', 1.0, [0.5, -1.1]), 'not met'),
        (at_most('a', 'b', 1.0, [0.5, np.nan]), 'not met'),
        (at_most('a', 'b', 1.0, []), 'not met'),
        (at_least('a', 'b', 1.0, [0.5, 2.0]), 'not met'),
        (at_least('a', 'b', 1.0, np.nan), 'not met'),
        (within('a', 'b', 0.0, 1.0, 1.0), 'met'),
        (within('a', 'b', 0.0, 1.0, np.nan), 'not met'),
        (near('a', 'b', 3.27, 3.276, 0.005), 'not met'),
        (near('a', 'b', 3.27, 3.274, 0.005), 'met'),
        (equal('a', 'b', [1, 2], [1, 2]), 'met'),
        (equal('a', 'b', 22, 23), 'not met'),
        (refused('a', 'b', ValueError, int, 'no'), 'met'),
        (refused('a', 'b', ValueError, {}.pop, 'no'), 'not met'),
        (refused('a', 'b', ValueError, int, '1'), 'not met'),
    ],
)
def test_judgement(check: Check, status: str) -> None:
    assert check.status == status


@pytest.mark.campaign
def test_figures_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Laboratory(quick=True)
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


def test_figures_show_every_run_and_the_truth() -> None:
    for figure, runs in zip(oh_figures(), (4, 3), strict=True):
        for place, panel in enumerate(figure.draw().axes):
            assert len(panel.lines) == runs + 1
            assert panel.lines[-1].get_ydata()[0] == campaign.TRUE[place]
