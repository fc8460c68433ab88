"""Measurements whose numbers have errors in common: every filter against the equations of the textbook."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from pkm_estimation.filters import (
    ExtendedKalmanFilter,
    FunctionModel,
    FunctionStep,
    Reading,
    ScaledUnscentedTransform,
    UnscentedKalmanFilter,
)
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from test_pipeline import DATA, MOTION, SRS, feed, imu_message, leg_message

#: far from symmetric under a change of order: a root that is transposed gives other numbers
NOISE = np.array([[0.5, -0.6, 0.05], [-0.6, 1.0, 0.1], [0.05, 0.1, 0.3]])
RANDOM = np.random.default_rng(3)
ROOT = RANDOM.normal(size=(4, 4))
PRIOR, STATE, SLOPE = ROOT @ ROOT.T, RANDOM.normal(size=4), RANDOM.normal(size=(3, 4))
MEASURED = RANDOM.normal(size=3)


def unscented(alpha=0.7):
    return UnscentedKalmanFilter(ScaledUnscentedTransform(4, alpha=alpha), STATE, PRIOR)


def iterated():
    transform = ScaledUnscentedTransform(4, alpha=0.7)
    return UnscentedKalmanFilter(transform, STATE, PRIOR, iteration_nis=0.0, longest_step=np.full(4, 100.0))


def bent(x):
    """Something curved (N, 3) of states (N, 4)."""
    return np.stack([np.sin(x[:, 0]) + x[:, 1], x[:, 1] * x[:, 2], x[:, 3] ** 2 - x[:, 0]], axis=1)


@pytest.mark.parametrize('used', [None, np.array([0, 1]), np.array([1, 2])])
@pytest.mark.parametrize(
    'make',
    [unscented, iterated, lambda: ExtendedKalmanFilter(STATE, PRIOR), lambda: ExtendedKalmanFilter(STATE, PRIOR, 5)],
)
def test_linear_measurement_with_errors_in_common(make, used):
    filter_ = make()
    rows = np.arange(3) if used is None else used
    slope, noise = SLOPE[rows], NOISE[np.ix_(rows, rows)]
    spread = slope @ PRIOR @ slope.T + noise
    residual = (MEASURED - SLOPE @ STATE)[rows]
    gain = PRIOR @ slope.T @ np.linalg.inv(spread)
    innovation = filter_.update_iterated(Reading(FunctionModel(lambda x: x @ SLOPE.T), MEASURED, NOISE, used))
    assert filter_.covariance == pytest.approx(PRIOR - gain @ spread @ gain.T, abs=1e-6)
    assert filter_.state == pytest.approx(STATE + gain @ residual, abs=1e-6)
    assert filter_.covariance == pytest.approx(filter_.covariance.T, abs=1e-14)
    assert innovation.residual[rows] == pytest.approx(residual, abs=1e-6)
    assert np.isnan(np.delete(innovation.residual, rows)).all()
    assert innovation.variance[rows] == pytest.approx(np.diag(spread), rel=1e-6)
    assert innovation.nis == pytest.approx(residual @ np.linalg.solve(spread, residual), rel=1e-6)


@pytest.mark.parametrize('used', [None, np.array([0, 2])])
def test_curved_measurement_with_errors_in_common(used):
    """The sums of the textbook with the printed weights, over the points that are drawn."""
    filter_, transform = unscented(), ScaledUnscentedTransform(4, alpha=0.7)
    rows = np.arange(3) if used is None else used
    points = filter_.draw_points().copy()
    observed, others = bent(points)[:, rows], np.full(8, transform.weight)
    mean = np.r_[transform.centre_mean_weight, others] @ observed
    weights = np.r_[transform.centre_covariance_weight, others]
    spread = (observed - mean).T * weights @ (observed - mean) + NOISE[np.ix_(rows, rows)]
    cross = (points - STATE).T * weights @ (observed - mean)
    gain, residual = cross @ np.linalg.inv(spread), MEASURED[rows] - mean
    seen, covariance = filter_.predicted_innovation(Reading(FunctionModel(bent), MEASURED, NOISE))
    innovation = filter_.update(Reading(FunctionModel(bent), MEASURED, NOISE, used))
    assert seen[rows] == pytest.approx(residual, abs=1e-9)
    assert covariance[np.ix_(rows, rows)] == pytest.approx(spread, abs=1e-9)
    assert innovation.residual[rows] == pytest.approx(residual, abs=1e-9)
    assert innovation.nis == pytest.approx(residual @ np.linalg.solve(spread, residual))
    assert filter_.state == pytest.approx(STATE + gain @ residual, abs=1e-9)
    assert filter_.covariance == pytest.approx(PRIOR - gain @ spread @ gain.T, abs=1e-9)


@pytest.mark.parametrize('part', [0.999, 1.001])
def test_limit_of_the_innovation_decides_alone(part):
    model = FunctionModel(lambda x: x @ SLOPE.T)
    nis = unscented().update(Reading(model, MEASURED, NOISE)).nis
    filter_ = unscented()
    assert filter_.update(Reading(model, MEASURED, NOISE), part * nis).nis == pytest.approx(nis)
    assert np.array_equal(filter_.state, STATE) == np.array_equal(filter_.covariance, PRIOR) == (part < 1.0)
    assert unscented().update(Reading(model, MEASURED, NOISE), inf).nis == pytest.approx(nis)


def test_noise_of_a_process_with_errors_in_common():
    root = np.array([[0.5, 0.0], [-0.3, 0.8], [0.0, 0.2], [0.7, -0.1]])
    motion = RANDOM.normal(size=(4, 4))
    for filter_ in (unscented(), ExtendedKalmanFilter(STATE, PRIOR)):
        filter_.predict(FunctionStep(lambda x: x @ motion.T, root))
        assert filter_.state == pytest.approx(motion @ STATE, abs=1e-6)
        assert filter_.covariance == pytest.approx(motion @ PRIOR @ motion.T + root @ root.T, abs=1e-6)


def test_users_measurement_with_errors_in_common():
    """A position whose axes err together: state and covariance are those of the two sources, weighted."""
    pipeline, last = EstimatorPipeline(SRS, EstimatorConfig(baseline=False, claim='repeatability')), 60
    feed(pipeline, [message(k) for k in range(last + 1) for message in (imu_message, leg_message)])
    imu = np.concatenate([DATA.specific_force[last], DATA.angular_rate[last]])
    before = pipeline.filter.point_motion(imu)
    prior = before.pose_covariance[:3, :3]
    scale = np.sqrt(np.diag(prior))
    noise = scale[:, None] * NOISE * scale
    wrong = np.array([2.0, -1.0, 1.5]) * scale
    pipeline.add_measurement(
        int(DATA.stamps[last]), lambda points: points.position().T, before.position + wrong, noise, 'tracker'
    )
    after = pipeline.filter.point_motion(imu)
    expected = np.linalg.inv(np.linalg.inv(prior) + np.linalg.inv(noise))
    assert pipeline.health.counters['tracker_accepted'] == 1
    assert after.pose_covariance[:3, :3] / np.outer(scale, scale) == pytest.approx(
        expected / np.outer(scale, scale), abs=1e-4
    )
    moved = expected @ np.linalg.solve(noise, wrong)
    assert (after.position - before.position) / scale == pytest.approx(moved / scale, abs=1e-3)
    assert np.abs(after.position - MOTION.position[last]).max() < 1e-4
