"""Oh's groups of forces, pendulum and figures: what they stand on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_file

from verification.oh_2003 import campaign, dominance, figures, pendulum_runs
from verification.oh_2003.parameters import oh_model


def test_a_light_strut_turns_the_order_of_the_groups() -> None:
    model = oh_model(load_machine('uf'))
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
