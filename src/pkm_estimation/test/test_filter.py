"""Sigma points and the filter's algebra; what it estimates on MP1, the rows of Miletovic et al. (2017) judge."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.machine import Pose
from pkm_description.motion.profiles import mp1
from pkm_estimation.filters import (
    CovarianceError,
    FunctionStep,
    ScaledUnscentedTransform,
    UnscentedKalmanFilter,
)
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig, PlatformFilter

SRS = load_machine('srs')


def make_filter(machine=SRS, config=None):
    noise = np.diag(machine.leg_sensors.position_noise**2)
    geometry = EstimatorGeometry.from_machine(machine)
    return PlatformFilter(geometry, ImuFrame(machine.imu).noise_covariance, noise, config or EstimatorConfig())


def follow(filter_, machine, data, late=0):
    """States (N, n) of the filter after each sample but the first; the IMU's samples are ``late`` intervals old."""
    frame, states = ImuFrame(machine.imu), []
    inputs = np.array([frame.to_platform(v) for v in np.hstack([data.specific_force, data.angular_rate])])
    for k in range(1 + late, len(inputs)):
        filter_.predict(inputs[k - 1 - late], inputs[k - late], 0.01)
        filter_.update(data.drive_positions[k])
        states.append(filter_.state.copy())
    return np.array(states)


def first_pose(motion):
    return Pose(motion.position[0], motion.rotation_base_platform[0])


@pytest.mark.parametrize('value', [{'alpha': 1e-4}, {'alpha': 1.5}, {'kappa': -15.0}, {'beta': np.nan}])
def test_unusable_scaling_is_refused(value):
    with pytest.raises(ValueError, match=next(iter(value))):
        ScaledUnscentedTransform(15, **value)


@pytest.mark.parametrize('beta', [2.0, 0.0])
def test_prediction_is_the_weighted_sum_of_the_textbook(beta):
    """Covariance from deviations equals the sums with the printed weights, also for beta < alpha^2."""
    random = np.random.default_rng(0)
    root = random.normal(size=(4, 4))
    transform = ScaledUnscentedTransform(4, alpha=0.5, beta=beta)
    ukf = UnscentedKalmanFilter(transform, random.normal(size=4), root @ root.T)
    points = ukf.draw_points().copy()

    def propagate(points):
        x = points.T
        return np.array([np.sin(x[0]) + x[1], x[1] * x[2], x[2] ** 2, np.cos(x[3]) + x[0]]).T

    noise = random.normal(size=(4, 2))
    moved = propagate(points)
    mean_weights = np.r_[transform.centre_mean_weight, np.full(8, transform.weight)]
    weights = np.r_[transform.centre_covariance_weight, np.full(8, transform.weight)]
    mean = mean_weights @ moved
    expected = (moved - mean).T * weights @ (moved - mean) + noise @ noise.T
    ukf.predict(FunctionStep(propagate, noise))
    assert ukf.state == pytest.approx(mean, abs=1e-12)
    assert ukf.covariance == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize('bad', [-1e-9, np.nan])
def test_lost_covariance_is_an_error(bad):
    covariance = np.eye(3)
    covariance[2, 2] = bad
    ukf = UnscentedKalmanFilter(ScaledUnscentedTransform(3), np.zeros(3), covariance)
    with pytest.raises(CovarianceError, match='positive definite'):
        ukf.draw_points()


def test_motion_at_other_points_is_the_truth_there():
    """S3-38, and the covariances of the output against the spread of its errors over seeds."""
    motion, point = mp1(SRS, duration=30.0)[slice(1200, 1500)], np.array([1.2, -0.7, 0.9])
    rotation, omega = motion.rotation_base_platform[-1], motion.angular_velocity[-1]
    true_position = motion.position[-1] + rotation @ point
    true_velocity = rotation.T @ (motion.linear_velocity[-1] + np.cross(omega, rotation @ point))
    normalised = []
    for seed in range(12):
        data, filter_ = measure(SRS, motion, seed), make_filter()
        filter_.start_at(first_pose(motion))
        follow(filter_, SRS, data)
        estimate = filter_.point_motion(np.concatenate([data.specific_force[-1], data.angular_rate[-1]]), point)
        turn = estimate.rotation_base_platform @ rotation.T
        angle = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        pose_error = np.concatenate([estimate.position - true_position, angle])
        twist_error = np.concatenate(
            [estimate.velocity - true_velocity, estimate.angular_velocity - rotation.T @ omega]
        )
        assert np.abs(pose_error).max() < 1e-4
        normalised.append(
            [
                pose_error @ np.linalg.solve(estimate.pose_covariance, pose_error),
                twist_error @ np.linalg.solve(estimate.twist_covariance, twist_error),
            ]
        )
    # sums of 12 chi-squares with 6 degrees of freedom: 72 +- 12 (the filter's own R and Q are 10 % too large)
    assert (np.abs(np.sum(normalised, axis=0) - 68.0) < 40.0).all()
