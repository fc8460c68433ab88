"""``imu_noise: messages``: the noise of the IMU is what its messages state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pkm_description.arrays import Array
from pkm_description.driver import ImuConversion
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_estimation.bags import BagWriter, Imu, JointStates, RecordedData, read_bag
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline

#: the IMU is turned in the platform: axes that are exchanged show
PALIDA = load_machine('palida')
#: of each axis, other than the machine file's
FORCE, RATE = np.array([0.02, 0.05, 0.11]), np.array([1e-3, 3e-3, 7e-3])
NOISY = replace(PALIDA, imu=replace(PALIDA.imu, accelerometer_noise=FORCE, gyroscope_noise=RATE))
DATA = measure(NOISY, profile('mp1', NOISY, 4.0), seed=4)
FROM_MESSAGES = EstimatorConfig(baseline=False, imu_noise='messages')


def stated(force: Array = FORCE, rate: Array = RATE) -> Array:
    return np.concatenate([np.diag(force**2).ravel(), np.diag(rate**2).ravel()])


def recorded(covariances: Array) -> RecordedData:
    count, names = len(DATA.stamps), PALIDA.actuated_joint_names
    unknown = np.full(DATA.drive_positions.shape, np.nan)
    return RecordedData(
        'memory', {},
        joint_states=JointStates(DATA.stamps, DATA.stamps, names, DATA.drive_positions, unknown, unknown),
        imu_data_raw=Imu(
            DATA.stamps, DATA.stamps, 'imu_link', DATA.specific_force, DATA.angular_rate, np.full((count, 4), np.nan),
            np.broadcast_to(covariances, (count, 18)),
        ),
    )  # fmt: skip


def assert_same(one: EstimationResult, other: EstimationResult) -> None:
    np.testing.assert_array_equal(one.motion.position, other.motion.position)
    np.testing.assert_array_equal(one.motion.twist_covariance, other.motion.twist_covariance)
    np.testing.assert_array_equal(one.nis, other.nis)


def test_what_messages_state_is_as_if_the_machine_file_said_it() -> None:
    by_messages = estimate(PALIDA, recorded(stated()), FROM_MESSAGES)
    assert_same(by_messages, estimate(NOISY, recorded(stated()), EstimatorConfig(baseline=False)))
    usual = estimate(PALIDA, recorded(stated()), EstimatorConfig(baseline=False))
    assert not np.array_equal(usual.nis, by_messages.nis)
    assert 'imu_covariance_missing' not in by_messages.health.counters


def test_samples_one_by_one_give_the_bits_of_a_recording() -> None:
    pipeline, nis = EstimatorPipeline(PALIDA, FROM_MESSAGES), []
    for k, stamp in enumerate(DATA.stamps.tolist()):
        pipeline.add_imu(stamp, DATA.specific_force[k], DATA.angular_rate[k], stated())
        outputs = pipeline.add_joint_positions(stamp, PALIDA.actuated_joint_names, DATA.drive_positions[k])
        nis += [np.nan if output.innovation is None else output.innovation.nis for output in outputs]
    np.testing.assert_array_equal(nis, estimate(PALIDA, recorded(stated()), FROM_MESSAGES).nis)


@pytest.mark.parametrize(
    'force',
    [
        np.zeros(9), np.array([-1.0] + 8 * [0.0]), np.array([1.0, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        np.full(9, np.nan),
    ],
    ids=['zeros', 'minus one', 'not symmetric', 'not finite'],
)  # fmt: skip
def test_what_is_not_stated_is_from_the_machine_file(force: Array) -> None:
    numbers = np.concatenate([force, stated()[9:]])
    result = estimate(PALIDA, recorded(numbers), FROM_MESSAGES)
    half = replace(PALIDA, imu=replace(PALIDA.imu, gyroscope_noise=RATE))
    assert_same(result, estimate(half, recorded(numbers), EstimatorConfig(baseline=False)))
    (event,) = [event for event in result.health.events if event.name == 'imu_covariance_missing']
    assert 'no linear_acceleration_covariance' in event.detail
    assert 'angular_velocity_covariance' not in event.detail


def test_covariances_that_change_are_told_and_change_nothing() -> None:
    changing = np.broadcast_to(stated(), (len(DATA.stamps), 18)).copy()
    changing[200:230] *= 4.0
    result = estimate(PALIDA, recorded(changing), FROM_MESSAGES)
    assert result.health.counters['imu_covariance_changed'] == 30
    assert_same(result, estimate(PALIDA, recorded(stated()), FROM_MESSAGES))


def test_covariances_are_read_from_a_bag(tmp_path: Path) -> None:
    stamps, zero = np.arange(1, 4) * 10**9, np.zeros((3, 3))
    for name, numbers in (('same', np.tile(stated(), (3, 1))), ('others', np.arange(54.0).reshape(3, 18))):
        with BagWriter(tmp_path / name) as writer:
            writer.write_imu(stamps, zero, zero, covariances=numbers)
        recording = read_bag(tmp_path / name)
        assert recording.imu_data_raw is not None
        np.testing.assert_array_equal(recording.imu_data_raw.covariances, numbers)


def test_units_of_the_driver_are_converted() -> None:
    g = 9.80665
    frame, driver = ImuFrame(NOISY.imu), ImuFrame(PALIDA.imu, ImuConversion(acceleration_scale=g))
    covariance = np.diag(np.concatenate([(FORCE / g) ** 2, RATE**2]))
    driver.take_stated(covariance)
    np.testing.assert_allclose(driver.noise_covariance, frame.noise_covariance, rtol=1e-12)


def test_samples_of_a_driver_in_other_units_become_si_units_in_platform_axes() -> None:
    """One g along the IMU's z, and a turn of 90 degrees per second about its x."""
    frame = ImuFrame(PALIDA.imu, ImuConversion(acceleration_scale=9.80665, rate_scale=np.pi / 180.0))
    axes = PALIDA.imu.rotation_platform_imu
    expected = np.concatenate([9.80665 * axes[:, 2], 0.5 * np.pi * axes[:, 0]])
    sample = np.array([0.0, 0.0, 1.0, 90.0, 0.0, 0.0])
    assert frame.to_platform(sample) == pytest.approx(expected)
    assert frame.to_platform(np.tile(sample, (2, 1))) == pytest.approx(np.tile(expected, (2, 1)))


def test_correlated_axes_are_turned_with_the_sensor() -> None:
    """The covariance of samples that were drawn with it, in platform axes."""
    root = np.array([[0.1, 0.0, 0.0], [0.06, 0.05, 0.0], [0.0, -0.02, 0.03]])
    frame, samples = ImuFrame(PALIDA.imu), np.random.default_rng(0).normal(size=(200_000, 3)) @ root.T
    covariance = np.full((6, 6), np.nan)
    covariance[:3, :3] = root @ root.T
    frame.take_stated(covariance)
    turned = frame.to_platform(np.hstack([samples, np.zeros_like(samples)]))[:, :3]
    np.testing.assert_allclose(np.cov(turned.T), frame.noise_covariance[:3, :3], atol=1e-4)
