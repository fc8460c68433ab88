"""Parts of the stream, each alone: frozen samples, alarms, several poses, prices of causes, delays."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from pkm_description.driver import STANDARD_IMU
from pkm_description.loading import load_machine
from pkm_description.machine import Pose
from pkm_description.motion.profiles import mp1_profile, profile
from pkm_estimation.exchange.imu_watch import ImuWatch
from pkm_estimation.exchange.samples import Instant
from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.offline.result import collect
from pkm_estimation.sensors import SensorConditions, measure, simulate_sensors
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.stretch import LivePipeline, Stretch
from pkm_estimation.tracking.hypotheses import GOOD
from pkm_estimation.tracking.leg_sets import LegExplanation
from test_stretches import assert_same

SRS = load_machine('srs')
CONFIG = EstimatorConfig(baseline=False)
SECOND = 10**9


def instant(seconds, epoch=0):
    return Instant(epoch, round(SECOND * seconds))


def innovation(nis, count=6):
    return Innovation(np.zeros(count), np.ones(count), nis)


# -- the IMU -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('frozen', [True, False], ids=['frozen', 'out of range'])
@pytest.mark.parametrize('moving', [True, False], ids=['moving', 'at rest'])
def test_repeated_samples_are_a_fault_only_where_legs_have_moved(frozen, moving):
    """At rest a coarse IMU repeats itself, by a little off; a sample out of range is wrong at rest, too."""
    motion = mp1_profile(SRS, 60.0).evaluate(20.0 + np.arange(60) / 100) if moving else profile('hold', SRS, 0.6)
    data = measure(SRS, motion, seed=0)
    force, rate, pipeline = data.specific_force.copy(), data.angular_rate.copy(), EstimatorPipeline(SRS, CONFIG)
    if frozen:
        force[40:], rate[40:] = force[40], rate[40]
    else:
        rate[40:, 0] = 1e4
    for k, stamp in enumerate(data.stamps.tolist()):
        pipeline.add_imu(stamp, force[k], rate[k])
        pipeline.add_joint_positions(stamp, SRS.actuated_joint_names, data.drive_positions[k])
    names = {event.name for event in pipeline.health.report().events}
    assert names - {'started', 'imu_off_prediction', 'constants_found'} == (
        {'imu_implausible'} if not frozen else {'imu_frozen'} if moving else set()
    )


@pytest.mark.parametrize(('part', 'clipped'), [(1.0, True), (1.0 - 1e-9, False), (-1.0, True)])
@pytest.mark.parametrize('axis', [0, 5])
def test_a_number_at_the_end_of_the_range_is_clipped(part, clipped, axis):
    """From 99.8 % of the range on, of a sensor that feels no gravity; all other numbers are zero."""
    limit = 0.998 * 3.0
    assert limit * (1.0 / limit) == 1.0  # no rounding helps
    imu = replace(SRS.imu, accelerometer_range=3.0, gyroscope_range=3.0)
    watch = ImuWatch(imu, STANDARD_IMU, feels_gravity=False, history=0.0)
    watch.take(instant(1.0), np.zeros(6))
    watch.take(instant(1.01), limit * part * np.eye(6)[axis])
    span = watch.touching(instant(1.0), instant(1.01))
    assert (span is not None and span.kind == 'imu_clipped') == clipped
    assert watch.is_quiet(instant(1.0), instant(1.01)) == (not clipped)


# -- alarms ------------------------------------------------------------------------------------------------------------


def test_an_alarm_is_one_event_until_it_ends():
    """Twenty seconds of good innovations, twenty of bad ones, thirty of good ones, and bad ones again."""
    pipeline = EstimatorPipeline(SRS, CONFIG)
    test, health = pipeline.lasting, pipeline.health
    random, states = np.random.default_rng(0), []
    for second in range(100):
        scale = 2.0 if 20 <= second < 40 or second >= 70 else 1.0
        residual = scale * random.normal(size=(50, 6))
        stamps = second * SECOND + np.arange(50) * SECOND // 50
        test.add_block(SimpleNamespace(
            epochs=np.zeros(50, dtype=np.int64), stamps=stamps, residual=residual, variance=np.ones((50, 6)),
            nis=np.sum(residual**2, axis=1), shared=np.zeros_like(residual),
        ))  # fmt: skip
        states.append(bool(health.lasting))
    assert health.counters['over_confident'] == 2
    begun = np.flatnonzero(np.diff(np.array(states, dtype=int)))
    assert len(begun) == 3 and 19 <= begun[0] < 25 and 40 <= begun[1] < 60 and 69 <= begun[2] < 75
    assert 'mean NIS' in health.lasting and 'expected 6' in health.lasting
    assert [event.stamp // SECOND for event in health.report().events] == (begun[[0, 2]] + 1).tolist()


# -- doubts about the assembly mode ------------------------------------------------------------------------------------


def bank_of(*moves):
    """A bank of hypotheses that are as likely, moved (3,) m from home, and the tracker that has it."""
    tracker, hypotheses = EstimatorPipeline(SRS, CONFIG).tracker, []
    for move in moves:
        pose = Pose(SRS.home.position + np.array(move), SRS.home.rotation_base_platform)
        tracker.filter.start_at(pose, 1e-4, 1e-4)
        hypotheses.append(tracker.bank.held(GOOD))
    tracker.bank.begin(hypotheses)
    return tracker.bank, tracker


def weighed(bank, *squares):
    """Candidates of the bank's hypotheses by the NIS of each."""
    used = np.arange(6)
    return bank.weigh([
        (one._replace(family=k), LegExplanation(frozenset(), 1.0, -0.5 * nis + size, size, nis, used))
        for k, (one, (nis, size)) in enumerate(zip(bank.hypotheses, squares, strict=True))
    ])  # fmt: skip


def test_poses_that_are_one_become_one_and_others_do_not():
    bank, _ = bank_of([0.0, 0.0, 0.0], [0.1, 0.0, 0.0])
    bank.keep(list(bank.hypotheses))
    assert len(bank.poses(SRS.imu.position)) == 2
    assert np.exp([part.logarithm for part in bank.parts]) == pytest.approx([0.5, 0.5])
    assert '2 poses are possible, the two likeliest 100 mm and 0 degrees apart' in bank.description
    bank, tracker = bank_of([0.0, 0.0, 0.0], [1e-4, 0.0, 0.0])
    bank.keep(list(bank.hypotheses))
    assert len(bank.hypotheses) == 1 and bank.is_plain and not bank.description
    assert tracker.filter.pose.position - SRS.home.position == pytest.approx([0.5e-4, 0.0, 0.0], abs=1e-9)


def test_poses_are_weighed_by_their_squares_and_not_by_how_much_the_imu_moves_the_legs():
    bank, _ = bank_of([0.0, 0.0, 0.0], [0.1, 0.0, 0.0])
    first, second = weighed(bank, (5.0, 40.0), (1.0, 30.0))
    assert first.logarithm - second.logarithm == pytest.approx(2.0)
    assert first.predicted is not second.predicted and first.explanation.nis == 1.0


def test_covariance_of_the_likeliest_covers_the_other_by_its_probability():
    bank, tracker = bank_of([0.0, 0.0, 0.0], [0.1, 0.0, 0.0])
    bank.keep([one.predicted._replace(logarithm=one.logarithm) for one in weighed(bank, (5.0, 0.0), (1.0, 0.0))])
    _, covariance, *_ = bank.known(tracker.filter.known(np.zeros(6)), tracker.filter.ukf.claim)
    away = tracker.filter.chart.T @ np.array([0.1, 0.0, 0.0])
    rest = covariance[:3, :3] - np.outer(away, away) / (1.0 + np.exp(2.0))
    assert np.abs(rest).max() < 1e-6
    with pytest.raises(CovarianceError, match='no hypothesis explains'):
        bank.keep([])


@pytest.mark.parametrize('delay', [0.0031, -0.0043])
def test_a_declared_delay_is_as_if_the_stamps_of_the_imu_were_right(delay):
    """The estimates of samples whose stamps are set right are the same, to the last bit."""
    data = simulate_sensors(
        SRS, mp1_profile(SRS, 60.0).evaluate, 20.0 + np.arange(100) / 100, SensorConditions(imu_delay=delay), 0
    )
    found = []
    for config, shift in ((replace(CONFIG, imu_delay=delay), 0), (CONFIG, round(1e9 * delay))):
        pipeline, outputs = EstimatorPipeline(SRS, config), []
        for k, stamp in enumerate(data.stamps.tolist()):
            outputs += pipeline.add_imu(stamp - shift, data.specific_force[k], data.angular_rate[k])
            outputs += pipeline.add_joint_positions(stamp, SRS.actuated_joint_names, data.drive_positions[k])
        found.append([(o.stamp, o.motion.position.tobytes(), o.motion.pose_covariance.tobytes()) for o in outputs[:95]])
    assert len(found[0]) >= 90 and found[0] == found[1]


def test_stretches_with_jittering_legs_and_a_spike_give_every_bit_of_single_samples():
    """What the stamps of the legs are like is as before where a measurement is not followed."""
    random = np.random.default_rng(3)
    data = simulate_sensors(SRS, mp1_profile(SRS, 60.0).evaluate, 20.0 + np.arange(240) / 500, SensorConditions(), 0)
    imu, names, unknown = np.hstack([data.specific_force, data.angular_rate]), SRS.actuated_joint_names, np.nan
    legs = data.drive_positions[::2].copy()
    leg_stamps = data.stamps[::2] - random.integers(0, 900_000, size=120)
    leg_stamps[0] = data.stamps[0]
    legs[[47, 48, 75], 2] += 0.01
    single, live, expected, found = EstimatorPipeline(SRS, CONFIG), LivePipeline(SRS, CONFIG), [], []
    for k in range(240):
        for pipeline, outputs in ((single, expected), (live, found)):
            if pipeline is live and k >= 40:
                continue
            if k % 2 == 0:
                outputs += pipeline.add_joint_positions(int(leg_stamps[k // 2]), names, legs[k // 2])
            outputs += pipeline.add_imu(int(data.stamps[k]), data.specific_force[k], data.angular_rate[k])
    for begin in range(40, 240, 40):
        rows, few = slice(begin, begin + 40), slice(begin // 2, begin // 2 + 20)
        taken = live.add_live_stretch(
            Stretch(data.stamps[rows], imu[rows], leg_stamps[few], names, legs[few], np.full((20, 6), unknown))
        )
        assert taken is not None
        found += taken
    assert live.followed > 0
    assert_same(
        collect(found, live.health.report()), collect(expected, single.health.report()), ('estimated', 'extra_states')
    )
