"""Rules of the stream at their edges, and parts that must agree: blocks and single samples, errors and their slopes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from pkm_description.machine import Pose
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.backlog import Backlog, LagRule, Load
from pkm_estimation.stream.blocks import LARGE, Block, excess
from pkm_estimation.stream.causes import Model, causes, spreads
from pkm_estimation.stream.health import HealthMonitor
from pkm_estimation.stream.lasting import LastingTest
from pkm_estimation.stream.ranking import Ranking
from pkm_estimation.stream.repeatable import LivePipeline, RepeatablePipeline
from pkm_estimation.stream.replay import Window
from pkm_estimation.stream.verdict import imu_balance, node_balance
from test_pipeline import DATA, MOTION, SRS, as_bytes, feed, imu_message, leg_message, pairs

MS = 10**6


def wait(backlog: Backlog, k: int) -> None:
    """Let a sample of both topics wait."""
    (_, stamp, force, rate), (_, _, names, positions) = imu_message(k), leg_message(k)
    backlog.add_imu(SimpleNamespace(stamp=stamp, specific_force=force, angular_rate=rate, covariances=()))
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


def test_what_a_cause_does_to_the_legs_is_told_by_its_slopes() -> None:
    """Errors of the positions by each parameter, against positions with a little of it."""
    window = Window(
        DATA.stamps, np.hstack([DATA.specific_force, DATA.angular_rate]), DATA.stamps, DATA.drive_positions,
        int(DATA.stamps[0]),
    )  # fmt: skip
    model, checked = Model(SRS, EstimatorConfig(), window), 0
    for cause in causes(SRS):
        if cause.of_legs is None or not cause.name.startswith(('offset', 'drift')):
            continue
        errors = cause.of_legs(model)
        for k in (3, 150):
            slopes = errors(k, Pose(MOTION.position[k], MOTION.rotation_base_platform[k]))
            for place, step in enumerate(cause.steps):
                moved = cause.apply(model, step * (np.arange(len(cause.steps)) == place)).window.positions[k]
                assert slopes[:, place] == pytest.approx((moved - window.positions[k]) / step, abs=1e-6)
        checked += 1
    assert checked == 12


def window_of(imu: np.ndarray, legs: int) -> Window:
    """Samples of an IMU (M, 6) at 100 Hz, and as many measurements of the legs, 4 ms later."""
    stamps = 10 * MS * np.arange(len(imu))
    return Window(stamps, imu, stamps[:legs] + 4 * MS, np.zeros((legs, 6)), 0)


def cause_of(name: str) -> object:
    return next(cause for cause in causes(SRS) if cause.name == name)


def test_a_clock_that_runs_fast_is_late_by_more_and_more_about_the_middle() -> None:
    model = Model(SRS, EstimatorConfig(), window_of(np.zeros((101, 6)), 101))
    moved = cause_of('clock skew').apply(model, np.array([2e-3, 1e-3])).window
    late = 1e-9 * (moved.leg_stamps - model.window.leg_stamps)
    assert late == pytest.approx(2e-3 + 1e-3 * (model.window.elapsed - 0.504), abs=1e-9)


@pytest.mark.parametrize(('place', 'seen'), [(30, True), (48, True), (52, False), (55, False)])
def test_a_hit_between_samples_counts_at_the_next_measurement_if_there_is_one(place: int, seen: bool) -> None:
    """Legs end at the fiftieth sample, the IMU goes on."""
    imu = np.zeros((60, 6))
    imu[place:, 2] = 3.0
    model = Model(SRS, EstimatorConfig(), window_of(imu, 50))
    (hit,) = [spread for spread in spreads(SRS) if spread.name == 'motion between the samples of the IMU']
    kicks = hit.apply(model, 1.0).window.kicks
    assert kicks.shape == (50, 3, 3) and bool(kicks[:, 2, 2].any()) == seen
    assert not kicks[:, :2, :2].any()


# -- blocks and single samples -----------------------------------------------------------------------------------------


def test_samples_that_are_late_by_a_known_delay_are_followed_as_single_ones_are() -> None:
    config = EstimatorConfig(imu_delay=0.004, baseline=False)
    single, live = EstimatorPipeline(SRS, config), LivePipeline(SRS, config)
    expected = feed(single, pairs(range(60)))
    backlog, found = Backlog(live, 0.0), []
    for k in range(60):
        wait(backlog, k)
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


def test_a_filter_that_is_lost_in_doubt_starts_anew_with_the_same_measurement() -> None:
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(baseline=False))
    feed(pipeline, pairs(range(50)))
    tracker = pipeline.tracker
    tracker.filter.covariance[3, 3] = -1.0
    tracker.doubt.begin_with([tracker.filter.snapshot()], 'a test')
    outputs = feed(pipeline, pairs(range(50, 53)))
    assert [output.stamp for output in outputs] == DATA.stamps[50:53].tolist()
    assert [output.started for output in outputs] == [True, False, False]
    assert pipeline.health.counters['assembly_mode_lost'] == 1


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
    pipeline, deviations = EstimatorPipeline(SRS, EstimatorConfig(baseline=False, **settings)), []
    for k in range(JUMP + 3):
        kind, stamp, force, rate = imu_message(k)
        feed(pipeline, [(kind, stamp, force + np.array([size * (k >= JUMP), 0.0, 0.0]), rate)])
        deviations += [output.state_std[3:6].max() for output in feed(pipeline, [leg_message(k)])]
    return np.array(deviations[JUMP:])


def test_a_jump_of_the_imu_makes_the_velocity_uncertain() -> None:
    """What came at 1 m/s^2 within 10 ms is not believed at once."""
    jumped = velocity_std(1.0)
    assert (jumped > 0.5 * 0.01).all() and (jumped < 2.0 * 0.01).all()


def test_without_a_jump_or_where_legs_are_not_judged_the_velocity_stays_known() -> None:
    usual = velocity_std(0.0)
    assert usual.max() < 1e-3
    assert velocity_std(1.0, leg_gate=0.0) == pytest.approx(usual, rel=1e-3)


def blocks_of(scatter: float) -> list[Block]:
    """Forty blocks of fifty innovations of six legs, white within, their means as many times those of white ones."""
    random, found = np.random.default_rng(5), []
    for number in range(40):
        white = random.normal(size=(50, 6))
        white += (scatter - 1.0) * white.mean(axis=0)
        stamps = 10 * MS * (np.arange(50) + 50 * number)
        found.append(Block.of(stamps, np.zeros((50, 6)), white, np.ones((50, 6)), np.square(white).sum(axis=1)))
    return found


def test_innovations_whose_means_scatter_too_much_are_told() -> None:
    names = SRS.drive_labels
    assert not excess(blocks_of(1.0), names, LARGE)
    ratio = 1.6**2
    told = excess(blocks_of(1.6), names, LARGE)
    assert told.startswith('means of 50 innovations scatter')
    assert float(told.split()[5]) == pytest.approx(ratio, rel=0.15)


def test_causes_are_sought_in_ten_seconds_and_later_in_all_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Innovations are too large from the first one on; the search, which finds nothing, is again a minute later."""
    windows = []

    class NothingFound:
        def __init__(self, model: Model, stamp: int) -> None:
            self.due = stamp
            windows.append((stamp * 1e-9, model.window))

        def advance(self, stamp: int) -> Ranking:
            return Ranking(24.0, ())

    monkeypatch.setattr('pkm_estimation.stream.lasting.RankingJob', NothingFound)
    test, random = LastingTest(SRS, EstimatorConfig(baseline=False), HealthMonitor(6)), np.random.default_rng(0)
    for second in range(75):
        residual, stamps = 2.0 * random.normal(size=(50, 6)), 1000 * MS * second + 20 * MS * np.arange(50)
        test.add_imus(stamps, np.zeros((50, 6)))
        test.add_block(SimpleNamespace(
            epochs=np.zeros(50, dtype=np.int64), stamps=stamps, drive_positions=np.zeros((50, 6)), residual=residual,
            variance=np.ones((50, 6)), nis=np.sum(residual**2, axis=1), shared=np.zeros_like(residual),
        ))  # fmt: skip
    assert len(windows) == 2
    (first, short), (second, long) = windows
    assert 10.0 <= first < 12.0 and 59.9 < second - first < 62.0
    assert np.ptp(short.leg_stamps) * 1e-9 == pytest.approx(first, abs=0.1)
    assert 55.0 < np.ptp(long.leg_stamps) * 1e-9 < 65.0


def lasting_of(seconds: int) -> LastingTest:
    """A test that has seen so many seconds of good innovations at 50 Hz, in stretches of 70."""
    test = LastingTest(SRS, EstimatorConfig(baseline=False, rank_causes=False), HealthMonitor(6))
    stamps, random = 20 * MS * np.arange(50 * seconds), np.random.default_rng(0)
    for begin in range(0, len(stamps), 70):
        part = stamps[begin : begin + 70]
        residual = random.normal(size=(len(part), 6))
        test.add_block(SimpleNamespace(
            epochs=np.zeros(len(part), dtype=np.int64), stamps=part, drive_positions=np.zeros((len(part), 6)),
            residual=residual, variance=np.ones((len(part), 6)), nis=np.sum(residual**2, axis=1),
            shared=np.zeros_like(residual),
        ))  # fmt: skip
    return test


def test_innovations_are_tested_in_blocks_of_fifty_and_over_twenty_seconds_at_least() -> None:
    test = lasting_of(40)
    assert [len(block.stamps) for block in test._blocks] == [50] * 40
    recent = test._recent()
    end = recent[-1].stamps[-1]
    assert (end - recent[0].stamps[0]) * 1e-9 >= 20.0 > (end - recent[1].stamps[0]) * 1e-9
    assert recent[0].stamps[0] > 0 and len(lasting_of(10)._recent()) == 10


def test_why_the_imu_was_left_out_is_told_once_and_then_why_the_filter_is_over_confident() -> None:
    test, health = lasting_of(1), HealthMonitor(6)
    test._health, test._is_of_imu = health, True
    for stamp in (5, 9):
        test._tell(stamp, Ranking(24.0, ()))
    assert [event.name for event in health.report().events] == ['imu_off_because', 'over_confident_because']
