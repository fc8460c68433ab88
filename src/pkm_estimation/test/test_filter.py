"""Sigma points, the filter's algebra, and its accuracy on exact truth (Miletovic et al. 2017, section 4.5)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import paper_hexapod as paper
import pytest
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1, profile
from pkm_estimation.filters import (
    CovarianceError,
    FunctionModel,
    FunctionStep,
    ScaledUnscentedTransform,
    UnscentedKalmanFilter,
)
from pkm_estimation.models import STATE_SIZE, EstimatorGeometry, LegLengthModel
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig, PlatformFilter

SRS = load_machine('srs')
MECHANISM = SRS
#: the printed filter
PAPER = EstimatorConfig(filter='paper', noise_inflation=1.1)


def make_filter(machine=SRS, config=None):
    noise = np.diag(machine.leg_sensors.position_noise**2)
    geometry = EstimatorGeometry.from_machine(machine)
    return PlatformFilter(geometry, ImuFrame(machine.imu).noise_covariance, noise, config or EstimatorConfig())


def platform_inputs(machine, data):
    frame = ImuFrame(machine.imu)
    return np.array([frame.to_platform(v) for v in np.hstack([data.specific_force, data.angular_rate])])


def run(machine, motion, seed, config=None, start=None):
    """Filter a motion's simulated sensors; returns errors of state and innovation statistics by sample."""
    data = measure(machine, motion, seed)
    inputs = platform_inputs(machine, data)
    filter_ = make_filter(machine, config)
    (start or (lambda f: f.start_at(f_pose(motion))))(filter_)
    interval = motion.time[1] - motion.time[0]
    states, innovations = [], []
    for k in range(len(motion)):
        if k:
            filter_.predict(inputs[k - 1], inputs[k], interval)
        innovations.append(filter_.update(data.drive_positions[k]))
        states.append(filter_.state.copy())
    return np.array(states) - true_states(machine, motion), innovations, filter_


def f_pose(motion):
    from pkm_description.machine import Pose

    return Pose(motion.position[0], motion.rotation_base_platform[0])


def true_states(machine, motion):
    rotation = motion.rotation_base_platform
    arm = rotation @ machine.imu.position
    velocity = motion.linear_velocity + np.cross(motion.angular_velocity, arm)
    frame = ImuFrame(machine.imu)
    bias = frame.to_platform(np.concatenate([machine.imu.accelerometer_bias, machine.imu.gyroscope_bias]))
    return np.hstack(
        [
            motion.position + arm,
            np.squeeze(velocity[:, None] @ rotation),
            quaternion_from_matrix(rotation)[:, :3],
            np.tile(bias, (len(motion), 1)),
        ]
    )


@pytest.mark.parametrize(
    ('size', 'spread', 'weight'), [(15, 0.387298, 3.333333), (21, 0.458258, 2.380952), (27, 0.519615, 1.851852)]
)
def test_weights_are_the_printed_ones(size, spread, weight):
    transform = ScaledUnscentedTransform(size)
    assert np.sqrt(transform.spread) == pytest.approx(spread, abs=1e-6)
    assert transform.weight == pytest.approx(weight, abs=1e-6)
    assert (transform.centre_mean_weight, transform.centre_covariance_weight) == pytest.approx((-99.0, -96.01))


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


def test_linear_update_is_the_kalman_filter():
    random = np.random.default_rng(1)
    root, h = random.normal(size=(5, 5)), random.normal(size=(3, 5))
    covariance, noise = root @ root.T, np.diag([0.1, 0.2, 0.3])
    state, measured = random.normal(size=5), random.normal(size=3)
    for used in (None, np.array([0, 2])):
        ukf = UnscentedKalmanFilter(ScaledUnscentedTransform(5), state, covariance)
        innovation = ukf.update(FunctionModel(lambda x: x @ h.T), measured, noise, used)
        rows = np.arange(3) if used is None else used
        s = h[rows] @ covariance @ h[rows].T + noise[np.ix_(rows, rows)]
        gain = covariance @ h[rows].T @ np.linalg.inv(s)
        residual = measured[rows] - h[rows] @ state
        assert ukf.state == pytest.approx(state + gain @ residual, abs=1e-9)
        assert ukf.covariance == pytest.approx(covariance - gain @ s @ gain.T, abs=1e-9)
        assert np.array_equal(ukf.covariance, ukf.covariance.T)
        assert innovation.residual[rows] == pytest.approx(residual)
        assert innovation.std[rows] == pytest.approx(np.sqrt(np.diag(s)))
        assert innovation.nis == pytest.approx(residual @ np.linalg.solve(s, residual))
    assert np.isnan(innovation.residual[1])


@pytest.mark.parametrize('bad', [-1e-9, np.nan])
def test_lost_covariance_is_an_error(bad):
    covariance = np.eye(3)
    covariance[2, 2] = bad
    ukf = UnscentedKalmanFilter(ScaledUnscentedTransform(3), np.zeros(3), covariance)
    with pytest.raises(CovarianceError, match='positive definite'):
        ukf.draw_points()


def test_machine_file_gives_the_papers_lengths():
    """The check state through the machine file: SRS is the paper's hexapod turned over."""
    geometry = EstimatorGeometry.from_machine(SRS)
    state = paper.turn_over(paper.STATE)
    at_centroid = LegLengthModel(geometry.base_points, geometry.platform_points)
    from_imu = LegLengthModel(geometry.base_points, geometry.platform_points_from_imu)
    printed = [paper.LENGTHS, paper.LENGTHS_FROM_IMU]
    for model, expected in zip((at_centroid, from_imu), printed, strict=True):
        assert model.observe(state[None])[0] == pytest.approx(expected, abs=1e-9)
    assert make_filter().process.rate(state, paper.turn_over(paper.IMU)) == pytest.approx(
        paper.turn_over(paper.RATE), abs=1e-9
    )


@pytest.fixture(scope='module')
def mp1_runs():
    motion = mp1(SRS, duration=60.0)
    return [run(SRS, motion, seed, PAPER) for seed in (1, 2, 3)]


def test_mp1_accuracy_on_exact_truth(mp1_runs):
    """Heun on exact truth, after 20 s: the figures of 4.6 with room for three seeds (S3-19 to S3-24)."""
    errors = np.concatenate([errors[2000:] for errors, _, _ in mp1_runs])
    rms = np.sqrt(np.mean(errors**2, axis=0))
    assert (rms[0:3] < 6e-6).all()
    assert (rms[3:6] < 6e-5).all()
    assert (rms[6:9] < 2e-6).all()
    assert (rms[9:12] < 5e-5).all()
    assert (rms[12:15] < 1e-5).all()
    assert all(f.outside_unit_sphere == 0 for _, _, f in mp1_runs)


def test_mp1_innovations_are_consistent_and_white(mp1_runs):
    innovations = [innovation for _, run_, _ in mp1_runs for innovation in run_[2000:]]
    assert 5.2 < np.mean([i.nis for i in innovations]) < 5.7
    ratio = np.array([i.residual / i.std for i in innovations])
    in_band = np.mean(np.abs(ratio) <= 2.0, axis=0)
    assert ((in_band > 0.94) & (in_band < 0.98)).all()
    assert (np.abs(ratio.mean(axis=0)) < 0.05).all()
    assert (np.abs(np.mean(ratio[1:] * ratio[:-1], axis=0)) < 0.05).all()
    assert max(i.nis for _, run_, _ in mp1_runs for i in run_[:10]) < 40.0  # from the first sample on
    # S3-16: Q is the covariance of one sample
    assert innovations[-1].std[0] == pytest.approx(13.0e-6, rel=0.03)


def test_covariance_describes_the_errors(mp1_runs):
    for errors, _, filter_ in mp1_runs:
        normalised = errors[-1] @ np.linalg.solve(filter_.covariance, errors[-1])
        assert normalised < 45.0  # chi-square with 15 degrees of freedom, 1 in 10 000


def test_euler_needs_a_truth_of_its_own(mp1_runs):
    """Printed discretisation on exact truth: much worse in velocity, far out of band."""
    errors, innovations, _ = run(SRS, mp1(SRS, duration=30.0), 1, EstimatorConfig(integrator='euler'))
    assert np.sqrt(np.mean(errors[1500:, 3:6] ** 2)) > 1e-3
    assert np.mean([i.nis for i in innovations[1500:]]) > 50.0


def test_printed_start_converges():
    """S3-32 with the IMU at the centroid, as in the paper's simulation."""
    machine = replace(SRS, imu=replace(SRS.imu, position=np.zeros(3)))
    errors, _, filter_ = run(
        machine, mp1(machine, duration=30.0)[slice(0, 500)], 5, PAPER, start=PlatformFilter.start_as_printed
    )
    assert np.abs(errors[10:, 0:3]).max() < 1e-3
    assert np.abs(errors[50:, 3:6]).max() < 1e-2
    assert np.abs(errors[100:, 9:12]).max() < 1e-2
    assert filter_.state[2] > 0.0


@pytest.mark.parametrize('seed', range(4))
def test_start_from_forward_kinematics_converges_with_unknown_velocity(seed):
    """S3-33: velocity and biases off by one standard deviation (the motion is entered at full speed)."""
    errors, innovations, _ = run(SRS, mp1(SRS, duration=40.0)[slice(1200 + 37 * seed, 1700 + 37 * seed)], seed)
    assert np.abs(errors[-1, 0:3]).max() < 1e-4
    assert np.abs(errors[-1, 9:12]).max() < 1e-3
    assert max(i.nis for i in innovations) < 60.0


def test_standstill_is_observable():
    """S3-31: rank 15 after three samples, biases found without motion."""
    filter_ = make_filter()
    filter_.start_at(SRS.home)
    interval, step, rows = 0.01, 1e-6, []
    state = filter_.state.copy()
    imu = np.concatenate([-SRS.gravity, np.zeros(3)])

    def lengths_after(samples):
        columns = []
        for direction in np.eye(STATE_SIZE):
            pair = np.stack([state + step * direction, state - step * direction])
            for _ in range(samples):
                pair = filter_.process.propagate(pair, imu, imu, interval)
            lengths = filter_.legs.observe(pair)
            columns.append((lengths[0] - lengths[1]) / (2 * step))
        return np.array(columns).T

    ranks = []
    for samples in range(3):
        rows.append(lengths_after(samples))
        values = np.linalg.svd(np.vstack(rows), compute_uv=False)
        ranks.append(int(np.sum(values > 1e-6)))
    assert ranks == [6, 12, 15]
    errors, _, _ = run(SRS, profile('hold', SRS, 30.0), 2)
    assert np.abs(errors[-1, 9:12]).max() < 1e-4
    assert np.abs(errors[-1, 12:15]).max() < 3e-5


def test_wrong_lever_arm_shows_in_the_innovations():
    """S3-39: the arm left out, next to nothing is in band."""
    motion = mp1(SRS, duration=30.0)
    data = measure(MECHANISM, motion, 1)
    wrong = replace(SRS, imu=replace(SRS.imu, position=np.zeros(3)))
    filter_, inputs = make_filter(wrong), platform_inputs(SRS, data)
    filter_.start_at(f_pose(motion))
    ratios = []
    for k in range(1, len(motion)):
        filter_.predict(inputs[k - 1], inputs[k], 0.01)
        innovation = filter_.update(data.drive_positions[k])
        ratios.append(innovation.residual / innovation.std)
    assert np.mean(np.abs(ratios[1500:2000]) <= 2.0) <= 0.10


def test_mounting_rotation_is_taken_into_account():
    """S3-40: an IMU turned by a lot is as good as an aligned one."""
    from scipy.spatial.transform import Rotation

    turned = Rotation.from_euler('xyz', [100.0, -35.0, 60.0], degrees=True).as_matrix()
    machine = replace(SRS, imu=replace(SRS.imu, rotation_platform_imu=turned))
    errors, innovations, _ = run(machine, mp1(machine, duration=30.0), 1)
    assert np.sqrt(np.mean(errors[1500:, 3:6] ** 2)) < 6e-5
    assert 5.5 < np.mean([i.nis for i in innovations[1500:]]) < 6.4


def test_motion_at_other_points_is_the_truth_there():
    """S3-38, and the covariances of the output against the spread of its errors over seeds."""
    motion, point = mp1(SRS, duration=30.0)[slice(1200, 1500)], np.array([1.2, -0.7, 0.9])
    rotation, omega = motion.rotation_base_platform[-1], motion.angular_velocity[-1]
    true_position = motion.position[-1] + rotation @ point
    true_velocity = rotation.T @ (motion.linear_velocity[-1] + np.cross(omega, rotation @ point))
    normalised = []
    for seed in range(12):
        data = measure(MECHANISM, motion, seed)
        inputs = platform_inputs(SRS, data)
        _, _, filter_ = run(SRS, motion, seed)
        estimate = filter_.point_motion(inputs[-1], point)
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


def test_augmented_form_gives_the_same_errors():
    """S3-27: process noise through sigma points of the input (21 dimensions) instead of dt^2 G Q G^T, as printed."""
    motion = profile('hold', SRS, 12.0, 100.0)  # at rest: Euler's rule has no error of its own
    data = measure(MECHANISM, motion, 3)
    inputs = platform_inputs(SRS, data)
    printed = replace(PAPER, integrator='euler')  # a sample's noise acts in one step
    additive, augmented = make_filter(config=printed), make_filter(config=printed)
    transform = ScaledUnscentedTransform(STATE_SIZE + 6)
    mean_weights = np.r_[transform.centre_mean_weight, np.full(42, transform.weight)]
    weights = np.r_[transform.centre_covariance_weight, np.full(42, transform.weight)]
    additive.start_at(f_pose(motion))
    augmented.start_at(f_pose(motion))
    truth, errors, differences = true_states(SRS, motion), [], []
    for k in range(1, len(motion)):
        additive.predict(inputs[k - 1], inputs[k], 0.01)
        additive.update(data.drive_positions[k])
        joint = np.zeros((21, 21))
        joint[:15, :15], joint[15:, 15:] = augmented.covariance, augmented.imu_covariance
        spread = np.sqrt(transform.spread) * np.linalg.cholesky(joint)
        centre = np.concatenate([augmented.state, np.zeros(6)])
        points = centre + np.vstack([np.zeros(21), spread.T, -spread.T])
        moved = np.array(
            [
                augmented.process.propagate(p[None, :15].copy(), inputs[k - 1] + p[15:], inputs[k] + p[15:], 0.01)[0]
                for p in points
            ]
        )
        mean = moved[0] + mean_weights @ (moved - moved[0])
        augmented.ukf.state = mean
        augmented.ukf.covariance = (moved - mean).T * weights @ (moved - mean)
        augmented.update(data.drive_positions[k])
        errors.append([additive.state - truth[k], augmented.state - truth[k]])
        differences.append((additive.state - augmented.state) / np.sqrt(additive.covariance.diagonal()))
    rms = np.sqrt(np.mean(np.array(errors[300:]) ** 2, axis=0))
    assert rms[0] == pytest.approx(rms[1], rel=0.01)
    assert np.abs(differences[300:]).max() < 0.05
