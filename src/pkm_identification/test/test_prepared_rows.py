"""Rows of a short recording: forces of the model by its columns, delayed efforts, weights near reversals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.friction_laws import FrictionLaw, ViscousCoulomb
from pkm_description.friction_laws.laws import LoadDependentStribeck
from pkm_description.kinematics import drive_positions
from pkm_description.machine.machine import with_friction
from pkm_identification.columns.observation import ObservationModel, legs_agree
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.preparation import PreparedData, prepare
from synthetic import clean_signals, recording

SRS = known_machine('srs')
SIGNALS = clean_signals(SRS, 'fourier', 8.0, 100.0, 0)


@pytest.fixture(scope='module')
def data() -> PreparedData:
    """Rows of eight seconds without noise."""
    model = ObservationModel(SRS, legs_agree(SRS))
    return prepare(model, recording(SRS, SIGNALS, None), IdentificationConfig())


@pytest.mark.parametrize('name', ['srs', 'four_rrr'])
def test_columns_times_parameters_are_the_forces(name: str) -> None:
    """Of inverse dynamics with the machine's own numbers, where no drive is near a reversal; friction included.

    Of redundant drives as far as motion determines them.
    """
    machine = known_machine(name)
    profile = 'fourier' if machine.has_closed_form else 'drives'
    model = ObservationModel(machine, legs_agree(machine))
    signals = clean_signals(machine, profile, 8.0, 100.0, 0)
    data = prepare(model, recording(machine, signals, None), IdentificationConfig())
    assert len(data.time) == len(data.recording.time) - 2 * data.inner.start
    parameters = model.parameters(machine)
    found = data.structure_rows @ parameters[: data.structure_rows.shape[-1]]
    at_all_times = data.structure_forces(parameters[: data.structure_rows.shape[-1]])
    for term, own in model.with_parameters(parameters):
        found = found + data.term_rows(term, data.samples) @ own
        at_all_times = at_all_times + data.term_forces(term, data.samples, own)
    wanted, used = data.effort_rows(), data.row_weights > 0.0
    assert 0.3 < used.mean() < 1.0
    size = np.abs(wanted).max()
    assert np.sqrt(np.mean((found - wanted)[used] ** 2) / np.mean(wanted[used] ** 2)) < 0.02
    # the same forces, before they are filtered
    assert data.row_filter(data.slides * at_all_times) == pytest.approx(found, abs=1e-6 * size)


def test_rows_of_friction_in_passive_joints_are_what_it_adds_to_the_forces(data: PreparedData) -> None:
    """A force, or a part of the load, in all passive joints: inverse dynamics with it less those with half of it."""

    def forces(law: FrictionLaw) -> np.ndarray:
        machine = with_friction(
            SRS, lambda joint: joint.friction if joint.actuated else replace(joint.friction, law=law)
        )
        return inverse_dynamics(machine, data.motion, friction=True)

    def by_load(size: float) -> FrictionLaw:
        return LoadDependentStribeck(
            viscous=0.0, coulomb_coefficient=size, static_coefficient=size, stribeck_velocity=1.0, additional_load=0.0
        )

    constant, across, _ = data.passive_rows
    used = data.row_weights > 0.0
    for rows, size, law in (
        (constant, 1e-2, lambda size: ViscousCoulomb(viscous=0.0, coulomb=size)), (across, 1e-5, by_load),
    ):  # fmt: skip
        expected = data.row_filter(data.slides * (forces(law(2.0 * size)) - forces(law(size))))
        found = size * rows.sum(axis=-1)
        assert np.sqrt(np.mean((found - expected)[used] ** 2) / np.mean(expected[used] ** 2)) < 0.05


def test_efforts_of_later_are_those_of_the_recording_then(data: PreparedData) -> None:
    forces = data.recording.forces
    assert np.array_equal(data.efforts(), forces)
    shifted = data.efforts(0.03)
    close = 1e-6 * np.abs(forces).max()
    np.testing.assert_allclose(shifted[:-3], forces[3:], atol=close)
    np.testing.assert_allclose(shifted[-1], forces[-1], atol=close)
    np.testing.assert_allclose(data.efforts(-0.02)[2:], forces[:-2], atol=close)
    between = data.efforts(0.005)[200:-200]
    assert np.abs(between - 0.5 * (forces[200:-200] + forces[201:-199])).max() < 0.01 * np.abs(forces).max()


def test_rows_near_a_reversal_do_not_count(data: PreparedData) -> None:
    """By the signs of the true velocities: within the reach, in periods of the cut-off, and none beyond it."""
    rates = np.gradient(drive_positions(SRS, SIGNALS[0]), SIGNALS[0].time, axis=0)
    for periods in (0.2, 0.6):
        weights, reach = data.with_reach(periods).row_weights, periods / data.bands.force_cutoff
        for drive in range(6):
            places = np.flatnonzero(np.diff(np.sign(rates[:, drive])))
            turns = data.recording.time[0] + SIGNALS[0].time[places] - SIGNALS[0].time[0] + 0.005
            away = np.abs(data.row_time[:, None] - turns).min(axis=1)
            assert not weights[away < reach - 0.02, drive].any()
            fast = (data.row_time > 2.5) & (data.row_time < 5.5)  # it neither begins nor ends
            assert weights[fast & (away > reach + 0.02), drive].all()
