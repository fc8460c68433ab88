"""An IMU that is turned far, with other noise and another bias on each axis: everything comes out in its own axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from estimated import follow
from pkm_description.driver import STANDARD_IMU
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1
from pkm_estimation.exchange.output import OutputBlock
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig
from scipy.spatial.transform import Rotation

SRS = load_machine('srs')
TURNED = Rotation.from_euler('xyz', [100.0, -35.0, 60.0], degrees=True).as_matrix()
NOISE = np.array([2e-3, 8e-3, 3e-2, 1e-4, 6e-4, 3e-3])
BIAS = np.array([0.3, -0.2, 0.1, 0.03, -0.02, 0.01])
IMU = replace(
    SRS.imu, rotation_platform_imu=TURNED, accelerometer_noise=NOISE[:3], gyroscope_noise=NOISE[3:],
    accelerometer_bias=BIAS[:3], gyroscope_bias=BIAS[3:],
)  # fmt: skip
MACHINE = replace(SRS, imu=IMU)
MOTION = mp1(MACHINE, duration=30.0, rate=100.0)[slice(1200, 1700)]
CONFIG = EstimatorConfig(baseline=False)


@pytest.fixture(scope='module')
def outputs():
    return follow(MACHINE, measure(MACHINE, MOTION, seed=1), CONFIG)[1]


def in_imu_axes(vectors):
    """Vectors (N, 3) of base axes."""
    return np.einsum('nji,nj->ni', MOTION.rotation_base_platform @ TURNED, vectors)


def test_biases_are_found_in_the_axes_of_the_imu(outputs):
    last = outputs[-1].inertial
    found = np.concatenate([last.accelerometer_bias, last.gyroscope_bias])
    assert (np.abs(found - BIAS) < 4.5 * last.bias_std).all()
    assert (last.bias_std < 0.1 * np.abs(BIAS)).all()


def test_corrected_samples_are_those_of_a_sensor_without_bias(outputs):
    """Specific force and rate, and the acceleration of the IMU's point without gravity."""
    arm = MOTION.rotation_base_platform @ IMU.position
    omega, alpha = MOTION.angular_velocity, MOTION.angular_acceleration
    acceleration = MOTION.linear_acceleration + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
    last = outputs[-200:]
    rows = [round(1e-9 * (output.stamp - outputs[0].stamp) * 100.0) for output in last]
    for name, truth, noise in (
        ('specific_force', in_imu_axes(acceleration - MACHINE.gravity), NOISE[:3]),
        ('angular_rate', in_imu_axes(omega), NOISE[3:]),
        ('linear_acceleration', in_imu_axes(acceleration), NOISE[:3]),
    ):
        error = np.array([getattr(output.inertial, name) for output in last]) - truth[rows]
        std = np.array([output.inertial.bias_std for output in last]).mean(axis=0)
        std = std[3:] if name == 'angular_rate' else std[:3]
        assert error.std(axis=0) == pytest.approx(noise, rel=0.2), name
        assert (np.abs(error.mean(axis=0)) < 5.0 * np.hypot(std, noise / np.sqrt(len(last)))).all(), name


def test_covariance_of_the_samples_is_their_noise_and_what_is_not_known_of_the_biases(outputs):
    block = OutputBlock.of(outputs[-1:])
    covariance = block.known.covariance[0][9:15, 9:15]
    both = np.kron(np.eye(2), TURNED)
    expected = both.T @ covariance @ both + CONFIG.noise_inflation * CONFIG.q_scale * np.diag(NOISE**2)
    found = outputs[-1].inertial.imu_covariance
    scale = np.outer(NOISE, NOISE)
    assert found / scale == pytest.approx(expected / scale, abs=1e-9)
    assert outputs[-1].inertial.bias_std**2 == pytest.approx(np.diag(both.T @ covariance @ both))


def test_frame_turns_there_and_back():
    frame = ImuFrame(IMU)
    sample = np.arange(1.0, 7.0)
    platform = np.concatenate([TURNED @ sample[:3], TURNED @ sample[3:]])
    assert frame.to_platform(sample) == pytest.approx(platform)
    assert frame.to_platform(np.stack([sample, 2.0 * sample])) == pytest.approx(np.stack([platform, 2.0 * platform]))
    assert frame.to_imu(platform[None])[0] == pytest.approx(sample)
    assert frame.vector_to_imu(platform[None, :3])[0] == pytest.approx(sample[:3])
    both = np.kron(np.eye(2), TURNED)
    assert frame.noise_covariance == pytest.approx(both @ np.diag(NOISE**2) @ both.T)
    assert frame.covariance_to_imu(frame.noise_covariance) == pytest.approx(np.diag(NOISE**2))


def test_units_of_the_driver_and_rounding_of_its_digits():
    steps = replace(IMU, accelerometer_resolution=np.full(3, 0.12), gyroscope_resolution=np.full(3, 0.06))
    expected = NOISE**2 + np.repeat([0.12**2, 0.06**2], 3) / 12.0
    frame = ImuFrame(steps)
    assert np.diag(frame.covariance_to_imu(frame.noise_covariance)) == pytest.approx(expected)
    assert ImuFrame(IMU, STANDARD_IMU).to_platform(np.ones(6)) == pytest.approx(ImuFrame(IMU).to_platform(np.ones(6)))
