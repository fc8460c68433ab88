"""A model that lacks a force gets it: named in the result, with values as near to the truth as they claim."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics import joint_motion
from pkm_description.loading import load_machine
from pkm_description.machine import Joint, Machine
from pkm_description.machine.machine import with_joints
from pkm_identification.columns.joint_terms import OFFSET, SPRING, OneFactor, PlatformForce, Ripple
from pkm_identification.columns.observation import observation_model
from pkm_identification.compare import compare_with_truth
from pkm_identification.configuration import ColumnSettings, IdentificationConfig
from pkm_identification.fitting.candidates import LAG_TITLE, VISCOUS_TITLE
from pkm_identification.fitting.extension import Fitted, leaving
from pkm_identification.fitting.model_fit import fit_model
from pkm_identification.fitting.prediction import measured
from pkm_identification.pipeline import identify
from pkm_identification.preparation import prepare
from pkm_identification.report.files import write_overlay
from pkm_identification.result import INSUFFICIENT, IdentificationResult
from pkm_identification.validation.held_out import FAILED
from synthetic import clean_signals, recording, with_force

RATE = 100.0


@pytest.fixture(scope='module')
def signals() -> tuple:
    """Return 16 s of excitation."""
    return clean_signals(known_machine('srs'), 'fourier', 16.0, RATE, 0)


def worst(result: IdentificationResult, machine: Machine) -> float:
    """Return the largest error of an identified value in its own standard deviations."""
    rows = compare_with_truth(result, machine)
    return max(abs(row.standardised_error) for row in rows if row.status == 'identified')


@pytest.mark.usefixtures('fit_alone')
def test_offset_is_added_and_found(srs: Machine, signals: tuple) -> None:
    offset = 80.0 * np.array([1.0, 0.0, -1.0, 0.0, 0.0, 0.5])
    result = identify(srs, recording(srs, with_force(signals, lambda q, v, f: offset), 1))
    assert any('constant offset' in name for name in result.added)
    assert result.status != INSUFFICIENT
    assert worst(result, srs) < 4.0
    found = np.array([result.parameters[f'{name}.effort_offset'] for name in srs.actuated_joint_names])
    std = np.array([result.std[f'{name}.effort_offset'] for name in srs.actuated_joint_names])
    assert np.all(np.abs(found - offset) < 4.0 * std)
    assert any('added to the model' in warning for warning in result.warnings)


@pytest.mark.usefixtures('fit_alone')
def test_friction_by_load_is_added_and_found(srs: Machine, signals: tuple) -> None:
    motion, _, _ = signals
    frictionless = inverse_dynamics(srs, motion, friction=False)
    # what only the sensor shows presses nowhere, and the motion hardly tells it from bodies: deviations allow for it
    offset = 50.0 * np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    rubbing = with_force(signals, lambda q, v, f: 0.02 * np.abs(frictionless) * np.sign(v) + offset)
    result = identify(srs, recording(srs, rubbing, 1))
    assert any("drive's force" in name for name in result.added)
    for name in srs.actuated_joint_names:
        assert abs(result.parameters[f'{name}.load_friction'] - 0.02) < 4.0 * result.std[f'{name}.load_friction']
    assert worst(result, srs) < 4.0


@pytest.mark.usefixtures('fit_alone')
def test_friction_by_load_allows_for_rotors_that_are_not_told_from_arms() -> None:
    """Rotors of which only sums with bodies are known decide what the drives pass on."""
    delta = known_machine('delta')
    delta = replace(delta, leg_sensors=replace(delta.leg_sensors, effort_noise=np.full(3, 0.01)))
    true = with_joints(delta, lambda one: replace(one, rotor_inertia=1.3 * one.rotor_inertia) if one.actuated else one)
    motion, positions, forces = clean_signals(true, 'drives', 12.0, 125.0, 52)
    joints = joint_motion(true, motion)
    velocities, accelerations = joints.velocities[:, true.drive_columns], joints.accelerations[:, true.drive_columns]
    rotors = np.array([joint.rotor_inertia for joint in true.actuated_joints])
    passed_on = inverse_dynamics(true, motion, friction=False) - rotors * accelerations
    rubbing = motion, positions, forces + 0.05 * np.abs(passed_on) * np.sign(velocities)
    result = identify(delta, recording(delta, rubbing, 1))
    assert any("drive's force" in name for name in result.added)
    assert result.status != INSUFFICIENT
    for joint in true.actuated_joints:
        for kind, value in (('load_friction', 0.05), ('coulomb', joint.friction.coulomb)):
            name = f'{joint.name}.{kind}'
            assert abs(result.parameters[name] - value) < 4.0 * result.std[name], name


@pytest.mark.usefixtures('fit_alone')
def test_delay_is_added_and_found(srs: Machine, signals: tuple) -> None:
    motion, positions, forces = signals
    late = measured(forces, motion.time, 0.004, 0.0)
    result = identify(srs, recording(srs, (motion, positions, late), 1), recording(srs, (motion, positions, late), 2))
    place = result.shape.names.index('effort_delay')
    assert abs(result.shape.values[place] - 0.004) < 5.0 * result.shape.std[place] + 2e-5
    assert result.validation is not None
    assert result.validation.filtered_error.relative < 1e-3
    assert worst(result, srs) < 4.0
    # the file carries it, and an identification of what it gives begins there
    given = result.delivered.machine
    assert not result.delivered.lost and result.verdict.status != FAILED
    assert given.leg_sensors.effort_delay == result.shape.values[place]
    again = identify(given, recording(srs, (motion, positions, late), 3))
    assert not again.added and again.shape.names == ('effort_delay',)


@pytest.mark.usefixtures('fit_alone')
def test_a_filter_of_the_drives_is_added_and_found(srs: Machine, signals: tuple) -> None:
    """A low-pass of 20 Hz beside a delay is no delay alone, and no legs that differ."""
    motion, positions, forces = signals
    late = motion, positions, measured(forces, motion.time, 0.003, 0.008)
    result = identify(srs, recording(srs, late, 1), recording(srs, late, 2))
    assert result.added == (LAG_TITLE,) and result.status != INSUFFICIENT
    lateness = dict(zip(result.shape.names, zip(result.shape.values, result.shape.std, strict=True), strict=True))
    for name, true in (('effort_delay', 0.003), ('effort_lag', 0.008)):
        value, std = lateness[name]
        print(f'{name}: {value} +- {std}')
        assert abs(value - true) < 4.0 * std < 0.003
    assert worst(result, srs) < 4.0
    given = result.delivered.machine.leg_sensors
    assert not result.delivered.lost and given.lateness == (lateness['effort_delay'][0], lateness['effort_lag'][0])
    assert result.validation.delivered.filtered_error.relative < 1.2 * result.validation.filtered_error.relative


@pytest.mark.usefixtures('fit_alone')
def test_a_spring_of_one_drive_is_added_and_found(srs: Machine, signals: tuple) -> None:
    """Beside lengths from zero the way of a drive is small, and the other drives' residuals are noise."""
    stiffnesses = np.array([600.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    loaded = with_force(signals, lambda positions, velocities, forces: stiffnesses * positions)
    result = identify(srs, recording(srs, loaded, 1))
    assert result.added == (SPRING.title,) and result.status != INSUFFICIENT
    for joint, true in zip(srs.actuated_joints, stiffnesses, strict=True):
        name = f'{joint.name}.stiffness'
        assert abs(result.parameters[name] - true) < 4.0 * result.std[name] < 200.0


@pytest.mark.usefixtures('fit_alone')
def test_a_pull_and_a_spring_on_the_platform_are_added_and_found(srs: Machine, signals: tuple) -> None:
    """A drag chain: a force at a point of the platform's rim, and a spring."""
    motion, positions, forces = signals
    pull, point, stiffness = np.array([60.0, -90.0, 40.0]), np.array([0.4, 0.2, 0.0]), np.array([0.0, 3000.0, 0.0])
    arms = np.einsum('nij,j->ni', motion.rotation_base_platform, point)
    springs = stiffness * (motion.position - srs.home.position)
    wrench = -np.hstack([pull + springs, np.cross(arms, pull)])
    held = inverse_dynamics(srs, motion, external_wrench=wrench) - inverse_dynamics(srs, motion)
    result = identify(srs, recording(srs, (motion, positions, forces + held), 1))
    assert result.added == (PlatformForce.title,) and result.status != INSUFFICIENT
    assert worst(result, srs) < 4.0
    for axis, true in zip('xyz', stiffness, strict=True):
        name = f'platform.stiffness_{axis}'
        assert abs(result.parameters[name] - true) < 4.0 * result.std[name] < 1500.0


@pytest.mark.usefixtures('fit_alone')
def test_stribeck_friction_is_added_and_written(srs: Machine, signals: tuple, tmp_path: object) -> None:
    """The overlay has the other law, and gives the forces of the identified machine."""

    def excess(q: np.ndarray, v: np.ndarray, f: np.ndarray) -> np.ndarray:
        return 150.0 * np.sign(v) * np.exp(-((v / 0.06) ** 2))

    result = identify(srs, recording(srs, with_force(signals, excess), 1))
    assert any('Stribeck' in name for name in result.added)
    exponent = result.shape.names.index('drives.exponent')
    assert abs(result.shape.values[exponent] - 2.0) < 4.0 * result.shape.std[exponent]
    velocities = np.array([name.endswith('stribeck_velocity') for name in result.shape.names])
    assert np.all(np.abs(result.shape.values[velocities] - 0.06) < 4.0 * result.shape.std[velocities])
    path = write_overlay(result, f'{tmp_path}/overlay.yaml')
    reloaded = load_machine('srs', overlay=path)
    assert result.identified_machine is not None
    motion = signals[0][slice(0, 1600, 50)]
    expected = inverse_dynamics(result.identified_machine, motion)
    assert inverse_dynamics(reloaded, motion) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@pytest.mark.usefixtures('fit_alone')
@pytest.mark.campaign
def test_stribeck_friction_by_direction_is_added_and_written(srs: Machine, signals: tuple, tmp_path: object) -> None:
    """Friction at rest that is larger one way, beside Stribeck friction; drives are alike in that, or not."""
    stribeck = IdentificationConfig.from_mapping({'columns.friction_law': 'stribeck'})
    levels = np.array([[200.0, 100.0], [100.0, 200.0]])[[0, 1, 0, 0, 1, 0]]

    def excess(q: np.ndarray, v: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.where(v > 0.0, levels[:, 0], -levels[:, 1]) * np.exp(-((v / 0.06) ** 2))

    result = identify(srs, recording(srs, with_force(signals, excess), 1), config=stribeck)
    assert any('differs with the direction' in name for name in result.added)
    for joint, own in zip(srs.actuated_joints, levels, strict=True):
        for name, level in zip(('static_positive', 'static_negative'), own, strict=True):
            key = f'{joint.name}.{name}'
            assert abs(result.parameters[key] - joint.friction.coulomb - level) < 4.0 * result.std[key]
    assert worst(result, srs) < 4.0
    path = write_overlay(result, f'{tmp_path}/overlay.yaml')
    assert load_machine('srs', overlay=path).actuated_joints[0].friction.law.law == 'asymmetric_stribeck'


@pytest.mark.usefixtures('fit_alone')
def test_legs_that_differ_get_parameters_of_their_own(srs: Machine, signals: tuple) -> None:
    motion, positions, _ = signals

    def heavier(joint: Joint) -> Joint:
        body = replace(joint.body, mass=1.3 * joint.body.mass, inertia=1.3 * joint.body.inertia)
        return replace(joint, body=body) if joint.name.startswith('leg3_') else joint

    other = with_joints(srs, heavier)
    result = identify(srs, recording(srs, (motion, positions, inverse_dynamics(other, motion)), 1))
    assert 'legs that differ' in result.added
    assert not result.model.identical_legs
    assert worst(result, other) < 4.0


@pytest.mark.usefixtures('fit_alone')
def test_machine_whose_legs_differ_is_identified_as_such() -> None:
    machine = known_machine('khalifa_3prr')
    legs_differ = clean_signals(machine, 'drives', 10.0, RATE, 0)
    config = IdentificationConfig.from_mapping({'columns.extend': False, 'columns.friction_law': 'viscous_coulomb'})
    result = identify(machine, recording(machine, legs_differ, 1), config=config)
    assert not result.model.identical_legs
    assert {name[:4] for name in result.base.names if name.startswith('leg')} == {'leg1', 'leg2', 'leg3'}


@pytest.mark.usefixtures('fit_alone')
def test_redundant_drives() -> None:
    """Efforts in eight drives: what no motion shows is left aside, the rest is found."""
    machine = known_machine('octopod_8ups')
    signals = clean_signals(machine, 'fourier', 10.0, RATE, 0)
    config = IdentificationConfig.from_mapping({'columns.extend': False})
    result = identify(machine, recording(machine, signals, 1), config=config)
    assert worst(result, machine) < 4.5


def test_what_another_force_explains_leaves_and_what_is_shown_stays(srs: Machine, signals: tuple) -> None:
    """A spring that came in first, beside the offset that is there."""
    run = recording(srs, with_force(signals, lambda q, v, f: 80.0 * np.array([1.0, 0.0, -1.0, 0.0, 0.0, 0.5])), 1)
    config = IdentificationConfig()
    model = observation_model(srs, config, run.drive_positions, run.sample_rate)
    data = prepare(model, run, config)
    begin = Fitted(data, fit_model(data, model, config))
    spring, offset = (
        lambda one, form=form: one.with_terms((*one.terms, OneFactor(form, srs.actuated_joint_names)))
        for form in (SPRING, OFFSET)
    )
    both = offset(spring(model))
    fit = fit_model(data.with_model(both), both, config, begin.fit)
    now = Fitted(data.with_model(both), fit, {SPRING.title: spring, OFFSET.title: offset})
    without = leaving(now, begin, config)
    assert without is not None and list(without.entered) == [OFFSET.title]
    assert begin.evidence < now.evidence < without.evidence
    assert leaving(without, begin, config) is None
    # offsets stay beside any other force
    assert leaving(Fitted(now.data, fit, {OFFSET.title: offset, SPRING.title: spring}), begin, config) is None


def test_rows_in_blocks_equal_those_at_once(srs: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that are computed again where they are needed, in small blocks, give what kept ones give."""
    long = recording(srs, clean_signals(srs, 'fourier', 25.0, RATE, 0), 1)
    config = IdentificationConfig()
    model = observation_model(srs, config, long.drive_positions, long.sample_rate)
    at_once = prepare(model, long, config)
    in_blocks = prepare(model, long, config)
    parameters = model.all_parameters(srs)[: model.structure_count]
    expected, forces = at_once.structure_rows, at_once.structure_forces(parameters)
    monkeypatch.setattr('pkm_identification.blocks.KEPT_BYTES', 0)
    monkeypatch.setattr('pkm_identification.blocks.BLOCK', 1000)
    scale = np.abs(expected).max(axis=(0, 1))
    assert np.abs((in_blocks.structure_rows - expected) / np.maximum(scale, 1e-12)).max() < 1e-7
    again = in_blocks.structure_forces(parameters)
    np.testing.assert_allclose(again, forces, rtol=1e-12, atol=1e-9)


def test_slopes_of_nonlinear_parameters(srs: Machine, signals: tuple) -> None:
    """Derivatives by Stribeck velocities, exponent and period equal central differences."""
    run = recording(srs, signals, None)
    config = IdentificationConfig.from_mapping({'columns.friction_law': 'stribeck', 'columns.extend': False})
    model = observation_model(srs, config, run.drive_positions, run.sample_rate)
    data = prepare(model, run, config)
    term = model.terms[0]
    parameters = np.random.default_rng(0).uniform(10.0, 100.0, size=len(term.names))
    slopes, (drives, shapes) = term.shape_slopes(data.samples, parameters)
    for column, (drive, shape) in enumerate(zip(drives, shapes, strict=True)):
        step = 1e-6 * term.shape[shape] * np.eye(len(term.shape))[shape]
        ends = [term.with_shape(term.shape + sign * step).columns(data.samples) for sign in (1.0, -1.0)]
        own = term.column_places == drive
        difference = ((ends[0] - ends[1])[:, own] @ parameters[own]) / (2.0 * step[shape])
        size = np.abs(slopes[:, column]).max()
        np.testing.assert_allclose(slopes[:, column], difference, rtol=1e-5, atol=1e-5 * size)


def test_unknown_terms_are_refused() -> None:
    with pytest.raises(ConfigurationError, match='offsets.*choose from offset'):
        ColumnSettings(terms=('offsets',))
    with pytest.raises(ConfigurationError, match='stribek'):
        ColumnSettings(friction_law='stribek')


def test_friction_by_the_load_is_not_fitted_twice() -> None:
    """The drives of this machine have a law that depends on the force across their axes."""
    machine, positions = known_machine('khalifa_3prr'), np.linspace(0.0, 0.1, 50)[:, None] * np.ones(3)
    assert machine.actuated_joints[0].friction.law.needs_load
    config = IdentificationConfig.from_mapping({'columns.terms': ['transverse_friction']})
    with pytest.raises(ConfigurationError, match='load_dependent_stribeck.*already; leave out this term'):
        observation_model(machine, config, positions, 100.0)
    other = {'columns.terms': ['transverse_friction'], 'columns.friction_law': 'viscous_coulomb'}
    model = observation_model(machine, IdentificationConfig.from_mapping(other), positions, 100.0)
    assert [term.kind for term in model.terms] == ['friction', 'transverse_friction']


@pytest.mark.usefixtures('fit_alone')
def test_friction_by_direction_is_added_found_and_delivered(srs: Machine, signals: tuple) -> None:
    """Viscous and Coulomb friction of a hydraulic cylinder with one rod: the file carries the law."""
    forces = with_force(signals, lambda q, v, f: 60.0 * np.abs(v) + 20.0)
    result = identify(srs, recording(srs, forces, 1))
    assert result.added == (VISCOUS_TITLE,) and not result.delivered.lost
    assert worst(result, srs) < 4.0 and result.verdict.status != FAILED
    laws = [joint.friction.law for joint in result.delivered.machine.actuated_joints]
    found = np.array([0.5 * (law.viscous_positive - law.viscous_negative) for law in laws])
    assert np.abs(found - 60.0).max() < 20.0


@pytest.mark.usefixtures('fit_alone')
def test_a_limit_of_time_ends_with_what_there_is(srs: Machine, signals: tuple) -> None:
    forces = with_force(signals, lambda q, v, f: 80.0 * np.array([1.0, 0.0, -1.0, 0.0, 0.0, 0.5]))
    config = IdentificationConfig.from_mapping({'columns.time_limit': 1e-6})
    result = identify(srs, recording(srs, forces, 1), config=config)
    assert result.status == INSUFFICIENT and not result.added
    assert any('columns.time_limit = 1e-06 s were over' in text for text in result.warnings)


@pytest.mark.usefixtures('fit_alone')
def test_a_first_fit_that_does_not_settle_ends_with_the_time(srs: Machine, signals: tuple) -> None:
    """Its friction follows its own forces, and its nonlinear parameters are searched for: neither begins."""
    terms = {'columns.friction_law': 'stribeck', 'columns.terms': 'load_friction', 'columns.time_limit': 1e-6}
    config = IdentificationConfig.from_mapping(terms | {'columns.extend': False})
    result = identify(srs, recording(srs, signals, 1), config=config)
    assert result.status == INSUFFICIENT
    assert any('had not settled when columns.time_limit = 1e-06 s were over' in text for text in result.warnings)


@pytest.mark.usefixtures('fit_alone')
@pytest.mark.parametrize('extend', [True, pytest.param(False, marks=pytest.mark.campaign)])
def test_a_wrong_gain_is_named_and_nothing_is_identified(srs: Machine, signals: tuple, extend: bool) -> None:
    """20 % off, beside a delay: no recording tells which drive is right, and nothing else is added in its place."""
    motion, positions, forces = signals
    late = measured(forces, motion.time, 0.0041, 0.0)
    gains = np.array([1.0, 1.2, 1.0, 1.0, 1.0, 1.0])
    config = IdentificationConfig.from_mapping({'columns.extend': extend})
    result = identify(srs, recording(srs, (motion, positions, gains * late), 1), config=config)
    assert result.status == INSUFFICIENT and not any('legs that differ' in name for name in result.added)
    assert 'a wrong gain of the effort' in result.warnings[0]
    assert re.search(r'leg1 1\.0., leg2 1\.(19|20|21), leg3', result.warnings[0])


def test_a_fault_of_the_recording_is_named_and_nothing_is_identified(srs: Machine, signals: tuple) -> None:
    motion, positions, forces = signals
    config = IdentificationConfig.from_mapping({'columns.extend': False})
    result = identify(srs, recording(srs, (motion, positions, 1e-3 * forces), 1), config=config)
    assert result.status == INSUFFICIENT and [one.code for one in result.findings] == ['effort_unit']


def test_a_ripple_stays_the_same_wave() -> None:
    """Limits of its period are half a wave over the travel either way, wherever the search has been."""
    ripple = Ripple(('a', 'b'), 0.01, 0.5)
    ((lower, upper),) = ripple.shape_limits
    assert (0.5 / lower, 0.5 / upper) == pytest.approx((50.5, 49.5))
    np.testing.assert_array_equal(ripple.with_shape(np.array([0.0101])).shape_limits, ripple.shape_limits)
    assert Ripple(('a',), 0.01).shape_limits.tolist() == [[0.005, 0.02]]
