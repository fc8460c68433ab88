"""Studies of Mata, Rosyid and Oh: what they stand on, another machine has another table, what cannot be is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.errors import KinematicsError
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_file

from verification.mata_2008 import checks as mata
from verification.mata_2008 import estimation
from verification.mata_2008.regressor import drive_regressor, random_samples
from verification.oh_2003 import campaign, library, pendulum
from verification.oh_2003.parameters import oh_model
from verification.rosyid_2020.dynamics import PlanarDynamics
from verification.rosyid_2020.table import DESIGN, geometry_of


def test_another_triangle_has_another_table() -> None:
    robot, gravity = mata.ThreeRps(0.4, 0.46), load_machine('valencia_3rps').gravity
    samples = random_samples(robot, 20, gravity)
    rows = drive_regressor(robot, samples.lengths, samples.rates, samples.accelerations, gravity).reshape(-1, 70)
    status = {check.what: check.status for check in mata.table_checks(robot, rows)}
    assert status['factors of all 25 rows of Table 1 against the closed form'] == 'met'
    assert status['factors of all 25 rows against the printed digits, beyond rounding'] == 'not met'


def test_truth_has_the_friction_that_it_says() -> None:
    """Slow and fast samples of the run differ from viscous and Coulomb friction by the Stribeck part."""
    machine = load_machine('valencia_3rps')
    run, linear = estimation.run_of(machine, 1), estimation.Model(machine)
    rates = run.data.velocities
    rest = run.data.efforts - linear.columns(run)[..., :-12] @ linear.nominal[:-12]
    rest -= machine.rotor_inertia[machine.drive_columns] * run.data.accelerations
    part = np.sign(rates) * (rest - estimation.VISCOUS * rates)
    used = np.abs(rates) > 0.01
    expected = 228.0 + (420.0 - 228.0) * np.exp(-np.abs(rates) / 0.03)
    np.testing.assert_allclose(part[used], expected[used], rtol=1e-3)


def test_printed_constraints_are_refused_and_out_of_reach_is_named() -> None:
    geometry = geometry_of(load_machine('khalifa_3prr'))
    robot = PlanarDynamics(replace(geometry, printed=True), DESIGN, np.zeros(2))
    with pytest.raises(KinematicsError, match='guide 1'):
        robot.normal_forces(np.zeros((1, 9)))
    with pytest.raises(KinematicsError, match='pin 2 is 0.5 m'):
        geometry.coordinates(np.array([[0.0, 0.5, 0.0]]))
    with pytest.raises(ValueError, match='no slider on the x axis'):
        geometry_of(load_machine('valencia_3rps'))


def test_a_light_strut_turns_the_order_of_the_groups() -> None:
    model = oh_model(load_machine('uf'))
    light = model.parameters * np.where(np.arange(12) == 2, 20.0, 1.0)
    mean, _ = library.shares(model, light, 1, 4.0 * np.pi)
    assert mean['pm'] > mean['sm']


def test_without_the_force_the_pendulum_is_not_found() -> None:
    """What T11 asserts is not so if the filter is not told the force."""
    motion, forces = pendulum.fall(replace(pendulum.starts()[6], step=1e-3, duration=1.5),
                                        pendulum.known_force)  # fmt: skip
    true = pendulum.TRUE_PARAMETERS
    good = pendulum.unscented(motion, forces).parameters
    assert np.abs(good / true - 1.0).max() < 2e-3
    blind = pendulum.unscented(motion, 0.0 * forces).parameters
    assert np.abs(blind / true - 1.0).max() > 2e-2


def test_the_design_is_that_of_the_overlay() -> None:
    machine = load_machine('uf', overlay=str(machine_file('uf').parent / 'chapter4.yaml'))
    assert oh_model(machine).parameters == pytest.approx(campaign.TRUE, rel=1e-6)
