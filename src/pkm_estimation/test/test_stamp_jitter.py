"""Stamps that scatter: their size is found, no leg is blamed, and the claimed errors hold."""

from __future__ import annotations

from dataclasses import replace

import estimated
import numpy as np
import pytest
from estimated import follow
from pkm_description.arrays import Array
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion
from pkm_estimation.kernels.carried import (
    CLEAR,
    COUNT,
    NUMBERS,
    SETTING,
    SQUARE,
    USUAL_JITTER,
    VARIANCE,
    jitter_variance,
    observe_stamp,
)
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.offline.result import collect
from pkm_estimation.sensors import SensorConditions, SimulatedData, simulate_sensors
from pkm_estimation.stream import EstimatorConfig, EstimatorOutput, EstimatorPipeline
from test_stretches import assert_same

SRS = load_machine('srs')
CONFIG = EstimatorConfig(baseline=False)


def swinging(frequency: float, phase: float, time: Array) -> PlatformMotion:
    return estimated.swinging(SRS, frequency, phase + np.arange(6.0), time)


def measured(frequency: float, rate: float, duration: float, seed: int) -> SimulatedData:
    time = np.arange(round(duration * rate)) / rate
    return simulate_sensors(SRS, lambda at: swinging(frequency, seed, at), time, SensorConditions(), seed)


def run(data: SimulatedData, imu: float, legs: float, seed: int) -> tuple[EstimatorPipeline, list[EstimatorOutput]]:
    """Estimate with stamps of both topics that are wrong by so much [s], each by itself."""
    random, pipeline, outputs = np.random.default_rng([seed, 9]), EstimatorPipeline(SRS, CONFIG), []
    errors = 1e9 * random.normal(size=(2, len(data.stamps))) * np.array([[imu], [legs]])
    stamps = data.stamps + np.rint(errors).astype(np.int64)
    for k in range(len(data.stamps)):
        outputs += pipeline.add_imu(int(stamps[0, k]), data.specific_force[k], data.angular_rate[k])
        outputs += pipeline.add_joint_positions(
            int(stamps[1, k]), SRS.actuated_joint_names, data.drive_positions[k]
        )
    return pipeline, outputs


@pytest.mark.parametrize('jitter', [0.0, 3e-5, 2e-4])
def test_size_of_the_jitter_by_the_stamps(jitter: float) -> None:
    random, scatter, last = np.random.default_rng(1), np.zeros(NUMBERS), np.zeros(3, dtype=np.int64)
    scatter[SETTING] = -1.0
    kept = random.random(3000) > 0.02  # lost samples are no jitter
    for stamp in (np.arange(3000) * 5_000_000 + 1e9 * jitter * random.normal(size=3000)).astype(np.int64)[kept]:
        observe_stamp(scatter, last, stamp)
    assert scatter[COUNT] == 500.0
    # 500 second differences, neighbours of which have two of three stamps in common
    np.testing.assert_allclose(np.sqrt(scatter[SQUARE]), jitter, rtol=0.12, atol=1e-9)
    assert (scatter[VARIANCE] > 0.0) == (jitter > 0.0)
    before = scatter.copy()
    observe_stamp(scatter, last, int(last[0]))  # again
    np.testing.assert_array_equal(scatter, before)


@pytest.mark.parametrize(
    ('imu', 'legs'),
    [*(pytest.param(*one, marks=pytest.mark.campaign) for one in ((2e-4, 0.0), (0.0, 2e-4))), (2e-4, 2e-4)],
)
def test_claims_hold_with_jitter_and_no_leg_is_left_out(imu: float, legs: float) -> None:
    """Sines of 2 Hz at 250 Hz; without the model of jitter NEES of the position is in the hundreds."""
    squares, nis = [], []
    for seed in range(3):
        data = measured(2.0, 250.0, 10.0, seed)
        pipeline, outputs = run(data, imu, legs, seed)
        assert not any('left_out' in name or name.startswith('leg_') for name in pipeline.health.counters)
        judged = [output for output in outputs if output.stamp > data.stamps[0] + 3_000_000_000]
        time = np.array([output.stamp - data.stamps[0] for output in judged]) * 1e-9
        truth = swinging(2.0, seed, time)
        for output, position, rotation in zip(judged, truth.position, truth.rotation_base_platform, strict=True):
            state, covariance, chart = (np.squeeze(value) for value in output.known[:3])
            error = chart.T @ (chart @ state[:3] - position - rotation @ SRS.imu.position)
            squares.append(error @ np.linalg.solve(covariance[:3, :3], error))
            assert output.innovation is not None
            nis.append(output.innovation.nis)
    # three states; errors last for tenths of a second, so that there are about 50 independent ones
    assert 2.2 < np.mean(squares) < 4.5
    assert 5.4 < np.mean(nis) < 6.8


def test_first_second_is_claimed_right() -> None:
    """Stamps say little yet, and the speed is unknown: without an assumed jitter, squares are in the hundreds."""
    squares = []
    for seed in range(6):
        data = measured(2.0, 100.0, 1.0, seed)
        for output in run(data, 2e-4, 2e-4, seed)[1][1:]:
            truth = swinging(2.0, seed, np.array([1e-9 * (output.stamp - data.stamps[0])]))
            state, covariance, chart = output.filter_state[:3]
            rotation = truth.rotation_base_platform[0]
            arm = rotation @ SRS.imu.position
            velocity = rotation.T @ (truth.linear_velocity[0] + np.cross(truth.angular_velocity[0], arm))
            error = np.concatenate([state[:3] - chart.T @ (truth.position[0] + arm), state[3:6] - velocity])
            squares.append(error @ np.linalg.solve(covariance[:6, :6], error))
    assert np.mean(squares) < 9.0  # six states; errors of the start last through all of it


def test_few_stamps_that_scatter_not_at_all_are_believed() -> None:
    assert jitter_variance(0.0, 0.0) == USUAL_JITTER
    assert jitter_variance(0.0, CLEAR - 1.0) > 0.5 * USUAL_JITTER
    assert jitter_variance(0.0, CLEAR) == 0.0
    assert jitter_variance(1e-8, 500.0) == pytest.approx(1e-8, rel=0.01)
    assert 1e-8 < jitter_variance(1e-8, 5.0) < USUAL_JITTER


def test_stretches_have_the_same_bits_with_jitter() -> None:
    """Offline, jitter is tracked in the compiled loop; live, measurement by measurement."""
    data = measured(1.0, 250.0, 3.0, 0)
    random = np.random.default_rng(5)
    stamps = data.stamps + np.rint(2e5 * random.normal(size=len(data.stamps))).astype(np.int64)
    data = replace(data, stamps=stamps)
    pipeline, outputs = follow(SRS, data, CONFIG)
    assert pipeline.filter.process.data.imu_scatter[VARIANCE] > 0.0
    live = collect(outputs, pipeline.health.report())
    assert_same(live, estimate(SRS, data, CONFIG), ('estimated', 'extra_states'))


def test_a_stated_jitter_replaces_that_of_the_stamps() -> None:
    filter_ = EstimatorPipeline(SRS, replace(CONFIG, imu_stamp_jitter=1e-4, leg_stamp_jitter=0.0)).filter
    assert filter_.process.data.imu_scatter[VARIANCE] == 1e-4**2
    for stamp in (0, 10_000_000, 21_000_000, 29_000_000):
        filter_.observe_leg_stamp(stamp)
    assert filter_.process.data.leg_scatter[VARIANCE] == 0.0


def test_biases_walk_as_the_machine_file_says() -> None:
    walking = replace(
        SRS.imu, accelerometer_bias_walk=np.array([1e-4, 2e-4, 3e-4]), gyroscope_bias_walk=np.full(3, 1e-5),
        rotation_platform_imu=np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    )  # fmt: skip
    machine = replace(SRS, imu=walking)
    walk = EstimatorPipeline(machine, CONFIG).filter.walk
    np.testing.assert_allclose(walk[9:12], np.array([2e-4, 1e-4, 3e-4]) ** 2)
    np.testing.assert_allclose(walk[12:], 1e-10)
    assert not EstimatorPipeline(SRS, CONFIG).filter.walk.any()  # its file says: constant
    constant = replace(CONFIG, accelerometer_bias_walk=0.0, gyroscope_bias_walk=0.0)
    assert not EstimatorPipeline(machine, constant).filter.walk.any()


def test_rounding_of_digits_counts_as_noise_of_the_legs() -> None:
    legs = replace(SRS.leg_sensors, position_resolution=6e-5)
    covariance = EstimatorPipeline(replace(SRS, leg_sensors=legs), CONFIG).filter.length_covariance
    np.testing.assert_allclose(covariance.diagonal(), SRS.leg_sensors.position_noise**2 + 3e-10)
