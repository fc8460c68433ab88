"""The campaign of identification: one small run, and that a wrong result fails its checks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('mujoco')
pytest.importorskip('pinocchio')

from pkm_description.errors import KinematicsError
from pkm_description.kinematics import drive_positions, forward_kinematics
from pkm_description.loading import load_machine

from verification.accepted import with_acceptance
from verification.identification.diagnosis import faults_of
from verification.identification.expectations import EXPECTATIONS, legs_are_alike, settings_for
from verification.identification.motions import near_singular, several_sines
from verification.identification.online_consistency import batch_checks, consistency_checks, normalised_error
from verification.identification.peer import PREDICTED, TextbookPipeline
from verification.identification.plan import FULL, Extent, judged, plan, rotor_checks
from verification.identification.repetitions import measured, with_bodies
from verification.identification.trial import Outcome, run_trial
from verification.identification_data.dataset import generate
from verification.suite import Request

GOOD = Outcome(
    held_out=0.0005, noise_floor=0.0001, status='complete', sigmas=np.array([0.5, 3.9]), all_sigmas=np.array([0.5]),
    coulomb=0.009, stribeck_velocity=0.09, compared=0.0005, peer=0.0021,
)  # fmt: skip
BAD = replace(GOOD, held_out=0.01, sigmas=np.array([4.1]), coulomb=0.2, stribeck_velocity=np.nan, peer=0.0019)


@pytest.mark.parametrize('case', EXPECTATIONS)
def test_a_wrong_result_fails_every_check(case: str) -> None:
    expected = EXPECTATIONS[case]
    assert not [check.what for check in judged(case, expected, [GOOD, GOOD]) if check.failed]
    checks = list(judged(case, expected, [GOOD, BAD]))
    assert checks
    assert all(check.failed for check in checks)


def test_nothing_is_wrong_that_is_not_called_identified() -> None:
    alarm = replace(BAD, status='model insufficient', sigmas=np.zeros(0))
    assert alarm.is_alarm and alarm.worst == 0.0


def test_parts_and_settings() -> None:
    extent = replace(FULL, cases=('axial',), sections=('cases',))
    assert [part.title for part in plan(Request(settings=extent), None).parts] == ['axial, seeds from 0']
    with pytest.raises(ValueError, match='cases = speed: must be some of plain'):
        Extent(cases=('speed',))
    assert legs_are_alike(load_machine('srs')) and not legs_are_alike(load_machine('khalifa_3prr'))
    found = settings_for(load_machine('srs'), True, {'columns.friction': 'all'})
    assert found == {'columns.identical_legs': False, 'columns.friction': 'all'}


def test_a_plain_recording_is_identified_and_the_peer_works() -> None:
    data = generate('khalifa_3prr', 'plain', 0, (8.0, 6.0))
    outcome = run_trial(data, {}, with_peer=True)
    assert outcome.held_out < 0.04
    assert outcome.worst < 4.0
    assert outcome.compared < outcome.peer < 0.2
    assert 0.0 < outcome.noise_floor < 0.01


@pytest.mark.campaign
def test_forces_of_drives_that_stick_reach_the_noise() -> None:
    """A narrow band of the motion spreads what they do when they start, nine times the noise."""
    outcome = run_trial(generate('khalifa_3prr', 'plain', 4, (10.0, 6.1)), {})
    assert outcome.held_out < 2.0 * outcome.noise_floor
    assert outcome.worst < 4.0


@pytest.mark.campaign
def test_repetitions_share_a_motion() -> None:
    first, second = measured('khalifa_3prr', 'plain', 8, 6.1, 2)
    assert first.true_machine is second.true_machine and first.training.run is second.training.run
    assert not np.array_equal(first.training.efforts, second.training.efforts)
    found, bodies = with_bodies(first, {})
    assert bodies.least_eigenvalue > 0.0 and bodies.shift <= 1.0 and not found.is_alarm
    assert found.sigmas.max() < 4.0 and len(found.all_sigmas) >= len(found.sigmas)


def test_heavy_rotors_are_in_the_observation_matrix() -> None:
    checks = list(rotor_checks('palida'))
    assert len(checks) == 1 and not any(check.failed for check in checks)


@pytest.mark.campaign
def test_the_peer_is_right_on_ideal_data() -> None:
    data = generate('valencia_3rps', 'ideal', 0, (8.0, 6.0))
    pipeline = TextbookPipeline(data.nominal)
    parameters = pipeline.identify(data.training.recording)
    time, predicted = pipeline.predict(data.validation.recording, parameters)
    _, _, measured = pipeline.rows(data.validation.recording, PREDICTED)
    assert len(time) == len(predicted)
    assert np.sqrt(np.mean((predicted - measured) ** 2) / np.mean(measured**2)) < 5e-4  # 3e-4: central differences


def test_motions_of_diagnoses() -> None:
    machine = load_machine('khalifa_3prr')
    motion = several_sines(machine, 12.0, 0, 0.01, validation=False)
    drives = drive_positions(machine, motion.position, motion.rotation_base_platform)
    assert np.abs(drives[[0, -1]] - drives[0]).max() < 1e-9
    power = np.abs(np.fft.rfft(drives - drives.mean(axis=0), axis=0)) ** 2
    # more than one frequency in every drive
    assert (power.max(axis=0) < 0.8 * power.sum(axis=0)).all()
    near = near_singular(machine, 12.0, 0, 0.01, validation=False)
    condition = forward_kinematics(machine, drive_positions(machine, near.position, near.rotation_base_platform))
    assert 50.0 < condition.condition.max() < 500.0
    with pytest.raises(KinematicsError, match='nearly singular'):
        near_singular(load_machine('srs'), 12.0, 0, 0.01, validation=False)


def test_what_is_tried_on_a_machine() -> None:
    assert {fault.code for fault in faults_of('khalifa_3prr')} - {fault.code for fault in faults_of('srs')} == {
        'singular_pose'
    }


@pytest.mark.parametrize('name', ['srs', 'valencia_3rps', 'khalifa_3prr'])
def test_the_end_is_that_of_the_batch(name: str) -> None:
    checks = list(batch_checks(name, 0, duration=10.0))
    assert len(checks) == 3
    assert [one.status for one in checks] == ['met'] * 3, checks


@pytest.mark.campaign
def test_errors_are_as_stated() -> None:
    """Of the estimators inside the bounds; those of the node, which learns the noise, not above them."""
    *estimators, node = with_acceptance(consistency_checks('valencia_3rps', range(2)), True)
    assert [one.status for one in estimators] == ['met'] * 3
    assert not node.failed, node


def test_a_covariance_that_is_too_small_is_seen() -> None:
    random = np.random.default_rng(0)
    factor = random.normal(size=(5, 5)) * np.array([[1e-4], [1.0], [1.0], [1e3], [1.0]])
    covariance = factor @ factor.T
    errors = [normalised_error(factor @ random.normal(size=5), covariance) for _ in range(400)]
    assert np.mean(errors) == pytest.approx(5.0, abs=0.5)
    assert normalised_error(factor[:, 0], 0.25 * covariance) == pytest.approx(4.0)
