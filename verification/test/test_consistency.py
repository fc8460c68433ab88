"""The consistency checks themselves: they accept a filter that is right, and see one that is not."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from pkm_description.kinematics.rotation import quaternion_from_matrix, rotation_exp
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_estimation.stream import EstimatorConfig

from verification.consistency import cause_checks, everything_wrong, imu_failure_checks, sweep
from verification.consistency.checks import consistency_checks
from verification.consistency.convergence import from_broad_prior, from_forward_kinematics, start_scenario
from verification.consistency.delay_checks import KNOWN, delay_checks, delay_run, delay_scenario
from verification.consistency.leg_fault_checks import CASES, leg_fault_checks
from verification.consistency.monte_carlo import Normalised
from verification.consistency.plan import FULL, QUICK, SECTIONS, Extent, plan
from verification.consistency.scenarios import SCENARIOS, make_scenario, mp1_scenario, standstill_scenario
from verification.consistency.state_error import free_directions, normalised_error_squared
from verification.consistency.sweep import JITTER, sweep_checks
from verification.run import Processes
from verification.suite import Request

SRS = load_machine('srs')


def test_chi_square_numbers_are_inside_and_others_are_not():
    values = np.random.default_rng(0).chisquare(4, size=(400, 30))
    right = Normalised(values, np.full(400, 4))
    assert right.mean == pytest.approx(4.0, abs=0.1)
    assert 0.92 < right.part_inside() < 0.98
    assert Normalised(1.5 * values, np.full(400, 4)).part_inside() < 0.3


@pytest.mark.parametrize('wrong', [{'q_scale': 0.05}, {'r_scale': 0.25}, {'noise_inflation': 4.0}])
def test_wrong_noise_is_seen(wrong):
    scenario = mp1_scenario(SRS, 4.0)
    assert [check.status for check in consistency_checks(scenario, 6)] == ['met', 'met']
    checks = consistency_checks(scenario, 6, EstimatorConfig(**wrong))
    assert 'not met' in [check.status for check in checks]


def test_first_order_integration_is_seen():
    checks = consistency_checks(mp1_scenario(SRS, 3.0), 3, EstimatorConfig(integrator='euler'))
    assert [check.status for check in checks] == ['not met', 'not met']
    assert {c.status for c in consistency_checks(standstill_scenario(SRS, 3.0), 6)} == {'met'}


@pytest.mark.parametrize(('name', 'count'), [('valencia_3rps', 3), ('khalifa_3prr', 3), ('hexaglide_6pus', 6)])
def test_free_directions_are_those_of_the_motion(name, count):
    """Differences of neighbouring poses and velocities of an admissible motion lie in their span."""
    machine = load_machine(name)
    motion = profile('drives', machine, 4.0, 1000.0)
    k = 3000
    chart = rotation_exp(np.array([0.05, -0.1, 0.2])) @ motion.rotation_base_platform[k]
    directions = free_directions(machine, motion, k, chart)
    np.testing.assert_allclose(directions.T @ directions, np.eye(directions.shape[1]), atol=1e-12)
    assert count + 6 < directions.shape[1] <= 15

    def pose(sample):
        rotation = motion.rotation_base_platform[sample]
        place = motion.position[sample] + rotation @ machine.imu.position
        return np.concatenate([chart.T @ place, quaternion_from_matrix(chart.T @ rotation)[:3]])

    change = (pose(k + 1) - pose(k - 1)) / 2e-3
    span = directions[[0, 1, 2, 6, 7, 8]]
    outside = change - span @ (np.linalg.pinv(span) @ change)
    assert np.linalg.norm(outside) < 1e-4 * np.linalg.norm(change)
    assert np.linalg.matrix_rank(span, tol=1e-9) == count


def test_error_is_normalised_within_the_directions_only():
    covariance = np.diag([4.0, 1e-12, 9.0])
    directions = np.eye(3)[:, [0, 2]]
    assert normalised_error_squared(np.array([2.0, 1.0, 6.0]), covariance, directions) == pytest.approx(1.0 + 4.0)


def test_starts_that_the_printed_filter_misses():
    scenario = start_scenario(SRS, 3.0)
    printed = EstimatorConfig(filter='paper', noise_inflation=1.1)
    found = [[from_broad_prior(scenario, seed, config) for seed in range(6)] for config in (EstimatorConfig(), printed)]
    assert sum(found[0]) == 6
    assert sum(found[1]) < 6
    assert from_forward_kinematics(scenario, 0, EstimatorConfig())


@pytest.mark.campaign
def test_unknown_delay_is_found_and_an_ignored_one_is_seen():
    scenario = delay_scenario('srs, MP1, unknown delay', 14.0)
    assert [c.status for c in delay_checks(scenario, 1, 14.0, (0.03,))] == ['met', 'met', 'met']
    # else the IMU is left out
    with_imu = replace(KNOWN, legs_alone=False)
    ignored, undelayed = (delay_run(scenario, delay, 0, 11.0, with_imu) for delay in (0.03, 0.0))
    assert ignored.in_band < 0.9 < undelayed.in_band
    assert ignored.error > 2.0 * undelayed.error


@pytest.mark.campaign
def test_failing_legs_are_judged():
    """A leg 5 mm off meets all three requirements; named by a wrong reason, or not at all, it fails."""
    offset = CASES[0]
    assert [c.status for c in leg_fault_checks(SRS, 1, 1.0, (offset,))] == ['met', 'met', 'met']
    wrong_reason = replace(offset, reasons=frozenset({'leg_stuck'}))
    unseen = replace(offset, offset=2e-5)
    checks = leg_fault_checks(SRS, 1, 0.5, (wrong_reason, unseen))
    assert [c.status for c in checks if c.id == 'named'] == ['not met', 'not met']


@pytest.mark.campaign
def test_failing_imus_are_judged(monkeypatch):
    """With the default filter all is met; one that never leaves the IMU out fails."""
    monkeypatch.setattr(imu_failure_checks, 'KINDS', ('in_g',))
    checks = list(imu_failure_checks.imu_failure_checks('srs, MP1', 1))
    assert [check.status for check in checks] == ['met'] * 6
    monkeypatch.setattr(imu_failure_checks, 'EstimatorConfig', partial(EstimatorConfig, legs_alone=False))
    failed = ' '.join(check.what for check in imu_failure_checks.imu_failure_checks('srs, MP1', 1) if check.failed)
    assert 'largest position error' in failed and 'named after' in failed and 'mean squares' in failed


def test_constants_that_are_not_found_or_found_wrong_are_missed(monkeypatch):
    late = replace(next(case for case in cause_checks.CASES if case.title == 'IMU 10 ms late'), duration=12.0)
    assert [check.status for check in cause_checks.cause_checks('srs', late, 1)] == ['met'] * 3
    named, *_ = cause_checks.cause_checks('srs', replace(late, right=lambda machine, seed: ('gravity',)), 1)
    assert named.status != 'met' and named.measured.startswith('0; else ')
    monkeypatch.setattr(cause_checks, '_CONFIG', EstimatorConfig(baseline=False, history=0.1))  # nothing is tested
    named, error, _ = cause_checks.cause_checks('srs', late, 1)
    assert named.status != 'met' and 'nothing' in named.measured and error.failed
    monkeypatch.setattr(cause_checks, '_CONFIG', EstimatorConfig(baseline=False))
    monkeypatch.setattr(cause_checks, 'GOOD', 12.0)
    (check,) = cause_checks.good_checks('srs', 1)
    assert not check.failed


def test_sensors_that_nobody_mends_fail(monkeypatch):
    kept = namedtuple('Found', ['machine', 'config'])  # which finds nothing live
    monkeypatch.setattr(
        everything_wrong, 'sensors_of_motion', lambda machine, *_: kept(machine, EstimatorConfig(history=0.1))
    )
    monkeypatch.setattr(everything_wrong, '_DURATION', 15.0)
    checks = list(everything_wrong.everything_wrong_checks('srs, MP1', 1))
    assert checks[0].failed and 'position error' in checks[0].what


def test_every_section_has_its_parts():
    def titles(extent):
        return [part.title for part in plan(Request(settings=extent), Processes()).parts]

    sections = [titles(replace(QUICK, sections=(name,))) for name in SECTIONS]
    assert [len(section) for section in sections] == [7, 12, 7, 1, 4, 2, 8, 6, 31, 5, 20]
    assert [title for section in sections for title in section] == titles(QUICK) == titles(FULL)
    assert len(set(titles(FULL))) == 103


@pytest.mark.parametrize('jitter', [0.0, pytest.param(JITTER, marks=pytest.mark.campaign)])
def test_sweep_accepts_a_right_filter_and_sees_wrong_claims(jitter, monkeypatch):
    """Also with stamps that jitter, and in the first second; with less noise than there is, it fails."""
    checks = list(sweep_checks('srs', 1.0, 100.0, 5, 4.0, jitter))
    assert [check.what for check in checks if check.failed] == []
    monkeypatch.setattr(
        sweep, 'CONFIG', replace(sweep.CONFIG, r_scale=0.25, imu_stamp_jitter=0.0, leg_stamp_jitter=0.0)
    )
    failed = ' '.join(check.what for check in sweep_checks('srs', 1.0, 100.0, 5, 4.0, jitter) if check.failed)
    assert 'first second: normalised state errors' in failed if jitter else 'normalised innovations' in failed


def test_scenarios_have_the_titles_of_their_parts():
    for named in (*SCENARIOS[:4], SCENARIOS[-1]):
        assert make_scenario(named.title, 4.0).title == named.title


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'seeds': 0}, 'seeds = 0: must be at least 1'),
        ({'duration': 3.0}, 'at least 4 s'),
        ({'fault_duration': 10.0}, 'more than 10 s'),
        ({'duration': float('nan')}, 'at least 4 s'),
        ({'sections': ('legs', 'arms')}, 'some of nees,sweep,smoother'),
        ({'sweep_rates': ('100', '50')}, 'some of 100,1000,250'),
    ],
)
def test_too_little_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Extent(**changes)
