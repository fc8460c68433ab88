"""What a node does with samples that wait: all of it, the latest alone, fewer legs; by stamps, and counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from pkm_description.motion.profiles import mp1_profile
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.backlog import Backlog
from pkm_estimation.stream.stretch import LivePipeline
from test_message_noise import DATA as NOISY_DATA
from test_message_noise import FORCE, NOISY, PALIDA, stated
from test_pipeline import NAMES, SRS, as_bytes

DATA = measure(SRS, mp1_profile(SRS, 30.0).evaluate(np.arange(12000, 14500) / 1000.0), seed=4)


class Imu(NamedTuple):
    stamp: int
    specific_force: tuple
    angular_rate: tuple
    covariances: tuple = ()


class Legs(NamedTuple):
    stamp: int
    names: tuple
    positions: np.ndarray
    efforts: np.ndarray


def wait(backlog, places, late=0):
    for k in places:
        stamp = int(DATA.stamps[k]) + late
        backlog.add_imu(Imu(stamp, tuple(DATA.specific_force[k]), tuple(DATA.angular_rate[k])))
        backlog.add_legs(Legs(stamp, NAMES, DATA.drive_positions[k], np.empty(0)))


def work_off(backlog):
    outputs = []
    while len(backlog):
        outputs += backlog.work()
    return outputs


@pytest.fixture
def backlog():
    return Backlog(LivePipeline(SRS), 0.5)


def counters(backlog):
    return backlog._pipeline.health.counters


def test_the_lag_is_the_time_that_the_stamps_of_what_waits_span(backlog):
    assert backlog.lag == 0.0
    wait(backlog, range(1))
    assert backlog.lag == 0.0
    wait(backlog, range(1, 301))
    assert backlog.lag == pytest.approx(0.3)
    work_off(backlog)
    assert backlog.lag == 0.0
    load = backlog.report()
    assert (load.lag, load.waiting) == (pytest.approx(0.3), 602)
    level, text = load.summary()
    assert level == 'warn' and '0.3 s behind by stamps, 602 samples waited' in text and 'taskset' in text
    assert backlog.report().summary() == ('ok', 'in time')


def test_stamps_that_jump_are_no_lag(backlog):
    wait(backlog, range(10))
    wait(backlog, range(10, 12), late=10**12)
    wait(backlog, range(5), late=-(10**8))
    assert backlog.lag == pytest.approx(0.009 + 0.001 + 0.004)


def test_the_time_of_samples_that_come_late_counts_once(backlog):
    for k in range(0, 200, 2):
        wait(backlog, [k])
        wait(backlog, [max(k - 7, 0)])
    assert backlog.lag == pytest.approx(0.198)


def test_within_the_lag_every_estimate_is_given(backlog):
    wait(backlog, range(400))
    assert [output.stamp for output in work_off(backlog)] == DATA.stamps[:400].tolist()
    assert not counters(backlog)['behind'] and not counters(backlog)['estimates_not_published']


def test_what_one_turn_works_off_is_not_behind_however_long_its_stamps_span(backlog):
    """Of sensors at 10 Hz more than a second comes at once, as after a pause of the network."""
    for k in range(15):
        wait(backlog, [100 * k])
    assert backlog.lag == pytest.approx(1.4)
    assert len(work_off(backlog)) == 15
    assert not counters(backlog)['behind'] and not counters(backlog)['legs_decimated']


def test_behind_the_latest_of_each_turn_is_given_until_it_has_caught_up(backlog):
    wait(backlog, range(900))
    outputs = work_off(backlog)
    assert outputs[-1].stamp == DATA.stamps[899]
    # a turn has four hundred samples at most: what waits no longer than the limit after one is given
    assert {output.stamp for output in outputs} >= set(DATA.stamps[600:900].tolist())
    known = counters(backlog)
    assert len(outputs) + known['estimates_not_published'] == known['estimates'] == 900
    assert known['estimates_not_published'] > 200
    assert known['behind'] == 1 and not known['legs_decimated']
    assert '0.9 s behind by stamps' in backlog._pipeline.health.report().events[0].detail


def test_far_behind_legs_are_left_out_and_used_again_but_never_the_imu(backlog):
    wait(backlog, range(1200))
    backlog.work()
    known = counters(backlog)
    assert known['legs_decimated'] == 600 and known['legs_left_out'] == 1
    assert backlog.report().used == 2
    wait(backlog, range(1200, 1300))
    assert known['legs_decimated'] == 650
    work_off(backlog)
    for k in range(1300, 1400):  # in time again
        wait(backlog, [k])
        work_off(backlog)
    assert backlog.report().used == 1
    wait(backlog, range(1400, 1500))
    assert work_off(backlog)[-1].stamp == DATA.stamps[1499]
    assert known['imu_accepted'] == known['imu_received'] == 1500
    assert known['legs_received'] + known['legs_decimated'] == 1500


def test_legs_are_thinned_out_further_while_that_does_not_help(backlog):
    wait(backlog, range(1200))
    backlog.work()
    wait(backlog, range(1200, 2500))
    backlog.work()
    assert backlog.report().used == 4


def test_without_a_limit_everything_is_given():
    backlog = Backlog(LivePipeline(SRS), 0.0)
    wait(backlog, range(2500))
    assert len(work_off(backlog)) == 2500


def test_what_waits_at_the_end_of_its_activity_is_counted(backlog):
    wait(backlog, range(7))
    backlog.clear()
    assert not len(backlog) and backlog.lag == 0.0
    assert counters(backlog)['imu_dropped_inactive'] == counters(backlog)['legs_dropped_inactive'] == 7


def test_queues_are_bounded(backlog, monkeypatch):
    monkeypatch.setattr('pkm_estimation.stream.backlog._LONGEST', 50)
    wait(backlog, range(60))
    assert len(backlog) == 100
    assert counters(backlog)['imu_backlog_overflow'] == counters(backlog)['legs_backlog_overflow'] == 10


@pytest.mark.parametrize(('source', 'machine'), [('messages', PALIDA), ('machine_file', NOISY)], ids=['used', 'unused'])
def test_covariances_of_the_imus_messages_go_with_what_waits(source, machine):
    """Of a turned IMU, some of them other than the first: bits, counters and events of single samples."""
    config = EstimatorConfig(baseline=False, imu_noise=source)
    single, live = EstimatorPipeline(machine, config), LivePipeline(machine, config)
    backlog, names, expected, outputs = Backlog(live, 0.0), machine.actuated_joint_names, [], []
    for k, stamp in enumerate(NOISY_DATA.stamps[:300].tolist()):
        covariances = tuple(stated(FORCE if k not in (120, 121) else 2.0 * FORCE))
        force, rate = NOISY_DATA.specific_force[k], NOISY_DATA.angular_rate[k]
        expected += single.add_imu(stamp, force, rate, covariances)
        expected += single.add_joint_positions(stamp, names, NOISY_DATA.drive_positions[k])
        backlog.add_imu(Imu(stamp, tuple(force), tuple(rate), covariances))
        backlog.add_legs(Legs(stamp, names, NOISY_DATA.drive_positions[k], np.empty(0)))
        if k % 70 == 69:
            outputs += work_off(backlog)
    outputs += work_off(backlog)
    assert live.followed > 0
    assert as_bytes(outputs) == as_bytes(expected)
    assert live.health.counters == single.health.counters
    assert live.health.report().events == single.health.report().events
    assert live.health.counters['imu_covariance_changed'] == (2 if source == 'messages' else 0)
