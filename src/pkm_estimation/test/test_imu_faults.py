"""An IMU that fails is named and left out, the legs alone go on with an honest covariance, and it is taken back."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from estimated import pose_errors, squares, twist_errors
from moving_platform import Motion, measured
from pkm_description.driver import STANDARD_IMU
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1_profile
from pkm_estimation.exchange.imu_watch import ImuCauses, ImuWatch
from pkm_estimation.exchange.samples import Instant
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import ImuFault, SensorConditions, SensorData, simulate_sensors
from pkm_estimation.sensors.conditions import IMU_FAULTS
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.stream.verdict import WELL, summarise
from test_stretches import assert_same, one_by_one

SRS = load_machine('srs')
BEGIN, END = 2.0, 3.0
#: values of a kind that is not compared with ==
SKIPPED = ('estimated', 'extra_states')
#: events one of which must come within 0.2 s, and what must be said in the end
NAMES = {
    'frozen': 'imu_frozen', 'zeros': 'imu_zeros', 'clipped': 'imu_clipped', 'swapped_axes': 'imu_axes',
    'upside_down': 'imu_upside_down', 'in_g': 'imu_in_g', 'in_deg_per_s': 'imu_in_deg_per_s',
    'gravity_removed': 'imu_gravity_removed',
}  # fmt: skip


def sensed(machine, kind, rate=100.0, seed=3, begin=BEGIN, end=END, duration=6.0):
    """Motion, times from the first on [s], and sensors."""
    faults = (ImuFault(kind, begin, end),) if kind else ()
    evaluate, time = mp1_profile(machine, 60.0).evaluate, 20.0 + np.arange(round(duration * rate)) / rate
    data = simulate_sensors(machine, evaluate, time, SensorConditions(imu_faults=faults), seed)
    return evaluate(time), time - time[0], data


@cache
def run(machine, kind, *conditions, config=None, **others):
    motion, time, data = sensed(machine, kind, *conditions, **others)
    return estimate(machine, data, config or EstimatorConfig()), motion, time, data


def events_of(result, since):
    """Name of each event, and when it came first [s]."""
    first = {}
    for event in result.health.events:
        first.setdefault(event.name, 1e-9 * (event.stamp - since))
    return first


def normalised_squares(result, motion):
    return squares(pose_errors(result.motion, motion), result.motion.pose_covariance) / 6.0


@pytest.mark.parametrize(
    ('kind', 'rate'),
    [
        *((kind, 100.0) for kind in IMU_FAULTS if kind != 'clipped'),
        *(
            pytest.param(kind, 500.0, marks=() if kind == 'zeros' else pytest.mark.campaign)
            for kind in IMU_FAULTS
            if kind != 'clipped'
        ),
    ],
)
def test_failure_is_named_bridged_and_over(kind, rate):
    result, motion, time, data = run(SRS, kind, rate)
    failing = (time >= BEGIN) & (time < END + 0.5)
    error = np.linalg.norm(result.motion.position - motion.position, axis=1)
    legs = np.linalg.norm(result.baseline.position - motion.position, axis=1)
    assert error[failing].max() < 3.0 * legs[failing].max()
    assert normalised_squares(result, motion)[failing].mean() < 2.0
    events = events_of(result, data.stamps[0] + round(1e9 * BEGIN))
    assert set(events) - {'started'} <= {'imu_off_prediction', 'imu_returned', NAMES[kind]}
    assert 0.0 <= events.get('imu_off_prediction', events[NAMES[kind]]) < 0.2
    assert events[NAMES[kind]] < 1.0  # why
    assert events['imu_returned'] - (END - BEGIN) < 2.0
    assert not any(name.endswith('_left_out') for name in result.health.counters)
    out = result.by_legs_alone
    assert out[(time > BEGIN + 0.1) & (time < END)].all()
    assert not out[time < BEGIN].any() and not out[time > END + 2.0].any()
    assert np.isnan(result.accelerometer_bias[out]).all() and np.isfinite(result.accelerometer_bias[~out]).all()
    assert error[time > END + 2.5].max() < 2.0 * error[time < BEGIN].max()


def test_samples_at_the_end_of_the_range_are_named():
    """A gyroscope whose range is smaller than the motion."""
    motion, time, data = sensed(SRS, None)
    widest = float(np.abs(data.angular_rate).max())
    machine = replace(SRS, imu=replace(SRS.imu, gyroscope_range=0.6 * widest))
    faults = (ImuFault('clipped', ranges=(np.inf, 0.6 * widest)),)
    conditions = SensorConditions(imu_faults=faults)
    clipped = simulate_sensors(SRS, mp1_profile(SRS, 60.0).evaluate, 20.0 + time, conditions, 3)
    first = time[np.abs(data.angular_rate).max(axis=1) > 0.6 * widest][0]
    result = estimate(machine, clipped)
    error = np.linalg.norm(result.motion.position - motion.position, axis=1)
    legs = np.linalg.norm(result.baseline.position - motion.position, axis=1)
    assert error.max() < 3.0 * legs.max()
    assert normalised_squares(result, motion).mean() < 2.0
    events = events_of(result, data.stamps[0])
    assert events['imu_clipped'] == pytest.approx(first, abs=0.2)
    assert set(events) <= {'started', 'imu_clipped', 'imu_returned'}


@pytest.mark.parametrize('jump', [2e-4, pytest.param(0.06, marks=pytest.mark.campaign), 0.3])
def test_legs_that_jump_while_the_imu_is_out(jump):
    """Positions of another instant, as from a message that comes late: the estimate never claims what is not so."""
    motion, _, data = sensed(SRS, 'zeros', end=6.0, duration=4.5)
    positions = data.drive_positions.copy()
    other = np.linspace(-jump, jump, positions.shape[1])
    begin = round(100.0 * 3.0)
    positions[begin] += other
    result = estimate(SRS, replace(data, drive_positions=positions))
    found = normalised_squares(result, motion)
    assert found[begin + 1 : begin + 100].max() < 8.0
    assert found[begin + 30 :].mean() < 2.0
    said = {'legs_jumped', 'leg_off_prediction'} & set(events_of(result, data.stamps[0]))
    assert said or jump < 1e-3


def test_noisy_legs_are_no_lively_motion_while_the_imu_is_out():
    """Ten times the noise of the sensors, for two seconds (before: 0.2 m/s off, 3.5 times what was claimed)."""
    motion, time, data = sensed(SRS, 'zeros', end=6.0, duration=4.5)
    noise = np.random.default_rng(1).normal(size=data.drive_positions.shape) * 1e-4
    noise[time < 2.5] = 0.0
    result = estimate(SRS, replace(data, drive_positions=data.drive_positions + noise))
    noisy = time > 3.5
    error = twist_errors(result.motion, motion)[noisy, :3]
    assert squares(error, result.motion.twist_covariance[noisy, :3, :3]).mean() < 2.0 * 3.0
    assert np.sqrt(np.mean(error**2)) < 0.03
    assert result.by_legs_alone[noisy].all()


def test_without_a_failure_nothing_is_said_and_nothing_changes():
    for rate in (100.0, 500.0):
        result, *_ = run(SRS, None, rate)
        assert not result.by_legs_alone.any()
        assert set(result.health.counters) == set(WELL)
    other, *_ = run(SRS, None, rate, config=EstimatorConfig(legs_alone=False))
    assert_same(result, other, SKIPPED)


@pytest.mark.parametrize('kind', [pytest.param('zeros', marks=pytest.mark.campaign), 'upside_down'])
def test_single_samples_give_the_same_bits(kind):
    result, _, _, data = run(SRS, kind, config=EstimatorConfig(baseline=False))
    assert_same(result, one_by_one(data, EstimatorConfig(baseline=False)), SKIPPED)


@pytest.mark.parametrize('kind', ['in_g', 'upside_down', pytest.param('gravity_removed', marks=pytest.mark.campaign)])
def test_wrong_from_the_beginning_is_named_with_what_to_do(kind):
    result, motion, time, data = run(SRS, kind, begin=0.0, end=np.inf, duration=3.0)
    events = [event for event in result.health.events if event.name == NAMES[kind]]
    assert len(events) == 1 and 1e-9 * (events[0].stamp - data.stamps[0]) < 1.0
    assert result.by_legs_alone[time > 0.1].all()
    error = np.linalg.norm(result.motion.position - motion.position, axis=1)
    assert error[time > 0.1].max() < 1e-4
    level, sentence = summarise(result.health, 6)
    assert level == 'warn' and sentence.startswith('left out: IMU')


def test_what_the_legs_feel_is_what_the_imu_should_read():
    """Specific force and angular rate by the legs alone against the samples of an ideal IMU."""
    result, _, time, _ = run(SRS, 'zeros', 500.0)
    ideal, *_ = run(SRS, None, 500.0)
    rows = (time > BEGIN + 0.3) & (time < END)
    off = result.specific_force[rows] - ideal.specific_force[rows]
    assert np.abs(off).max() < 3.0 and np.sqrt(np.mean(off**2)) < 0.6
    off = result.angular_rate[rows] - ideal.angular_rate[rows]
    assert np.sqrt(np.mean(off**2)) < 0.05


def test_two_failing_legs_are_still_the_legs():
    _, _, data = sensed(SRS, None, duration=4.5)
    positions = data.drive_positions.copy()
    positions[250:350, 1] += 5e-3
    positions[250:350, 4] = positions[250, 4]
    result = estimate(SRS, replace(data, drive_positions=positions))
    assert not result.by_legs_alone.any()
    assert {'leg2_left_out', 'leg5_left_out'} <= set(result.health.counters)


def test_stuck_leg_in_slow_motion_is_still_the_leg():
    """Sines of 0.1 Hz at 500 Hz: the leg stands still for as long as 0.1 s before it is off by its noise."""
    time = 4.0 + np.arange(1500) / 500.0
    motion = Motion(SRS, 0.1)
    (position, rotation), inputs = motion.pose(time), motion.state(time)[3]
    random = np.random.default_rng(2)
    positions = measured(SRS, position, rotation)
    positions += SRS.leg_sensors.position_noise * random.normal(size=positions.shape)
    force, rate = np.hsplit(inputs @ np.kron(np.eye(2), SRS.imu.rotation_platform_imu), 2)
    force = force + SRS.imu.accelerometer_noise * random.normal(size=force.shape)
    rate = rate + SRS.imu.gyroscope_noise * random.normal(size=rate.shape)
    positions[700:1200, 2] = positions[700, 2]
    result = estimate(SRS, SensorData(10**9 + np.rint((time - time[0]) * 1e9).astype(np.int64), positions, force, rate))
    assert 'leg3_left_out' in result.health.counters and not result.by_legs_alone.any()


@pytest.mark.parametrize('repeat', [1, 10])
def test_samples_are_judged_alike_one_by_one_and_together(repeat):
    random = np.random.default_rng(0)
    values = np.repeat(random.normal(loc=[0.0, 0.0, 9.8, 0.0, 0.0, 0.0], size=(40, 6)), repeat, axis=0)
    values[5 * repeat], values[7 * repeat, 3] = 0.0, 90.0
    values[20 * repeat : 20 * repeat + 30] = values[20 * repeat]
    stamps = 10**9 + 10**7 * np.arange(len(values))
    single, together = (
        ImuWatch(replace(SRS.imu, gyroscope_range=87.0), STANDARD_IMU, True, 0.0) for _ in range(2)
    )
    for stamp, value in zip(stamps.tolist(), values, strict=True):
        single.take(Instant(0, stamp), value)
    for part in np.array_split(np.arange(len(values)), 3):
        together.take_all(0, stamps[part], values[part])
    first, last = Instant(0, int(stamps[0])), Instant(0, int(stamps[-1]))
    kinds = []
    for instant in [Instant(0, stamp) for stamp in stamps.tolist()]:
        spans = [watch.touching(instant, Instant(0, instant.stamp + 1)) for watch in (single, together)]
        assert spans[0] == spans[1]
        kinds += [span.kind for span in spans[:1] if span is not None]
    assert {'imu_zeros', 'imu_clipped', 'imu_frozen'} <= set(kinds)
    assert single.next_begin(first) == together.next_begin(first)
    assert single.next_begin(last) == together.next_begin(last)


def test_no_cause_is_named_where_several_fit_or_none():
    causes, gravity = ImuCauses(), np.array([0.0, 0.0, -9.81])
    felt = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
    for _ in range(20):
        causes.add(np.array([3.0, 4.0, 5.0, 0.0, 0.0, 0.0]), felt, np.full(6, 1e-4), gravity)
    assert causes.likeliest() is None
    causes.reset()
    for _ in range(20):
        causes.add(felt, felt, np.full(6, 1e-4), gravity)
    assert causes.likeliest() is None


@pytest.mark.parametrize(
    ('wrong', 'said'),
    [({'kind': 'dead'}, 'dead'), ({'begin': 2.0, 'end': 1.0}, 'end = 1.0'), ({'ranges': (0.0, 1.0)}, 'ranges')],
)
def test_wrong_faults_are_named(wrong, said):
    with pytest.raises(ValueError, match=said):
        ImuFault(**({'kind': 'frozen'} | wrong))
