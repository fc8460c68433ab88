"""The checks of Oh's chapters 3 to 5 fail with a filter, a monitor or weights that are wrong."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_file
from pkm_description.machine import Machine
from pkm_identification.online.estimators import ParameterMonitor

from verification.oh_2003 import campaign, dominance, figures, identification_checks, pendulum_runs
from verification.oh_2003.parameters import oh_model


@pytest.fixture(scope='module')
def machine() -> Machine:
    return load_machine('uf')


def failed(machine: Machine) -> set[str]:
    return {check.id for check in identification_checks.checks(machine, True) if check.failed}


def test_forces_that_are_one_per_cent_too_large(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """All masses and sums of inertias are then 1 % off."""
    right = campaign.force_samples

    def wrong(*arguments: object) -> campaign.Samples:
        samples = right(*arguments)
        return dataclasses.replace(samples, measured=1.01 * samples.measured)

    monkeypatch.setattr(identification_checks, 'force_samples', wrong)
    assert failed(machine) >= {'A1', 'A2', 'A3', 'A4', 'A5', 'A6'}


def test_a_monitor_that_sees_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ParameterMonitor, '_unobserved', lambda *_: ())
    assert failed(machine) == {'A4', 'A16'}


def test_a_light_strut_turns_the_order_of_the_groups(machine: Machine) -> None:
    model = oh_model(machine)
    light = model.parameters * np.where(np.arange(12) == 2, 20.0, 1.0)
    mean, _ = dominance.shares(model, light, 1, 4.0 * np.pi)
    assert mean['pm'] > mean['sm']


def test_without_the_force_the_pendulum_is_not_found() -> None:
    """What T11 asserts is not so if the filter is not told the force."""
    motion, forces = pendulum_runs.fall(dataclasses.replace(pendulum_runs.starts()[6], step=1e-3, duration=1.5),
                                        pendulum_runs.known_force)  # fmt: skip
    true = pendulum_runs.TRUE_PARAMETERS
    good = pendulum_runs.unscented(motion, forces).parameters
    assert np.abs(good / true - 1.0).max() < 2e-3
    blind = pendulum_runs.unscented(motion, 0.0 * forces).parameters
    assert np.abs(blind / true - 1.0).max() > 2e-2


def test_the_design_is_that_of_the_overlay() -> None:
    machine = load_machine('uf', overlay=str(machine_file('uf').parent / 'chapter4.yaml'))
    assert oh_model(machine).parameters == pytest.approx(campaign.TRUE, rel=1e-6)


def test_figures_show_every_run_and_the_truth() -> None:
    for figure, runs in zip(figures.figures(), (4, 3), strict=True):
        panels = figure.draw().axes
        assert [len(panel.lines) for panel in panels] == [runs + 1] * 3
        for place, panel in enumerate(panels):
            assert panel.lines[-1].get_ydata()[0] == campaign.TRUE[place]
