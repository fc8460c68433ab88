"""The conventional estimator: differentiator, Gauss-Newton iteration, velocity (Miletovic et al. 2017, section 2)."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1
from pkm_estimation.baseline import ButterworthDifferentiator, KinematicEstimator
from pkm_estimation.sensors import imu_truth, measure
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

SRS = load_machine('srs')


def test_differentiator_lag_and_corner():
    """Low-frequency lag sqrt(2) tau; -3 dB of the low-pass at 1/tau (S3-10), with intervals that vary."""
    random = np.random.default_rng(3)
    times = np.cumsum(random.uniform(0.0005, 0.0015, size=20000))
    for omega, gain, lag in ((0.5, 1.0, 2**0.5 * 0.04), (25.0, 2**-0.5, np.pi / 2 / 25.0)):
        differentiate = ButterworthDifferentiator()
        rates = np.array(
            [differentiate(np.sin(omega * t), dt) for t, dt in zip(times, np.diff(times, prepend=0.0), strict=True)]
        )
        expected = gain * omega * np.cos(omega * (times - lag))
        assert rates[5000:] == pytest.approx(expected[5000:], abs=2e-3 * omega)


def test_pose_covariance_is_the_map_of_the_length_noise():
    """Static 1 sigma pose error from the length noise: 13.9, 14.7, 5.0 um and 4.2, 5.2, 6.3 urad."""
    covariance = np.diag(SRS.leg_sensors.position_noise**2)
    home = SRS.home
    lengths = np.linalg.norm(
        home.position + SRS.platform_points @ home.rotation_base_platform.T - SRS.base_points, axis=1
    )
    estimate = KinematicEstimator(SRS, covariance).estimate(lengths - SRS.lengths_at_zero, 0.01)
    std = np.sqrt(np.diag(estimate.pose_covariance)) * 1e6
    assert std == pytest.approx([13.9, 14.7, 5.0, 4.2, 5.2, 6.3], abs=0.06)


def test_velocities_lag_as_printed_and_agree_with_each_other():
    motion = mp1(SRS, duration=40.0)[slice(1200, 2200)]
    data = measure(SRS, motion, seed=1)
    estimator = KinematicEstimator(SRS, np.eye(6))
    estimates = [estimator.estimate(positions, 0.01) for positions in data.drive_positions]
    rotation = motion.rotation_base_platform
    true = np.squeeze(motion.linear_velocity[:, None] @ rotation)
    velocity = np.array([e.velocity for e in estimates])
    rms = np.sqrt(np.mean((velocity - true)[100:] ** 2, axis=0)) * 1e3
    assert rms == pytest.approx([31.6, 31.6, 2.2], rel=0.1)
    through_jacobian = np.array([e.jacobian_velocity for e in estimates])
    assert np.sqrt(np.mean((velocity - through_jacobian)[100:] ** 2)) < 0.3 * rms.max() * 1e-3
    omega = np.squeeze(motion.angular_velocity[:, None] @ rotation)
    angular = np.array([e.angular_velocity for e in estimates])
    assert np.sqrt(np.mean((angular - omega)[100:] ** 2)) < 0.03  # 0.175 rad/s amplitude, lagging 57 ms at 0.4 Hz


def test_imu_truth_is_the_derivative_of_the_imu_points_motion():
    """S3-43: analytic signals against finite differences, general lever arm and mounting."""
    rate = 2000.0
    motion = mp1(SRS, duration=30.0, rate=rate)[slice(25000, 25400)]
    arm, mounting = np.array([-0.3, 0.2, 0.4]), Rotation.from_euler('xyz', [0.3, -0.2, 0.5]).as_matrix()
    force, omega = imu_truth(motion, SRS.gravity, arm, mounting)
    place = motion.position + motion.rotation_base_platform @ arm
    acceleration = (place[2:] - 2 * place[1:-1] + place[:-2]) * rate**2
    rotation_base_imu = (motion.rotation_base_platform @ mounting)[1:-1]
    expected = np.squeeze((acceleration - SRS.gravity)[:, None] @ rotation_base_imu)
    assert force[1:-1] == pytest.approx(expected, abs=1e-6)
    turn = Rotation.from_matrix(motion.rotation_base_platform @ mounting)
    increments = (turn[:-2].inv() * turn[2:]).as_rotvec() * rate / 2
    assert omega[1:-1] == pytest.approx(increments, abs=1e-6)


@pytest.mark.parametrize(
    ('interval', 'tau', 'damping'), [(0.001, 0.01, 2**0.5), (0.01, 0.01, 2**0.5), (0.01, 0.04, 2.0)]
)
def test_noise_gain_is_the_energy_of_the_impulse_response(interval, tau, damping):
    differentiator = ButterworthDifferentiator(tau, damping)
    impulse = np.zeros(4000)
    impulse[0] = 1.0
    response = lfilter(*differentiator.coefficients(1.0 / interval), impulse)
    assert differentiator.noise_gain(interval) == pytest.approx(np.sum(response**2), rel=1e-9)


def test_baseline_at_another_point_of_the_platform():
    """Position and velocity of the point as the motion itself has them; covariance as propagated by differences."""
    motion = mp1(SRS, duration=30.0)[slice(1200, 1400)]
    data = measure(SRS, motion, seed=None)
    estimator, point = KinematicEstimator(SRS, 1e-10 * np.eye(6)), np.array([0.4, -0.2, 1.1])
    origin = [estimator.estimate(positions, 0.01) for positions in data.drive_positions][-1]
    moved = origin.at_point(point)
    rotation = motion.rotation_base_platform[-1]
    assert moved.position == pytest.approx(motion.position[-1] + rotation @ point, abs=1e-8)
    # both velocities come from the origin's and the angular velocity; the rigid body says how
    turning = rotation.T @ np.cross(rotation @ origin.angular_velocity, rotation @ point)
    assert moved.velocity - origin.velocity == pytest.approx(turning, abs=1e-12)
    draws = np.random.default_rng(0).multivariate_normal(np.zeros(6), origin.pose_covariance, size=20000)
    turned = Rotation.from_rotvec(draws[:, 3:]).apply(rotation @ point) - rotation @ point
    assert moved.pose_covariance[:3, :3] == pytest.approx(np.cov((draws[:, :3] + turned).T), rel=0.1, abs=1e-11)
