"""Rules of the stream at their edges, and parts that must agree: blocks and single samples, errors and their slopes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.backlog import Backlog, LagRule, Load
from pkm_estimation.stream.stretch import LivePipeline, RepeatablePipeline
from pkm_estimation.tracking.hypotheses import GOOD
from test_pipeline import DATA, SRS, as_bytes, feed, imu_message, leg_message, pairs

from verification.soak.balance import imu_balance, node_balance

MS = 10**6


def wait(backlog: Backlog, k: int, late: int = 0) -> None:
    """Let a sample of both topics wait, that of the IMU with a stamp that is so late [ns]."""
    (_, stamp, force, rate), (_, _, names, positions) = imu_message(k), leg_message(k)
    backlog.add_imu(SimpleNamespace(stamp=stamp + late, specific_force=force, angular_rate=rate, covariances=()))
    backlog.add_legs(SimpleNamespace(stamp=stamp, names=names, positions=positions, efforts=np.empty(0)))


# -- a node that is behind ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(('lag', 'level'), [(0.0999, 'ok'), (0.1, 'warn')])
def test_a_tenth_of_a_second_behind_is_told(lag: float, level: str) -> None:
    assert Load(lag, 30, 1).summary()[0] == level


@pytest.mark.parametrize('used', [1, 2, 3])
def test_legs_that_are_left_out_for_lag_are_told(used: int) -> None:
    sentence = Load(0.3, 30, used).summary()[1]
    assert ('one leg measurement of' in sentence) == (used > 1)
    assert used == 1 or f'one leg measurement of {used} is used' in sentence


@pytest.mark.parametrize(('span', 'used'), [(49, 1), (50, 2)])
def test_legs_are_used_again_once_it_is_half_of_the_limit_behind(span: int, used: int) -> None:
    """A limit of 100 ms: every second measurement from 200 ms on, and all of them below 50 ms."""
    rule = LagRule(0.1, 10, HealthMonitor(6))
    assert not rule.look(200 * MS, 500, 0, 0) and rule.look(201 * MS, 500, 0, 0)
    for _ in range(40):
        rule.is_left_out()
    assert not rule.look(span * MS, 500, 0, 0)
    assert rule.report().used == used


def test_turns_become_longer_while_samples_are_followed() -> None:
    """Twice as long each time after those that start the filter, so that a long queue costs few turns."""
    backlog, sizes = Backlog(LivePipeline(SRS, EstimatorConfig(baseline=False)), 0.0), []
    for k in range(90):
        wait(backlog, k)
    while len(backlog):
        before = len(backlog)
        backlog.work()
        sizes.append(before - len(backlog))
    assert sizes[3] == 2 * sizes[2]


def test_messages_of_a_node_with_a_reason_are_no_loss() -> None:
    counters = {'imu_received': 90, 'imu_lost': 4, 'imu_unreadable': 1, 'legs_lost': 50}
    assert node_balance(counters, 'imu', 95) == 0
    assert node_balance(counters, 'imu', 97) == 2


def test_samples_of_which_none_was_accepted_are_lost_but_for_those_with_a_reason() -> None:
    assert imu_balance({}) == 0
    assert imu_balance({'imu_received': 5, 'imu_not_finite': 3, 'imu_too_late': 2}) == 0
    assert imu_balance({'imu_received': 5, 'imu_not_finite': 3}) == 2


def test_efforts_of_waiting_messages_are_those_of_their_outputs() -> None:
    """In stretches and one by one; where a message has none, they are not known."""
    backlog, wanted, found = Backlog(LivePipeline(SRS, EstimatorConfig(baseline=False)), 0.0), [], []
    for k in range(60):
        (_, stamp, force, rate), (_, _, names, positions) = imu_message(k), leg_message(k)
        backlog.add_imu(SimpleNamespace(stamp=stamp, specific_force=force, angular_rate=rate, covariances=()))
        efforts = np.empty(0) if k % 7 == 3 else k + 0.1 * np.arange(6)
        backlog.add_legs(SimpleNamespace(stamp=stamp, names=names, positions=positions, efforts=efforts))
        wanted.append(efforts if len(efforts) else np.full(6, np.nan))
        if k in (5, 40):
            while len(backlog):
                found += backlog.work()
    while len(backlog):
        found += backlog.work()
    assert np.array_equal([output.efforts for output in found], wanted[len(wanted) - len(found) :], equal_nan=True)
    assert len(found) >= 58


# -- causes ------------------------------------------------------------------------------------------------------------


def test_samples_that_are_late_by_a_known_delay_are_followed_as_single_ones_are() -> None:
    config = EstimatorConfig(imu_delay=0.004, baseline=False)
    single, live = EstimatorPipeline(SRS, config), LivePipeline(SRS, config)
    late = [(kind, stamp + 4 * MS * (kind == 'imu'), *rest) for kind, stamp, *rest in pairs(range(60))]
    expected = feed(single, late)
    backlog, found = Backlog(live, 0.0), []
    for k in range(60):
        wait(backlog, k, 4 * MS)
        if k in (20, 45):
            while len(backlog):
                found += backlog.work()
    while len(backlog):
        found += backlog.work()
    assert live.followed > 0
    assert as_bytes(found) == as_bytes(expected)
    assert live.health.report().convergence_time == single.health.report().convergence_time


# -- samples that are missing or jump ----------------------------------------------------------------------------------


def test_a_running_node_does_not_wait_for_an_imu_that_is_silent() -> None:
    """Its legs alone go on after the silence that is allowed."""
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(imu_silence=0.3, baseline=False))
    feed(pipeline, pairs(range(3)))
    outputs = feed(pipeline, [leg_message(k) for k in range(3, 40)])
    assert outputs and outputs[0].stamp == DATA.stamps[3]
    assert all(output.by_legs_alone for output in outputs)


@pytest.mark.parametrize('delay', [-0.05, 0.0, 0.05])
def test_silence_of_an_imu_counts_by_its_own_clock(delay: float) -> None:
    """Whose stamps are late by a known delay: nobody waits for it 0.3 s after its last sample was taken."""
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(imu_silence=0.3, imu_delay=delay, baseline=False))
    for k in range(30):
        kind, stamp, force, rate = imu_message(k)
        feed(pipeline, [(kind, stamp + round(1e9 * delay), force, rate), leg_message(k)])
    for k in range(30, 100):
        if any(output.by_legs_alone for output in feed(pipeline, [leg_message(k)])):
            break
    silent = 1e-9 * (DATA.stamps[k] - DATA.stamps[29])
    assert 0.3 < silent < 0.3 + 1.5e-9 * (DATA.stamps[1] - DATA.stamps[0])


def test_a_recording_waits_for_an_imu_that_is_silent_up_to_its_end() -> None:
    """What was written late may come yet; at the end the legs go on alone."""
    pipeline = RepeatablePipeline(SRS, EstimatorConfig(imu_silence=0.3, baseline=False))
    feed(pipeline, pairs(range(3)))
    assert not feed(pipeline, [leg_message(k) for k in range(3, 40)])
    outputs = pipeline.finish()
    assert outputs and outputs[0].stamp == DATA.stamps[3]
    assert all(output.by_legs_alone for output in outputs)


def test_hypotheses_that_are_all_lost_start_anew_with_the_same_measurement() -> None:
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(baseline=False))
    feed(pipeline, pairs(range(50)))
    tracker = pipeline.tracker
    tracker.filter.covariance[3, 3] = -1.0
    tracker.bank.begin([tracker.bank.held(GOOD), tracker.bank.held(GOOD)])
    outputs = feed(pipeline, pairs(range(50, 53)))
    assert [output.stamp for output in outputs] == DATA.stamps[50:53].tolist()
    assert [output.started for output in outputs] == [True, False, False]
    assert pipeline.health.counters['covariance_lost'] == 1


@pytest.mark.parametrize(('gap', 'is_new'), [(17, False), (19, True)])
def test_after_a_long_gap_of_the_legs_too_the_filter_starts_anew(gap: int, is_new: bool) -> None:
    """The IMU has been silent for a while; a gap of the legs below their limit is bridged, a longer one is not."""
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(imu_silence=0.2, maximum_leg_gap=0.18, baseline=False))
    feed(pipeline, pairs(range(3)))
    assert feed(pipeline, [leg_message(k) for k in range(3, 30)])[-1].by_legs_alone
    outputs = feed(pipeline, pairs(range(29 + gap, 35 + gap)))
    assert any(output.started for output in outputs) == is_new
    assert pipeline.health.counters['started'] == 1 + is_new


def test_a_message_that_states_no_noise_is_of_the_noise_of_the_machine_file() -> None:
    stated = EstimatorPipeline(SRS, EstimatorConfig(imu_noise='messages', baseline=False))
    plain = EstimatorPipeline(SRS, EstimatorConfig(baseline=False))
    found, expected = (feed(pipeline, pairs(range(20))) for pipeline in (stated, plain))
    assert as_bytes(found) == as_bytes(expected)
    assert stated.health.counters['imu_covariance_missing'] == 1


#: sample at which the specific force jumps
JUMP = 24


def velocity_std(size: float, **settings: object) -> np.ndarray:
    """Standard deviations m/s of the estimates of three samples from a jump [m/s^2] of the specific force on."""
    config = EstimatorConfig(baseline=False, claim='repeatability', **settings)
    pipeline, deviations = EstimatorPipeline(SRS, config), []
    for k in range(JUMP + 3):
        kind, stamp, force, rate = imu_message(k)
        feed(pipeline, [(kind, stamp, force + np.array([size * (k >= JUMP), 0.0, 0.0]), rate)])
        deviations += [output.state_std[3:6].max() for output in feed(pipeline, [leg_message(k)])]
    return np.array(deviations[JUMP:])


def test_a_jump_of_the_imu_makes_the_velocity_uncertain() -> None:
    """What came at 1 m/s^2 within 10 ms is not believed at once."""
    jumped = velocity_std(1.0)
    assert (jumped[:2] > 0.5 * 0.01).all() and (jumped < 2.0 * 0.01).all()


def test_without_a_jump_or_where_legs_are_not_judged_the_velocity_stays_known() -> None:
    usual = velocity_std(0.0)
    assert usual.max() < 1e-3
    assert velocity_std(1.0, leg_gate=0.0) == pytest.approx(usual, rel=1e-3)
