"""Simulated sensors: each condition separately, and repeatable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1_profile, mp2_profile
from pkm_estimation.filters import INTEGRATORS
from pkm_estimation.models import InertialProcess
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.sensors import SensorConditions, imu_truth, measure, simulate_sensors
from pkm_estimation.sensors.conditions import ImuFault

from verification.miletovic_2017.euler_truth import euler_truth

SRS = load_machine('srs')
TIME = np.arange(0.0, 30.0, 0.01)
EVALUATE = mp1_profile(SRS, 40.0).evaluate
#: neither noise nor bias: what is left is the effect alone
QUIET = SensorConditions(noise=False, bias=False)
#: about x; and some gravity in axes of an IMU, m/s^2
HALF_TURN = rotation_exp(np.array([np.pi, 0.0, 0.0]))
GRAVITY = np.array([1.0, -2.0, -9.5])


def sense(conditions, seed=1):
    return simulate_sensors(SRS, EVALUATE, TIME, conditions, seed)


IDEAL = sense(QUIET)

EVERYTHING = SensorConditions(
    heavy_tails=True,
    averaging=True,
    imu_delay=(0.01, 0.02, 0.03, 0.02, 0.01, 0.05),
    imu_delay_fluctuation=0.003,
    imu_misalignment=(0.01, -0.02, 0.005),
    gyroscope_drift=(1e-6, 0.0, -1e-6),
    leg_offsets=3e-4,
    burst_std=1e-4,
    accelerometer_step=1e-3,
    gyroscope_step=1e-4,
    length_step=2e-6,
    imu_loss=0.05,
    leg_loss=0.02,
    imu_gaps=((3.0, 3.2),),
    leg_gaps=((5.0, 6.0),),
)


def test_same_seed_same_bits_and_another_seed_others():
    first, again, other = sense(EVERYTHING), sense(EVERYTHING), sense(EVERYTHING, seed=2)
    for name in first.__dataclass_fields__:
        assert np.array_equal(getattr(first, name), getattr(again, name)), name
        assert name == 'stamps' or not np.array_equal(getattr(first, name), getattr(other, name)), name


def test_nothing_wrong_is_the_ideal_sensor():
    exact = measure(SRS, EVALUATE(TIME), seed=None)
    data = sense(replace(QUIET, bias=True))
    for name in ('stamps', 'drive_positions', 'specific_force', 'angular_rate'):
        assert np.array_equal(getattr(data, name), getattr(exact, name)), name
    assert data.imu_received.all() and data.legs_received.all()


def test_effects_do_not_disturb_each_others_noise():
    plain, bursts = sense(SensorConditions()), sense(SensorConditions(burst_std=1e-4))
    assert np.array_equal(plain.specific_force, bursts.specific_force)
    quiet_time = TIME % 15.0 < 10.0
    assert np.array_equal(plain.drive_positions[quiet_time], bursts.drive_positions[quiet_time])
    extra = (bursts.drive_positions - plain.drive_positions)[~quiet_time]
    assert extra.std() == pytest.approx(1e-4, rel=0.05)


@pytest.mark.parametrize('heavy', [False, True])
def test_noise_has_the_files_deviations(heavy):
    data = sense(replace(QUIET, noise=True, heavy_tails=heavy))
    limit = 0.15 if heavy else 0.06
    for name, std in (
        ('specific_force', SRS.imu.accelerometer_noise),
        ('angular_rate', SRS.imu.gyroscope_noise),
        ('drive_positions', SRS.leg_sensors.position_noise),
    ):
        noise = getattr(data, name) - getattr(IDEAL, name)
        assert noise.std(axis=0) == pytest.approx(std, rel=limit)
        tails = np.mean(np.abs(noise) > 4.0 * std)
        assert (tails > 1e-3) == heavy


def test_delay_is_the_age_of_the_signal_axis_by_axis():
    late = sense(replace(QUIET, imu_delay=(0.01, 0.03, 0.0, 0.05, 0.02, 0.01)))
    for axis, samples in enumerate((1, 3, 0, 5, 2, 1)):
        here, there = (np.hstack([d.specific_force, d.angular_rate])[:, axis] for d in (late, IDEAL))
        assert here[samples:] == pytest.approx(there[: len(there) - samples], abs=1e-12)
    assert np.array_equal(late.drive_positions, IDEAL.drive_positions)


def test_fluctuating_delay_stays_around_its_mean_and_is_slow():
    data = sense(replace(QUIET, imu_delay=0.03, imu_delay_fluctuation=0.005))
    late = sense(replace(QUIET, imu_delay=0.03))
    rate = np.gradient(late.angular_rate[:, 0], 0.01)
    moving = np.abs(rate) > 0.2
    delay = 0.03 - (data.angular_rate - late.angular_rate)[moving, 0] / rate[moving]
    assert 0.02 < delay.min() < 0.03 < delay.max() < 0.045
    assert delay.std() == pytest.approx(0.005, rel=0.5)


def test_averaging_imu_gives_the_mean_of_its_interval():
    """Its rates sum up to the angle; against the exact mean from a fine grid."""
    data = sense(replace(QUIET, averaging=True))
    fine = EVALUATE(np.arange(12.0, 13.0 + 1e-9, 1e-4))
    force, rate = imu_truth(fine, SRS.gravity, SRS.imu.position, SRS.imu.rotation_platform_imu)
    for ours, exact in ((data.specific_force, force), (data.angular_rate, rate)):
        means = 0.5 * (exact[:-1] + exact[1:]).reshape(100, 100, 3).mean(axis=1)
        assert ours[1201:1301] == pytest.approx(np.squeeze(means), abs=1e-6)


def test_misalignment_turns_the_vectors():
    turn = (0.02, -0.01, 0.03)
    data = sense(replace(QUIET, imu_misalignment=turn))
    assert data.specific_force == pytest.approx(IDEAL.specific_force @ rotation_exp(np.array(turn)), abs=1e-12)


def test_matrices_of_the_imu_correct_its_samples():
    random, motion = np.random.default_rng(0), mp1_profile(SRS).evaluate(np.arange(0.0, 10.0, 0.01))
    matrices = [np.eye(3) + 0.01 * random.normal(size=(3, 3)) for _ in range(2)]
    imu = replace(SRS.imu, accelerometer_matrix=matrices[0], gyroscope_matrix=matrices[1])
    data = measure(replace(SRS, imu=imu), motion, seed=None)
    plain = measure(SRS, motion, seed=None)
    bias = np.hstack([imu.accelerometer_bias, imu.gyroscope_bias])
    samples = [np.hstack([one.specific_force, one.angular_rate]) - bias for one in (data, plain)]
    assert np.abs(samples[0] - samples[1]).max() > 0.01
    ours, true = (ImuFrame(one).to_platform(part) for one, part in zip((imu, SRS.imu), samples, strict=True))
    np.testing.assert_allclose(ours, true, atol=1e-12)


def test_offsets_steps_and_drift():
    data = sense(
        replace(QUIET, leg_offsets=(1e-4, 0, 0, 0, 0, -1e-4), length_step=2e-5, gyroscope_drift=(0.0, 1e-5, 0.0))
    )
    lengths = data.drive_positions + SRS.lengths_at_zero
    assert np.abs(lengths / 2e-5 - np.rint(lengths / 2e-5)).max() < 1e-6
    offsets = (data.drive_positions - IDEAL.drive_positions).mean(axis=0)
    assert offsets == pytest.approx([1e-4, 0, 0, 0, 0, -1e-4], abs=1e-6)
    assert (data.angular_rate - IDEAL.angular_rate)[-1] == pytest.approx([0.0, 1e-5 * TIME[-1], 0.0], abs=1e-12)


def test_losses_and_gaps():
    data = sense(replace(QUIET, imu_loss=0.1, leg_gaps=((5.0, 6.0),)))
    assert np.mean(~data.imu_received) == pytest.approx(0.1, abs=0.02)
    assert np.array_equal(np.flatnonzero(~data.legs_received), np.flatnonzero((TIME >= 5.0) & (TIME < 6.0)))


@pytest.mark.parametrize(
    ('wrong', 'name'),
    [({'imu_delay': (0.1, 0.2)}, 'imu_delay'), ({'leg_loss': 1.5}, 'leg_loss'), ({'length_step': np.nan}, 'length'),
     ({'burst_duration': 2.0, 'burst_period': 1.0}, 'burst_duration'), ({'burst_duration': -0.1}, 'burst_duration'),
     ({'imu_delay_fluctuation_time': 0.0}, 'imu_delay_fluctuation_time')],
)
def test_impossible_conditions_are_refused(wrong, name):
    with pytest.raises(ValueError, match=name):
        SensorConditions(**wrong)


@pytest.mark.parametrize('profile', [mp1_profile(SRS, 20.0), mp2_profile(SRS, 20.0)])
def test_euler_truth_satisfies_the_filters_recursion(profile):
    motion = profile.evaluate(np.arange(4.0, 8.0, 0.01))
    truth = euler_truth(motion, SRS.gravity, SRS.imu.position)
    states = np.zeros((len(truth.position), 15))
    states[:, :9] = np.hstack([truth.position, truth.velocity, truth.attitude])
    process = InertialProcess(SRS.gravity, INTEGRATORS['euler'])
    inputs = np.hstack([truth.specific_force, truth.angular_rate])
    for k in range(0, len(inputs) - 1, 40):
        moved = process.propagate(states[k : k + 1].copy(), inputs[k], inputs[k], 0.01)
        assert moved[0] == pytest.approx(states[k + 1], abs=1e-13)
    # and is close to the exact signals, half a step apart
    exact = np.hstack(imu_truth(motion, SRS.gravity, SRS.imu.position, np.eye(3)))[: len(inputs)]
    assert np.abs(inputs - exact).max() < 0.05


def test_what_is_not_said_is_as_in_the_machine_file():
    """Noise and biases are there unless they are switched off, and a motion is measured alike each time."""
    bias = np.concatenate([SRS.imu.accelerometer_bias, SRS.imu.gyroscope_bias])
    assert (bias != 0.0).all()
    data, ideal = (
        simulate_sensors(SRS, EVALUATE, TIME[:5], conditions, 1)
        for conditions in (SensorConditions(noise=False), QUIET)
    )
    difference = np.hstack([data.specific_force - ideal.specific_force, data.angular_rate - ideal.angular_rate])
    assert difference == pytest.approx(np.tile(bias, (5, 1)), abs=1e-12)
    motion = EVALUATE(TIME[200:205])
    again, first, other = measure(SRS, motion), measure(SRS, motion, seed=0), measure(SRS, motion, seed=1)
    assert np.array_equal(again.specific_force, first.specific_force)
    assert not np.array_equal(again.specific_force, other.specific_force)


def test_stamps_count_from_the_first_sample_whenever_a_motion_begins():
    assert TIME[200] == pytest.approx(2.0)
    data = measure(SRS, EVALUATE(TIME[200:203]), start_stamp=7_000_000_000)
    assert data.stamps.tolist() == [7_000_000_000, 7_010_000_000, 7_020_000_000]


@pytest.mark.parametrize(
    ('kind', 'changed'),
    [
        ('frozen', lambda force, rate: (0.0 * force + force[0], 0.0 * rate + rate[0])),
        ('zeros', lambda force, rate: (0.0 * force, 0.0 * rate)),
        ('clipped', lambda force, rate: (np.clip(force, -5.0, 5.0), np.clip(rate, -2.0, 2.0))),
        ('swapped_axes', lambda force, rate: (np.roll(force, -1, axis=1), np.roll(rate, -1, axis=1))),
        ('upside_down', lambda force, rate: (force @ HALF_TURN, rate @ HALF_TURN)),
        ('in_g', lambda force, rate: (force / 9.80665, rate)),
        ('in_deg_per_s', lambda force, rate: (force, np.degrees(rate))),
        ('gravity_removed', lambda force, rate: (force + GRAVITY, rate)),
    ],
)
def test_fault_of_the_imu_changes_the_samples_of_its_interval(kind, changed):
    """From its begin on, and no longer at its end."""
    signals = 6.0 * np.random.default_rng(2).normal(size=(8, 6))
    fault = ImuFault(kind, begin=0.2, end=0.5, ranges=(5.0, 2.0))
    found = fault.apply(signals, 0.1 * np.arange(8), np.tile(GRAVITY, (8, 1)))
    rows = [2, 3, 4]
    assert found[rows] == pytest.approx(np.hstack(changed(signals[rows, :3], signals[rows, 3:])))
    assert np.array_equal(np.delete(found, rows, axis=0), np.delete(signals, rows, axis=0))
