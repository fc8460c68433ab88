"""Identification sample by sample: window, rows, changes of the load, and what is said where it does not suffice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from known_machines import known_machine
from loaded import loaded_signals
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine import JointFriction, Machine
from pkm_description.machine.machine import with_friction
from pkm_description.motion.profiles import profile
from pkm_estimation.bags import BagWriter
from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.nodes.identify_online import main
from pkm_identification.online.change_filter import Kept, Noise
from pkm_identification.online.identifier import OnlineIdentifier, OnlineSample
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.payload import LoadChange, posterior
from pkm_identification.online.sliding_polynomial import SlidingPolynomial, WindowSample
from pkm_identification.online.stream import write_overlay
from pkm_identification.online.watches import MISFIT

BEGIN = 10**9


def fed(identifier: OnlineIdentifier, time: Array, positions: Array, efforts: Array) -> list[OnlineSample]:
    """What is known of the samples by an identifier that takes these signals."""
    rows = zip(time, positions, efforts, strict=True)
    found = [identifier.add(BEGIN + round(now * 1e9), position, effort) for now, position, effort in rows]
    return [sample for sample in found if sample is not None]


def test_a_window_gives_the_motion_in_its_middle() -> None:
    """Polynomials up to its degree exactly, with jitter and missing samples; nothing right after a gap."""
    random = np.random.default_rng(0)
    stamps = np.sort(random.choice(3000, 900, replace=False)) * 10**6 + BEGIN
    factors = random.normal(size=(5, 4))

    def motion(time: float, derivative: int) -> np.ndarray:
        return np.array([np.polyval(np.polyder(column, derivative), time) for column in factors.T])

    window, found = SlidingPolynomial(2, 0.2, 4), []
    for stamp in stamps.tolist():
        values = motion(stamp / 1e9, 0)
        found.append(window.add(stamp, values[:2], values[2:]))
    samples = [sample for sample in found if sample is not None]
    assert len(samples) > 700
    for sample in samples[::50]:
        time = sample.stamp / 1e9
        for derivative, ours in enumerate((sample.positions, sample.velocities, sample.accelerations)):
            np.testing.assert_allclose(ours, motion(time, derivative)[:2], rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(sample.efforts, motion(time, 0)[2:], rtol=1e-9)
    assert window.add(int(stamps[-1]) + 10**8, np.zeros(2), np.zeros(2)) is None
    assert window.gaps == 1


def test_a_slow_stream_gets_a_longer_window() -> None:
    window = SlidingPolynomial(1, 0.2, 4)
    for index in range(60):
        sample = window.add(BEGIN + index * 10**8, np.array([0.01 * index]), np.zeros(1))
    assert sample is not None and window.window == pytest.approx(0.8, abs=0.15)
    assert sample.velocities[0] == pytest.approx(0.1)


@pytest.mark.parametrize('name', ['srs', 'khalifa_3prr', 'delta'])
def test_rows_times_the_parameters_of_the_file_are_its_forces(name: str) -> None:
    """But for rotors and friction of passive joints, which have no columns."""
    machine = known_machine(name)
    observation = OnlineObservation(machine)
    states = random_states(machine, 5, seed=2)
    joints, columns = joint_motion(machine, states), machine.drive_columns
    for index in range(5):
        motion = (values[index, columns] for values in (joints.positions, joints.velocities, joints.accelerations))
        none = np.zeros(len(columns))
        rows = observation.rows(WindowSample(0, *motion, none, none, 0.0, none, none, none, none))
        if name != 'delta':
            error = np.abs(rows.matrix @ observation.nominal - rows.forces).max()
            assert error < 1e-9 * np.abs(rows.forces).max()
        # a payload changes the base parameters by its map
        load = np.random.default_rng(index).normal(size=10)
        change = rows.matrix @ (observation.payload_map @ load)
        np.testing.assert_allclose(change, rows.platform @ load, rtol=0.0, atol=1e-8 * np.abs(change).max())


def test_a_load_is_named(srs: Machine) -> None:
    """10 % of the platform's mass, with bias and ripple: within 0.5 s; mass within 2 %, and within its deviations."""
    motion = profile('mp1', srs, 22.0, 100.0)
    mass, place = 0.1 * srs.platform.mass, np.array([0.1, -0.06, 0.15])
    since = 14.0
    positions, forces = loaded_signals(srs, motion, since, mass, place)
    identifier, seen = OnlineIdentifier(srs), None
    for time, position, force in zip(motion.time, positions, forces, strict=True):
        identifier.add(BEGIN + round(time * 1e9), position, force)
        if identifier.payload is not None and seen is None:
            seen = time
    assert seen is not None and 0.0 < seen - since < 0.5
    payload = identifier.payload
    assert abs((payload.since - BEGIN) / 1e9 - since) < 0.5
    assert abs(payload.mass - mass) < min(0.02 * mass, 4.0 * payload.mass_std)
    assert (np.abs(payload.center - place) < 4.0 * payload.center_std).all()
    assert payload.center_std.max() < 0.035 and (identifier.lack is None or 'ripple' in identifier.lack.title)
    assert 'centre of mass' in str(payload) and identifier.detectable_mass < 0.5 * mass


@pytest.mark.parametrize('minutes', [1, pytest.param(2, marks=pytest.mark.campaign)])
def test_no_alarm_while_friction_drifts(srs: Machine, minutes: int) -> None:
    """By 20 %, with bias and ripple: no change of the load is said, and the residuals stay small."""
    motion = profile('mp1', srs, 20.0, 50.0)
    rows = slice(100, 900)  # where it moves
    positions, forces = loaded_signals(srs, motion, 100.0, 1.0, np.zeros(3))
    friction = inverse_dynamics(srs, motion) - inverse_dynamics(srs, motion, friction=False)
    back = np.concatenate([np.arange(rows.start, rows.stop), np.arange(rows.stop, rows.start, -1)])
    duration, identifier = 60.0 * minutes, OnlineIdentifier(srs)
    steps = np.arange(round(50.0 * duration))
    places, time = np.resize(back, len(steps)), 0.02 * steps
    way = np.where(steps % len(back) < len(back) // 2, 1.0, -1.0)  # on the way back speeds are the other way round
    drift = way * (1.0 + 0.2 * np.sin(0.5 * np.pi * time / duration))
    fed(identifier, time, positions[places], (forces - friction)[places] + drift[:, None] * friction[places])
    # what is said is the ripple that is there
    assert identifier.payload is None and (identifier.lack is None or 'ripple' in identifier.lack.title)
    assert (identifier.residual_std < 0.01 * identifier.observation.typical_force).all()


def test_a_load_with_which_friction_jumps_is_named(srs: Machine) -> None:
    """Half as much friction again from the moment of the load on: the load is as heavy as its deviation says."""
    motion = profile('mp1', srs, 20.0, 100.0)
    mass, place, since = 0.1 * srs.platform.mass, np.array([0.1, -0.06, 0.15]), 14.0
    positions, forces = loaded_signals(srs, motion, since, mass, place)
    friction = inverse_dynamics(srs, motion) - inverse_dynamics(srs, motion, friction=False)
    forces = forces + 0.5 * friction * (motion.time >= since)[:, None]
    identifier = OnlineIdentifier(srs)
    fed(identifier, motion.time, positions, forces)
    payload = identifier.payload
    assert payload is not None and abs((payload.since - BEGIN) / 1e9 - since) < 0.5
    assert abs(payload.mass - mass) < min(0.05 * mass, 4.0 * payload.mass_std)
    assert (np.abs(payload.center - place) < 4.0 * payload.center_std).all()


def test_friction_that_jumps_is_no_load_and_is_learned(srs: Machine) -> None:
    """Half as much friction again from one moment to the next: nothing is said of the load, and learning goes on."""
    motion = profile('mp1', srs, 40.0, 50.0)
    positions, forces = loaded_signals(srs, motion, 100.0, 1.0, np.zeros(3))
    friction = inverse_dynamics(srs, motion) - inverse_dynamics(srs, motion, friction=False)
    forces = forces + 0.5 * friction * (motion.time > 20.0)[:, None]
    identifier = OnlineIdentifier(srs)
    samples = fed(identifier, motion.time, positions, forces)
    errors = [np.where(sample.used, sample.residual, 0.0) for sample in samples]
    parts = slice(500, 950), slice(995, 1025), slice(1050, -150)
    before, jumped, after = (np.sqrt(np.mean(np.square(errors[part]), axis=1)) for part in parts)
    assert identifier.payload is None
    assert after.mean() < 1.5 * before.mean() < 0.5 * jumped.max()


def test_a_clock_that_is_set_back(srs: Machine) -> None:
    """As when a recording is played again: what is known stays, and learning goes on."""
    motion = profile('mp1', srs, 4.0, 100.0)
    positions, forces = loaded_signals(srs, motion, 100.0, 1.0, np.zeros(3))
    identifier = OnlineIdentifier(srs)
    for _ in range(2):
        fed(identifier, motion.time, positions, forces)
    assert identifier.samples > 600 and sum(identifier.rejected.values()) == 1


def test_a_force_of_no_known_form_is_said(srs: Machine) -> None:
    """A wave in time, which differs from drive to drive: residuals are not noise, before enough is tested."""
    motion = profile('mp1', srs, 9.0, 100.0)
    positions, forces = loaded_signals(srs, motion, 100.0, 1.0, np.zeros(3))
    wave = np.sin(8.0 * motion.time)[:, None] * np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    for part, fits in ((0.0, True), (0.1, False)):
        identifier = OnlineIdentifier(srs)
        values = forces + part * float(np.sqrt(np.mean(forces**2))) * wave
        fed(identifier, motion.time, positions, values)
        is_large = identifier.lack is not None and identifier.lack.part > MISFIT
        assert is_large is not fits and not identifier.is_certain, identifier.verdict


def test_samples_of_no_use_are_counted_and_a_reset_forgets(srs: Machine) -> None:
    motion = profile('mp1', srs, 3.0, 100.0)
    positions, forces = loaded_signals(srs, motion, 100.0, 1.0, np.zeros(3))
    identifier = OnlineIdentifier(srs)
    fed(identifier, motion.time, positions, forces)
    before = identifier.parameters
    assert identifier.samples > 200 and not np.array_equal(before, identifier.observation.nominal)
    identifier.add(BEGIN + 29 * 10**8, positions[0], forces[0])
    identifier.add(BEGIN + 10**11, positions[0], np.full(6, np.nan))
    assert dict(identifier.rejected) == {
        'stamp repeated or going back': 1, 'position or effort missing or not finite': 1
    }  # fmt: skip
    identifier.reset()
    assert np.array_equal(identifier.parameters, identifier.observation.nominal)
    fed(identifier, motion.time, positions, forces)
    assert np.array_equal(identifier.parameters, before)
    identifier.is_frozen = True
    identifier.add(BEGIN + 4 * 10**9, positions[0], forces[0])
    assert np.array_equal(identifier.parameters, before)


def test_the_program_reads_a_bag(srs: Machine, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    motion = profile('mp1', srs, 4.0, 100.0)
    positions, forces = loaded_signals(srs, motion, 100.0, 1.0, np.zeros(3))
    with BagWriter(tmp_path / 'bag', 'mcap') as writer:
        stamps = BEGIN + np.round(motion.time * 1e9).astype(np.int64)
        writer.write_joint_states(stamps, list(srs.actuated_joint_names), positions, np.zeros_like(positions), forces)
    settings, table = tmp_path / 'settings.yaml', tmp_path / 'efforts.csv'
    settings.write_text('online_identification: {ros__parameters: {window: 0.3}}')
    assert main([str(tmp_path / 'bag'), '--machine', 'srs', '-o', str(table), '--config', str(settings)]) == 0
    said = capsys.readouterr().out
    assert 'platform_link.m + 6 leg_rod.m' in said and 'not tested yet' in said
    values = np.genfromtxt(table, delimiter=',', names=True)
    # half of the window is missing on both sides
    assert values['time'][0] == pytest.approx(0.15, abs=0.02) and len(values) == pytest.approx(370, abs=3)
    assert main([str(tmp_path / 'nothing'), '--machine', 'srs']) == 1
    assert 'nothing' in capsys.readouterr().err


def test_what_was_learned_is_an_overlay(srs: Machine, tmp_path: Path) -> None:
    """Written, read, and nearer to the truth: forces of other motions, and friction of every drive."""
    motion, other = profile('fourier', srs, 20.0, 100.0), profile('mp1', srs, 20.0, 100.0)
    positions, forces = loaded_signals(srs, motion, 100.0, 1.0, np.zeros(3))
    begun = with_friction(srs, lambda joint: JointFriction.viscous_coulomb(0.6 * joint.friction.viscous, 0.0))
    identifier = OnlineIdentifier(begun)
    path = tmp_path / 'kept' / 'overlay.yaml'
    with pytest.raises(InfeasibleParametersError, match='nothing is learned yet'):
        write_overlay(identifier, path, '2026-01-01')
    fed(identifier, motion.time, positions, forces)
    for _ in range(2):  # an older file is replaced
        assert write_overlay(identifier, path, '2026-01-01') == path
    learned = load_machine('srs', path)
    true = inverse_dynamics(srs, other)
    before, after = (
        float(np.sqrt(np.mean((inverse_dynamics(one, other) - true) ** 2))) for one in (begun, learned)
    )
    assert after < 0.2 * before
    for one, joint in zip(learned.actuated_joints, srs.actuated_joints, strict=True):
        assert one.friction.viscous == pytest.approx(joint.friction.viscous, rel=0.1)


def test_a_payload_follows_from_parameters_before_and_after() -> None:
    """The rules of normal distributions, against the joint estimate of both."""
    random = np.random.default_rng(3)
    covariance = np.diag(random.uniform(0.5, 2.0, 12))
    mapping, spread, before = random.normal(size=(12, 10)), random.uniform(1.0, 3.0, 10), random.normal(size=12)
    rows, noise = random.normal(size=(40, 12)), 0.3
    load = spread * random.normal(size=10)
    measured = rows @ (before + mapping @ load) + noise * random.normal(size=40)
    change = LoadChange(0, Kept(0, before, covariance, Noise(*np.ones((3, 6)))), mapping, spread, np.zeros(12))
    found = change.judged(rows.T @ rows / noise**2, rows.T @ (measured - rows @ before) / noise**2).payload
    both = np.hstack([rows, rows @ mapping])
    weights = np.diag(np.concatenate([1.0 / np.diag(covariance), 1.0 / spread**2]))
    joint = np.linalg.inv(weights + both.T @ both / noise**2)
    expected = joint @ (weights[:, :12] @ before + both.T @ measured / noise**2)
    np.testing.assert_allclose(found.parameters, expected[12:], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.covariance, joint[12:, 12:], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize('is_load', [True, False])
def test_what_was_known_less_well_than_it_said_is_no_load(is_load: bool) -> None:
    """Parameters that are five of their deviations off look like a load, but are likelier just that."""
    random = np.random.default_rng(1)
    half, noise = random.normal(size=(12, 12)), 0.01
    covariance, rows = half @ half.T / 100.0, random.normal(size=(60, 12))
    mapping, spread = random.normal(size=(12, 10)), np.full(10, 3.0)
    off = mapping @ (spread * random.normal(size=10)) if is_load else 0.5 * half @ random.normal(size=12)
    kept = Kept(0, np.zeros(12), covariance, Noise(*np.ones((3, 6))))
    measured = rows @ off + noise * random.normal(size=60)
    found = LoadChange(0, kept, mapping, spread, np.zeros(12)).judged(
        rows.T @ rows / noise**2, rows.T @ measured / noise**2
    )
    assert found.is_change
    assert found.is_decisive == is_load
    if not is_load:
        error = found.without.mean - off
        assert error @ np.linalg.solve(found.without.covariance, error) < 40.0


def test_the_evidence_of_a_prior_is_the_likelihood_under_it() -> None:
    """Estimate and likelihood ratio of two priors by the textbook's marginal likelihoods."""
    random = np.random.default_rng(2)
    half = random.normal(size=(4, 4))
    rows, noise = random.normal(size=(9, 4)), 0.5
    priors = half @ half.T, half @ half.T + np.diag([4.0, 0.0, 9.0, 0.0])
    measured = rows @ random.normal(size=4) + noise * random.normal(size=9)
    found, expected = [], []
    for prior in priors:
        one = posterior(prior, rows.T @ rows / noise**2, rows.T @ measured / noise**2)
        marginal = rows @ prior @ rows.T + noise**2 * np.eye(9)
        expected.append(-0.5 * (np.linalg.slogdet(marginal)[1] + measured @ np.linalg.solve(marginal, measured)))
        found.append(one.evidence)
        gain = prior @ rows.T @ np.linalg.inv(marginal)
        np.testing.assert_allclose(one.mean, gain @ measured, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(one.covariance, prior - gain @ rows @ prior, rtol=1e-7, atol=1e-9)
    assert found[1] - found[0] == pytest.approx(expected[1] - expected[0], rel=1e-7)
