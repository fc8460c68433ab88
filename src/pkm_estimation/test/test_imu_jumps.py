"""Samples of the IMU that jump make the input uncertain: a sensor that fails is not claimed, a shock is not blamed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from estimated import squares, twist_errors
from pkm_description.driver import STANDARD_IMU
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion
from pkm_description.motion.profiles import mp1_profile
from pkm_estimation.exchange.imu_jumps import ImuJumps
from pkm_estimation.exchange.samples import Instant
from pkm_estimation.kernels.imu_jumps import COUNTS, ROWS, find_jumps
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import ImuFault, SensorConditions, simulate_sensors
from pkm_estimation.stream import EstimatorConfig
from test_stretches import assert_same, one_by_one

PALIDA = load_machine('palida')
RATE, BEGIN = 100.0, 2.0
BOTH = ('estimated', 'extra_states')


def recorded(kind, seed=0):
    evaluate, time = mp1_profile(PALIDA, 40.0).evaluate, 14.0 + np.arange(400) / RATE
    faults = (ImuFault(kind, BEGIN, 3.0),)
    data = simulate_sensors(PALIDA, evaluate, time, SensorConditions(imu_faults=faults), seed)
    return data, evaluate(time), time - time[0]


def twist_squares(result, motion):
    """Normalised squares (N,) of the error of velocity and angular rate, 1 where they are as claimed."""
    return squares(twist_errors(result.motion, motion), result.motion.twist_covariance) / 6.0


@pytest.mark.parametrize(
    'kind', ['frozen', 'in_g', 'in_deg_per_s', pytest.param('gravity_removed', marks=pytest.mark.campaign)]
)
def test_velocities_are_not_claimed_while_nobody_knows(kind):
    """Before: 8000 times the claimed variance for one sample, until the legs told."""
    data, motion, time = recorded(kind)
    result = estimate(PALIDA, data, EstimatorConfig())
    found = twist_squares(result, motion)
    assert found[(time >= BEGIN) & (time < 3.5)].mean() < 2.0
    assert found.max() < 200.0


def shocked(seed):
    """MP1 of which the platform gets 0.03 m/s faster in z within one sample: a hit, which IMU and legs feel."""
    evaluate = mp1_profile(PALIDA, 40.0).evaluate
    hit, lasts, speed = 16.001, 0.009, 0.03

    def with_hit(times):
        motion = evaluate(times)
        since = np.clip(times - hit, 0.0, lasts)
        push = np.where((times > hit) & (times < hit + lasts), speed / lasts, 0.0)
        gone = speed * (0.5 * since**2 / lasts + np.maximum(0.0, times - hit - lasts))
        # and it is slow again, smoothly
        back = np.clip(times - 16.5, 0.0, 0.5)
        add = lambda values, more: values + np.outer(more, [0.0, 0.0, 1.0])  # noqa: E731
        return PlatformMotion(
            motion.time, add(motion.position, gone - speed * back**2), motion.rotation_base_platform,
            add(motion.linear_velocity, speed * since / lasts - 2.0 * speed * back), motion.angular_velocity,
            add(motion.linear_acceleration, push - 2.0 * speed * ((times > 16.5) & (times < 17.0))),
            motion.angular_acceleration,
        )  # fmt: skip

    time = 14.0 + np.arange(270) / RATE
    return simulate_sensors(PALIDA, with_hit, time, SensorConditions(), seed), with_hit(time), time


@pytest.mark.parametrize('seed', range(3))
def test_a_hit_between_samples_is_not_blamed_on_the_imu(seed):
    data, motion, _ = shocked(seed)
    result = estimate(PALIDA, data, EstimatorConfig(baseline=False))
    assert {event.name for event in result.health.events} == {'started'} and not result.by_legs_alone.any()
    found = twist_squares(result, motion)
    assert found[195:245].mean() < 2.0 and found.max() < 20.0


@pytest.mark.parametrize('kind', ['frozen', pytest.param('in_g', marks=pytest.mark.campaign)])
def test_single_samples_give_the_same_bits(kind):
    data, _, _ = recorded(kind)
    config = EstimatorConfig(baseline=False)
    assert_same(estimate(PALIDA, data, config), one_by_one(data, config, PALIDA), BOTH)


def test_jumps_are_found_alike_one_by_one_and_together():
    random = np.random.default_rng(0)
    values = random.normal(size=(200, 6)) * 0.01 + [0.0, 0.0, 9.8, 0.0, 0.0, 0.0]
    values[50:, 0] += 3.0
    values[100, 4] += 0.7
    values[150:153] = values[150]
    stamps = 10**9 + 10**7 * np.arange(200)
    imu = replace(PALIDA.imu, accelerometer_noise=np.full(3, 0.01), gyroscope_noise=np.full(3, 0.01))
    single, together = (ImuJumps(imu, STANDARD_IMU, 10**12) for _ in range(2))
    for stamp, value in zip(stamps, values, strict=True):
        single.take(0, np.array([stamp]), value[None])
    for part in np.array_split(np.arange(200), 7):
        together.take(0, stamps[part], values[part])
    found = []
    for stamp in stamps.tolist():
        span = Instant(0, stamp - 10**7), Instant(0, stamp)
        assert single.between(*span) == together.between(*span)
        if single.between(*span):
            found.append((stamp - 10**9) // 10**7)
    assert found[:2] == [50, 100] and set(found) <= {50, 100, 101, 102, 151, 152}
    velocity, angle = single.between(Instant(0, int(stamps[49])), Instant(0, int(stamps[50])))
    assert velocity == pytest.approx(0.03, rel=0.05) and angle == 0.0
    # half of the interval, half of it
    assert single.between(Instant(0, int(stamps[49])), Instant(0, int(stamps[49]) + 5 * 10**6))[0] == velocity / 2.0
    assert single.next_begin(Instant(0, int(stamps[0]))) == stamps[49]


def test_what_is_remembered_is_bounded():
    """A sensor that is frozen for an hour, or jumps all the time, without any legs."""
    jumps = ImuJumps(PALIDA.imu, STANDARD_IMU, 10**9)
    random = np.random.default_rng(1)
    values = random.normal(size=(20, 6)) * 0.01
    jumps.take(0, 10**7 * np.arange(20), values)
    jumps.take(0, 10**7 * np.arange(20, 30000), np.repeat(values[-1:], 29980, axis=0))
    assert 0 < len(jumps._jumps) <= 8
    wild = random.normal(size=(40000, 6)) * np.where(np.arange(40000) % 20 == 0, 1e3, 1e-2)[:, None]
    for part in np.array_split(np.arange(40000), 40):
        jumps.take(0, 10**7 * (30000 + part), wild[part])
    assert 500 < len(jumps._jumps) <= 1000


@pytest.mark.parametrize(('apart', 'is_jump'), [(17, False), (18, True)])
def test_a_jump_is_usual_while_one_as_large_is_among_the_sixteen_before(apart, is_jump):
    """A step bends the path twice: at its sample and at the one after it."""
    count, first = 80, 40
    samples = 1e-3 * (-1.0) ** np.arange(count)[:, None] * np.ones(6)
    samples[first:, 0] += 1.0
    samples[first + apart :, 0] += 1.0
    jumps = np.empty((count, 2))
    find_jumps(
        np.zeros(COUNTS, dtype=np.int64), np.zeros((ROWS, 6)), 10_000_000 * np.arange(1, count + 1), samples,
        np.array([0.1, 0.1]), jumps,
    )  # fmt: skip
    assert jumps[first, 0] == pytest.approx(1.0, abs=0.01)
    assert (jumps[first + apart, 0] > 0.0) == is_jump and not jumps[:, 1].any()
