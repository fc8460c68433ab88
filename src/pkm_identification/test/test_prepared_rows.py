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
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine.machine import with_friction
from pkm_identification.columns.friction_term import presliding_of
from pkm_identification.columns.joint_terms import EffortDelay, PlatformForce
from pkm_identification.columns.observation import ObservationModel, legs_agree, observation_model
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.fitting.prediction import (
    all_rows,
    efforts_by,
    filtered,
    measured,
    samples_with_efforts,
    slope_rows,
    with_forces,
)
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


def test_efforts_before_a_filter_of_first_order_are_found_again(data: PreparedData) -> None:
    """A filter and a delay, and what takes both away again; a sine is late by the filter's phase."""
    time, forces, lag = data.recording.time, data.recording.forces, 0.02
    late = replace(data, recording=replace(data.recording, forces=measured(forces, time, 0.03, lag)))
    inside = slice(50, -50)
    rms = np.sqrt(np.mean((late.efforts(0.03, lag) - forces)[inside] ** 2) / np.mean(forces[inside] ** 2))
    assert rms < 2e-3 < 0.02 < np.sqrt(np.mean((late.efforts(0.03) - forces)[inside] ** 2) / np.mean(forces**2))
    fine = np.linspace(0.0, 10.0, 10_001)
    answer = np.exp(1j * 2.0 * np.pi * 3.0 * fine) / (1.0 + 1j * 2.0 * np.pi * 3.0 * lag)
    found = filtered(np.sin(2.0 * np.pi * 3.0 * fine)[:, None], fine, lag)[:, 0]
    assert np.abs(found - answer.imag)[2000:].max() < 1e-3


def extended(data: PreparedData, *terms: str) -> tuple[PreparedData, np.ndarray]:
    """The same rows for a model with further forces, and its parameters: 0.02 where the machine file has none."""
    config = IdentificationConfig.from_mapping({'columns.terms': list(terms)})
    model = observation_model(SRS, config, data.recording.drive_positions, data.recording.sample_rate)
    parameters = model.all_parameters(SRS)
    parameters[model.structure_count :][parameters[model.structure_count :] == 0.0] = 0.02
    return data.with_model(model), parameters


@pytest.mark.parametrize('terms', [(), ('load_friction',)])
def test_rows_by_deflections_and_their_slopes(data: PreparedData, terms: tuple[str, ...]) -> None:
    """Rows that are put together of parts are those of all columns; slopes are those of finite differences."""
    data, parameters = extended(data, *terms, 'presliding')
    model, period = data.model, 1.0 / data.recording.sample_rate
    contacts = presliding_of(model.terms)
    assert contacts is not None
    contacts = contacts.with_shape(contacts.shape)  # all drives share it now
    begin, kept = with_forces(model, data, parameters), {}

    def rows(stiffness: float) -> np.ndarray:
        samples = contacts.with_shape(np.array([stiffness])).deflected(begin, period)
        found = all_rows(model, data, samples, kept)
        whole = [data.structure_rows, *(data.term_rows(term, samples) for term in model.terms)]
        np.testing.assert_allclose(found, np.concatenate(whole, axis=-1), atol=1e-9 * np.abs(found).max())
        return found @ parameters

    value = float(contacts.shape[0])
    difference = (rows(1.0001 * value) - rows(0.9999 * value)) / (2e-4 * value)
    slopes = slope_rows(model, data, contacts, begin, parameters)[..., 0]
    np.testing.assert_allclose(slopes, difference, atol=1e-5 * np.abs(difference).max())


def test_slopes_of_lateness(data: PreparedData) -> None:
    """Of efforts by a model that come late: how what is measured, with the lateness taken away, changes with it."""
    data, parameters = extended(data)
    late = EffortDelay(0.004, 0.02)
    model = data.model.with_terms([*data.model.terms, late])
    samples = samples_with_efforts(model, data, parameters, SRS)
    forces = efforts_by(model, data, samples, parameters)
    data = replace(data.with_model(model), recording=replace(data.recording, forces=forces))
    slopes, used = slope_rows(model, data, late, samples, parameters), data.row_weights > 0.0
    for place in range(2):
        step = 1e-5 * np.eye(2)[place]
        ends = [data.effort_rows(*(late.shape + sign * step)) for sign in (1.0, -1.0)]
        difference = (ends[1] - ends[0])[used] / 2e-5
        # friction is not in the slopes
        error = np.sqrt(np.mean((slopes[..., place][used] - difference) ** 2) / np.mean(difference**2))
        assert error < 0.05


@pytest.mark.parametrize('name', ['srs', 'valencia_3rps', 'delta', 'khalifa_3prr', 'four_rrr'])
def test_forces_on_the_platform_are_what_they_add_to_the_efforts(name: str) -> None:
    """Inverse dynamics with a wrench less those without it: a force at a point, and springs from home."""
    machine, random = known_machine(name), np.random.default_rng(3)
    motion = random_states(machine, 20, seed=4)
    force, point, stiffnesses = random.normal(size=(3, 3))
    away = motion.position - machine.home.position
    arms = np.einsum('nij,j->ni', motion.rotation_base_platform, point)
    wrench = -np.hstack([force + stiffnesses * away, np.cross(arms, force)])
    still = inverse_dynamics(machine, motion, friction=False)
    expected = inverse_dynamics(machine, motion, friction=False, external_wrench=wrench) - still
    parameters = np.concatenate([force, np.outer(force, point).ravel(), stiffnesses])
    found = ObservationModel(machine, legs_agree(machine)).of_platform(motion) @ parameters
    assert len(PlatformForce.names) == len(parameters)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(still).max())


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
