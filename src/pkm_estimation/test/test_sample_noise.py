"""How much the IMU's samples scatter is measured from them: noise beyond the data sheet, and what no path follows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from estimated import pose_errors, squares, swinging
from pkm_description.arrays import Array
from pkm_description.loading import load_machine
from pkm_estimation.filters import INTEGRATORS
from pkm_estimation.kernels.input_noise import NOW
from pkm_estimation.kernels.sample_noise import set_noise
from pkm_estimation.models import InertialProcess
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import SensorConditions, simulate_sensors
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline

SRS = load_machine('srs')
INTERVAL, STD = 4_000_000, 0.01
RANDOM = np.random.default_rng(3)
TIME = INTERVAL * 1e-9 * np.arange(2000)
WHITE = STD * RANDOM.normal(size=(len(TIME), 6))
PHASES = np.arange(6.0)


def variance_of(samples: Array, jitter: float = 0.0, missing: int = 0) -> Array:
    """What is measured of samples (N, 6) beyond the noise; without the last one of so many."""
    process = InertialProcess(np.array([0.0, 0.0, -9.8]), INTEGRATORS['rk3'])
    process.set_noise(STD**2 * np.eye(6))
    stamps = INTERVAL * np.arange(len(samples))
    there = np.arange(len(samples)) % missing != missing - 1 if missing else np.ones(len(samples), dtype=bool)
    stamps, samples = stamps[there], samples[there]
    for k in range(1, len(samples)):
        process.take([int(stamps[k]), int(stamps[k - 1])], [samples[k], samples[k - 1]])
        for _ in range(2):  # two steps in an interval take a sample once
            process.data.slopes[NOW] = jitter
            set_noise(process.struct)
    return process.data.noise.diagonal() - STD**2


def test_sums_of_squares_of_the_differences_are_those_of_white_noise() -> None:
    """The numbers that the kernel divides by."""
    sixth, fourth = np.poly([1.0] * 6), np.poly([1.0] * 4 + [-1.0] * 2)
    assert [float(sixth @ sixth), float(fourth @ fourth)] == [924.0, 28.0]


def test_noise_of_three_times_the_data_sheet_is_found() -> None:
    np.testing.assert_allclose(variance_of(3.0 * WHITE), 8.0 * STD**2, rtol=0.35)


@pytest.mark.parametrize('frequency', [0.0, 2.0, 10.0])
def test_noise_as_stated_beside_a_quick_motion_stays_as_stated(frequency: float) -> None:
    motion = 5.0 * np.sin(2.0 * np.pi * frequency * TIME)[:, None]
    assert variance_of(motion + WHITE).max() < 0.3 * STD**2


def test_jitter_that_counts_already_is_not_counted_twice() -> None:
    assert variance_of(3.0 * WHITE, jitter=8.0**0.5 * STD).max() < 2.0 * STD**2


@pytest.mark.parametrize('frequency', [40.0, 110.0, 122.0])
def test_a_vibration_counts_by_less_than_its_size(frequency: float) -> None:
    tone = np.sin(2.0 * np.pi * frequency * TIME)[:, None]
    assert variance_of(tone + WHITE).max() < 0.5 * (tone**2).mean()


def test_a_single_shock_does_not_decide() -> None:
    shock = WHITE.copy()
    shock[-100] += 50.0
    assert variance_of(shock).max() < 25.0 * STD**2


def test_samples_at_irregular_intervals_say_nothing_and_lost_ones_are_no_noise() -> None:
    assert not variance_of(3.0 * WHITE, missing=5).any()
    assert variance_of(3.0 * WHITE, missing=100).min() > 4.0 * STD**2


@pytest.mark.parametrize(('settings', 'is_measured'), [
    ({}, True), ({'filter': 'paper', 'integrator': 'euler'}, False), ({'adapt_noise': 'q'}, False),
])  # fmt: skip
def test_who_takes_the_noise_of_the_file(settings: dict[str, str], is_measured: bool) -> None:
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(**settings))
    assert pipeline.filter.process.data.is_measured[0] == is_measured
    pipeline.filter.process.data.is_measured[0] = 0
    pipeline.filter.process.take([1, 0], [np.ones(6), np.zeros(6)])
    set_noise(pipeline.filter.process.struct)
    assert pipeline.filter.process.data.scatter_stamps[0] == 0


@pytest.mark.parametrize(('noise', 'largest'), [(1.0, 7e-6), (3.0, 10e-6), (10.0, 16e-6)])
def test_estimates_with_a_noisy_imu_are_as_good_as_claimed(noise: float, largest: float) -> None:
    """Nothing is configured; no cause is named where there is none."""
    noisy = replace(SRS, imu=replace(
        SRS.imu, accelerometer_noise=noise * SRS.imu.accelerometer_noise,
        gyroscope_noise=noise * SRS.imu.gyroscope_noise,
    ))  # fmt: skip
    time = np.arange(6000) / 500.0
    data = simulate_sensors(noisy, lambda at: swinging(SRS, 0.5, PHASES, at), time, SensorConditions(), 1)
    k = np.arange(len(time))
    data = replace(data, imu_received=k % 2 == 0, legs_received=k % 5 == 0)
    result = estimate(SRS, data, EstimatorConfig(baseline=False))
    late = result.motion.stamps > data.stamps[0] + 2_000_000_000
    motion = replace(result.motion, **{name: values[late] for name, values in vars(result.motion).items()})
    errors = pose_errors(motion, swinging(SRS, 0.5, PHASES, (motion.stamps - data.stamps[0]) * 1e-9))
    assert float(np.sqrt((errors[:, :3] ** 2).sum(axis=1).mean())) < largest
    assert 4.0 < squares(errors, motion.pose_covariance).mean() < 9.0
    assert {event.name for event in result.health.events} == {'started'}
