"""The data set for identification: physics, friction, signals, files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from pkm_description.dynamics import inverse_dynamics
from pkm_description.friction_laws.laws import NO_FRICTION, LoadDependentStribeck
from pkm_description.kinematics import motion_from_drives
from pkm_description.loading import load_machine
from pkm_description.machine import Joint, JointFriction, Machine
from pkm_description.machine.machine import with_friction
from pkm_identification.estimator.bodies import infeasibilities
from pkm_identification.recording.bag_recordings import read_recording
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, sosfiltfilt

pytest.importorskip('mujoco')

from verification.identification_data import cli
from verification.identification_data.cases import CASES, Case
from verification.identification_data.cli import main
from verification.identification_data.dataset import DataSet, Measured, generate
from verification.identification_data.files import csv_text
from verification.identification_data.friction import DriveFriction, drive_forces
from verification.identification_data.hidden import hidden_bodies, passive_radius

SHORT = (8.0, 6.0)
#: Hz, band in which forces are compared: well above the excitation, below what the bristles do at a reversal
BAND = 15.0
#: s, left out at both ends, where spline and filter begin
EDGE = 0.3


def rigid_force_error(data: DataSet, measured: Measured) -> float:
    """Efforts less friction against the inverse dynamics of the true machine along the true drive positions.

    Returns
    -------
    float
        Root mean square of the difference below :data:`BAND`, over that of the forces.
    """
    run = measured.run
    spline = make_interp_spline(run.time, run.positions, k=5)
    motion = motion_from_drives(data.true_machine, run.time, spline(run.time), spline(run.time, 1), spline(run.time, 2))
    forces = inverse_dynamics(as_simulated(data), motion)
    low_pass = butter(4, BAND, fs=1.0 / data.step, output='sos')
    difference = sosfiltfilt(low_pass, run.efforts - run.friction - forces, axis=0)
    edge = round(EDGE / data.step)
    return float(np.sqrt(np.mean(difference[edge:-edge] ** 2) / np.mean(forces[edge:-edge] ** 2)))


def as_simulated(data: DataSet) -> Machine:
    """The true machine with the friction that MuJoCo has in its passive joints, and none in its drives."""
    radius = passive_radius(data.nominal, data.case)

    def friction(joint: Joint) -> JointFriction:
        if joint.actuated:
            return replace(joint.friction, law=NO_FRICTION)
        if joint.kind != 'revolute' or not radius > 0.0:
            return joint.friction
        both = LoadDependentStribeck(
            viscous=joint.friction.viscous, coulomb_coefficient=radius, static_coefficient=radius,
            stribeck_velocity=1.0, additional_load=joint.friction.coulomb / radius,
        )  # fmt: skip
        return replace(joint.friction, law=both)

    return with_friction(data.true_machine, friction)


@pytest.fixture(scope='module')
def everything() -> DataSet:
    return generate('valencia_3rps', Case(**{**vars(CASES['everything']), 'gain': 0.1, 'delay': 0.004}), 3, SHORT)


@pytest.mark.parametrize(
    ('name', 'limit'),
    [('srs', 3e-6), pytest.param('valencia_3rps', 4e-5, marks=pytest.mark.campaign), ('khalifa_3prr', 4e-5)],
)
def test_efforts_are_those_of_the_equations_of_motion(name: str, limit: float) -> None:
    data = generate(name, 'ideal', 0, SHORT)
    assert rigid_force_error(data, data.training) < limit
    assert data.training.run.closure_gap < 1e-6
    assert np.array_equal(data.training.efforts, data.training.run.efforts)  # neither noise nor errors of drives


@pytest.mark.parametrize('name', [pytest.param('srs', marks=pytest.mark.campaign), 'valencia_3rps'])
def test_friction_of_passive_hinges_is_that_of_the_law_by_load(name: str) -> None:
    """MuJoCo's joint forces across the axes are ours, up to what the smoothed sign leaves at reversals."""
    data = generate(name, Case(friction=0.0, noise=0.0, passive=2.4e-3), 0, SHORT)
    with_law = rigid_force_error(data, data.training)
    without = rigid_force_error(replace(data, case=replace(data.case, passive=0.0)), data.training)
    print(f'{name}: with the law {with_law:.2g}, without {without:.2g} of the forces')
    assert without > 10.0 * with_law


@pytest.mark.campaign
def test_same_seed_same_bytes_other_seed_other_machine(everything: DataSet) -> None:
    again = generate('valencia_3rps', everything.case, 3, SHORT)
    other = generate('valencia_3rps', everything.case, 4, SHORT)
    assert csv_text(everything.training, everything.nominal) == csv_text(again.training, again.nominal)
    assert other.true_machine.platform.mass != again.true_machine.platform.mass
    assert not np.allclose(other.friction.coulomb_forward, again.friction.coulomb_forward)
    assert not np.allclose(everything.training.run.positions[:6001], everything.validation.run.positions)


def swept(speed: float, axial: float = 0.0) -> float:
    """Friction of one drive after a slide of 10 s at constant speed."""
    one = np.ones(1)
    amounts = 20.0, 60.0, 40.0, 1.5, 0.05, 2.0, axial, 1e-5
    friction = DriveFriction(*(amount * one for amount in amounts))
    memory = np.zeros((6, 1))
    memory[1] = speed
    servo, reference = np.array([[0.0], [0.0], [1e9], [0.0]]), np.array([[0.0], [0.0], [500.0]])
    for _ in range(10_000):
        drive_forces(friction.table(), servo, reference, np.zeros(1), np.array([speed]), memory, 0.001)
    return float(memory[3, 0])


@pytest.mark.parametrize('speed', [0.5, 0.05, 0.01, -0.5, -0.02])
def test_sliding_friction_is_the_stribeck_curve(speed: float) -> None:
    coulomb = 60.0 if speed > 0.0 else 40.0
    expected = np.sign(speed) * coulomb * (1.0 + 0.5 * np.exp(-((speed / 0.05) ** 2))) + 20.0 * speed
    assert swept(speed) == pytest.approx(expected, rel=1e-9)


def test_axial_friction_is_that_of_the_force_passed_on() -> None:
    rubbing = swept(0.5, axial=0.1)
    assert rubbing == pytest.approx(60.0 + 10.0 + 0.1 * (500.0 - rubbing), rel=1e-4)


def test_at_rest_the_bristles_hold_like_a_spring() -> None:
    one = np.ones(1)
    friction = DriveFriction(0.0 * one, 50.0 * one, 50.0 * one, one, one, one, 0.0 * one, 1e-5 * one)
    memory, servo = np.zeros((6, 1)), np.array([[0.0], [0.0], [1e9], [0.0]])
    for _ in range(10):  # 0.1 um in all, a hundredth of the pre-sliding
        drive_forces(friction.table(), servo, np.zeros((3, 1)), np.zeros(1), np.array([1e-5]), memory, 0.001)
    assert memory[3, 0] == pytest.approx(0.5, rel=0.01)


def test_hidden_bodies_are_possible_and_legs_unlike_if_asked_for() -> None:
    machine = load_machine('srs')
    for unlike in (False, True):
        hidden = hidden_bodies(machine, Case(bodies=0.3, unlike_legs=unlike), 5)
        bodies = [joint.body for leg in hidden.legs for joint in leg.joints] + [hidden.platform]
        assert not infeasibilities({body.name: body.parameters for body in bodies if body.mass > 0.0})
        rods = [leg.joints[-1].body.mass for leg in hidden.legs]
        assert (len(set(rods)) == 1) is not unlike
        assert hidden.platform.mass != machine.platform.mass


def test_signals_have_the_gain_bias_delay_and_noise_of_the_truth(everything: DataSet) -> None:
    measured, signals = everything.training, everything.signals
    run, late = measured.run, round(signals.delay / everything.step)
    phase = 2.0 * np.pi * run.positions / signals.ripple_pitch + signals.ripple_phase
    expected = signals.gain * run.efforts + signals.bias + signals.ripple * np.sin(phase)
    noise = measured.efforts[late:] - expected[:-late]
    assert noise.std(axis=0) == pytest.approx(signals.effort_noise, rel=0.05)
    assert np.abs(noise.mean(axis=0)).max() < 0.1 * signals.effort_noise.max()
    steps = measured.positions / signals.encoder_resolution
    assert np.abs(steps - np.round(steps)).max() < 1e-6
    assert signals.gain.min() < 1.0 < signals.gain.max()


def test_the_command_writes_bags_tables_truth_and_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[DataSet] = []
    monkeypatch.setattr(cli, 'generate', lambda *given: made.append(generate(*given)) or made[-1])
    arguments = ['valencia_3rps', '-o', str(tmp_path), '--set', 'axial=0.05', '--durations', '8', '6', '--seed', '7']
    assert main(arguments) == 0
    assert main(arguments) == 1  # nothing is overwritten
    assert main(['valencia_3rps', '-o', str(tmp_path / 'b'), '--set', 'speed=1']) == 1
    assert 'speed=1: expected NAME=VALUE' in capsys.readouterr().err
    (data,) = made
    assert data.case == Case(axial=0.05)
    recording = read_recording(data.nominal, tmp_path / 'training')
    assert np.allclose(recording.forces, data.training.efforts)
    table = np.genfromtxt(tmp_path / 'training.csv', delimiter=',', names=True)
    assert np.allclose(table['leg2_prismaticposition'], recording.drive_positions[:, 1], rtol=0.0, atol=1e-9)
    truth = yaml.safe_load((tmp_path / 'truth.yaml').read_text())
    assert truth['friction']['axial'] == [0.05] * 3
    assert truth['bodies']['platform_link']['mass'] == data.true_machine.platform.mass
    assert 'axial = 0.05' in (tmp_path / 'README.md').read_text()
