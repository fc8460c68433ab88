"""Positions that were not read anew are not used: the filter goes on by the IMU, honest about it."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_estimation.exchange.stale import StaleEncoders
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import SensorData, measure
from pkm_estimation.sensors.simulated import SimulatedData
from pkm_estimation.stream import EstimatorConfig
from test_imu_faults import events_of, normalised_squares
from test_stretches import assert_same, one_by_one

SRS = load_machine('srs')
RATE, DURATION = 200.0, 12.0
MOTION = profile('fourier', SRS, DURATION, RATE, seed=4)
EVERY = np.ones(len(MOTION.time), dtype=bool)
#: drives are published with every second sample of the IMU
LEGS = np.arange(len(EVERY)) % 2 == 0


def held(positions, begin, duration, legs=slice(None)):
    """Republish some legs for a while [s]."""
    first, last = (round(time * RATE / 2) for time in (begin, begin + duration))
    positions[first:last, legs] = positions[first - 1, legs]


def republished(positions, times, legs=slice(None)):
    """Publish each value several times."""
    positions[:, legs] = positions[np.arange(len(positions)) // times * times][:, legs]


def measured(change, *values, seed=1):
    data = measure(SRS, MOTION, seed)
    positions = data.drive_positions.copy()
    drives = positions[LEGS]
    change(drives, *values)
    positions[LEGS] = drives
    return SimulatedData(data.stamps, positions, data.specific_force, data.angular_rate, EVERY, LEGS)


def judged(data):
    """Estimates, largest error in the claimed standard deviations, mean NEES of 1 by each freedom, errors [m]."""
    result = estimate(SRS, data)
    assert len(result.motion.stamps) == LEGS.sum()
    truth = MOTION[LEGS]
    error = result.motion.position - truth.position
    std = np.sqrt(np.diagonal(result.motion.pose_covariance, axis1=1, axis2=2)[:, :3])
    squares = normalised_squares(result, truth)
    late = truth.time > 1.0  # the start is as good as one measurement
    return result, (np.abs(error) / std)[late].max(), squares[late].mean(), np.linalg.norm(error, axis=1) * late


@pytest.mark.parametrize('duration', [0.05, pytest.param(0.3, marks=pytest.mark.campaign), 3.0])
def test_encoders_that_stand_still_while_the_platform_moves(duration):
    data = measured(held, 6.0, duration)
    result, worst, squares, error = judged(data)
    assert worst < 5.0 and 0.7 < squares < 1.4
    assert error.max() < 40e-6 + 0.5 * 3e-4 * duration**2
    events = events_of(result, data.stamps[0])
    assert 6.0 <= events['encoders_stale'] < 6.1
    assert not {'legs_jumped', 'pose_lost', 'imu_off_prediction'} & set(events)
    assert result.health.counters['leg3_left_out'] == round(duration * RATE / 2)
    after = MOTION[LEGS].time > 6.2 + duration
    assert error[after].max() < 40e-6


def test_some_stale_legs_leave_the_others_in_use():
    few, worst, squares, error = judged(measured(held, 6.0, 0.3, [0, 1, 2, 3]))
    assert worst < 5.0 and 0.7 < squares < 1.4 and error.max() < 40e-6
    assert few.health.counters['leg1_left_out'] == 30 and 'leg5_left_out' not in few.health.counters
    assert 'leg1, leg2, leg3, leg4: stuck' in next(e for e in few.health.events if e.name == 'leg_stuck').detail


@pytest.mark.parametrize(
    ('times', 'legs'),
    [
        (2, slice(None)), pytest.param(5, slice(None), marks=pytest.mark.campaign), (10, slice(None)),
        (2, [0, 1, 2]),
    ],
)  # fmt: skip
def test_drives_published_more_often_than_their_bus_is_read(times, legs):
    result, worst, squares, error = judged(measured(republished, times, legs))
    assert worst < 5.0 and 0.7 < squares < 1.4
    assert error.max() < 60e-6
    assert not {'legs_jumped', 'pose_lost', 'imu_off_prediction'} & set(events_of(result, 0))


@pytest.mark.parametrize('count', [5, 50])
def test_a_read_that_fails_and_gives_zeros(count):
    def zeros(positions):
        positions[600 : 600 + count] = 0.0

    data = measured(zeros)
    result = estimate(SRS, data)
    rows = np.searchsorted(data.stamps, result.motion.stamps)
    error = np.linalg.norm(result.motion.position - MOTION.position[rows], axis=1)
    assert len(rows) == LEGS.sum() and error.max() < 60e-6


def test_at_rest_without_noise_nothing_is_stale():
    """A simulator without noise repeats its positions at rest, before and after a motion."""
    data = measure(SRS, MOTION, seed=None)
    rows = np.concatenate([np.zeros(300, dtype=int), np.arange(len(data.stamps)), np.full(600, len(data.stamps) - 1)])
    stamps = 10**9 + 5_000_000 * np.arange(len(rows))
    noise = np.random.default_rng(3).normal(size=(len(rows), 3)) * 1e-3
    positions, force = data.drive_positions[rows], data.specific_force[rows] + noise
    result = estimate(SRS, SensorData(stamps, positions, force, data.angular_rate[rows]))
    assert not {'encoders_stale', 'leg_stuck', 'leg1_left_out'} & set(result.health.counters)


def test_samples_one_by_one_and_together_give_the_same_bits():
    data, config = measured(republished, 2, [0, 1, 2]), EstimatorConfig(baseline=False)
    data = SimulatedData(*(values[:1200] for values in vars(data).values()))
    assert_same(estimate(SRS, data, config), one_by_one(data, config), ('estimated', 'extra_states'))


def test_repetitions_at_rest_tell_kinds_of_sensors():
    """What jittered at rest is stale when it repeats; what repeats there by steps, or has no noise, is not."""
    random, noise = np.random.default_rng(0), np.full(6, 1e-5)
    jitter = 1e-5 * random.normal(size=(100, 6))
    stamps = 10_000_000 * np.arange(1, 101)
    legs, quiet, covariance = np.arange(6), np.zeros(6), np.diag(noise**2)
    kinds = {'noise': jitter, 'steps': np.round(jitter / 5e-5) * 5e-5, 'nothing': np.zeros((100, 6))}
    stale = {}
    for kind, positions in kinds.items():
        encoders = StaleEncoders(noise)
        encoders.add(stamps, positions)
        stale[kind] = [encoders.judge(stamp, legs, quiet, covariance, 6.0) for stamp in (1_010_000_000, 1_020_000_000)]
    assert stale == {'noise': [True, True], 'steps': [False, False], 'nothing': [False, False]}


@pytest.mark.parametrize('size', [1, 7, 100])
def test_counts_do_not_depend_on_portions(size):
    random, noise = np.random.default_rng(1), np.full(6, 1e-5)
    positions = 2e-5 * random.normal(size=(300, 6)).cumsum(axis=0) * (np.arange(300) > 150)[:, None]
    positions += 1e-5 * random.normal(size=(300, 6)) * (random.random(300) < 0.5)[:, None]
    stamps = 10_000_000 * np.arange(1, 301)
    whole, parts = StaleEncoders(noise), StaleEncoders(noise)
    whole.add(stamps, positions)
    for begin in range(0, 300, size):
        parts.add(stamps[begin : begin + size], positions[begin : begin + size])
    for name, value in vars(whole).items():
        np.testing.assert_array_equal(value, getattr(parts, name), err_msg=name)
