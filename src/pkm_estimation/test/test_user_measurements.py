"""Measurements of users' own sensors (S3-63): only a function is needed, no change of the estimator."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.verdict import values
from test_pipeline import DATA, MOTION, SRS, as_bytes, feed, imu_message, leg_message, pairs

CONFIG = EstimatorConfig(baseline=False)
RATES = joint_motion(SRS, MOTION).velocities[:, SRS.drive_columns]  # of the prismatic joints
RATE_NOISE, ATTITUDE_NOISE = 2e-4, 1e-3


def leg_rates(points):
    """Rates (6, N) of the legs: velocity of each anchor along its leg."""
    rates = []
    for leg in range(6):
        vector = points.position(SRS.platform_points[leg]) - SRS.base_points[leg]
        direction = vector / np.linalg.norm(vector, axis=1, keepdims=True)
        rates.append(np.sum(direction * points.velocity(SRS.platform_points[leg]), axis=1))
    return np.array(rates)


def attitude_from(reference):
    """Observation of the rotation vector (3, N) from a reference attitude (3, 3)."""
    return lambda points: rotation_log(reference.T @ points.rotation).T


def run(name, config=CONFIG, wrong=(), last=150, covariance_factor=1.0):
    """Pipeline after MP1 at full speed with legs, IMU and a further sensor; also the outputs."""
    random = np.random.default_rng(7)
    pipeline, outputs = EstimatorPipeline(SRS, config), []
    for k in range(last):
        outputs += feed(pipeline, [imu_message(k), leg_message(k)])
        stamp = int(DATA.stamps[k])
        if name == 'leg_rates':
            value = RATES[k] + RATE_NOISE * random.normal(size=6) + (0.1 if k in wrong else 0.0)
            # the angular rate's own noise turns the anchors: part of the prediction's error
            noise = (RATE_NOISE**2 + 2.0 * (1.6 * 1.8e-4) ** 2) * np.eye(6)
            pipeline.add_measurement(stamp, leg_rates, value, covariance_factor * noise, name)
        elif name == 'attitude':
            turn = ATTITUDE_NOISE * random.normal(size=3) + (0.1 if k in wrong else 0.0)
            measured = MOTION.rotation_base_platform[k] @ rotation_exp(turn)
            pipeline.add_measurement(
                stamp, attitude_from(measured), np.zeros(3), ATTITUDE_NOISE**2 * np.eye(3), name
            )
    return pipeline, outputs


@pytest.mark.parametrize(('name', 'size'), [('leg_rates', 6), ('attitude', 3)])
def test_further_sensor_is_fused_consistently(name, size):
    pipeline, outputs = run(name)
    report = pipeline.health.report()
    count, nis, expected = report.user_measurements[name]
    assert (count, expected) == (149, size) or (count, expected) == (150, size)
    assert 0.5 * size < nis < 1.3 * size
    assert f'{name} mean NIS' in values(report, SRS.drive_labels)
    assert f'{name}_off_prediction' not in report.counters
    assert np.abs(outputs[-1].motion.position - MOTION.position[149]).max() < 1e-4


def test_leg_rates_make_the_velocity_known_sooner():
    """Right after the start nothing else tells the velocity."""
    truth = MOTION.rotation_base_platform[1].T @ MOTION.linear_velocity[1]
    plain = run('', last=2)[0].filter
    with_rates = run('leg_rates', last=2)[0].filter
    imu = np.concatenate([DATA.specific_force[1], DATA.angular_rate[1]])
    deviations = [np.sqrt(np.diag(f.point_motion(imu).twist_covariance)[:3]).max() for f in (plain, with_rates)]
    assert deviations[1] < 0.5 * deviations[0]
    # the angular rate still carries the unknown bias of the gyroscope, but the deviation says so
    error = with_rates.point_motion(imu).velocity - truth
    assert np.abs(error).max() < 5.0 * deviations[1]


def test_wild_value_is_left_out_by_its_own_gate():
    pipeline, outputs = run('attitude', wrong=(60, 61, 90))
    assert pipeline.health.counters['attitude_off_prediction'] == 3
    assert pipeline.health.counters['attitude_rejected'] == 3
    assert np.abs(outputs[-1].motion.position - MOTION.position[149]).max() < 1e-4


def test_late_measurement_needs_a_history():
    for window, counter in ((0.0, 'attitude_too_late'), (0.2, 'attitude_accepted')):
        pipeline = EstimatorPipeline(SRS, EstimatorConfig(baseline=False, history=window))
        feed(pipeline, pairs(range(50)))
        observe = attitude_from(MOTION.rotation_base_platform[45])
        pipeline.add_measurement(int(DATA.stamps[45]), observe, np.zeros(3), 1e-6 * np.eye(3), 'attitude')
        assert pipeline.health.counters[counter] == 1
        assert not window or pipeline.health.report().user_measurements['attitude'][0] == 1


def test_late_measurement_ends_as_one_in_time():
    results = []
    for late in (0, 8):
        pipeline, outputs = EstimatorPipeline(SRS, EstimatorConfig(baseline=False, history=0.2)), []
        for k in range(60):
            outputs += feed(pipeline, [imu_message(k), leg_message(k)])
            if k == 40 + late:
                observe = attitude_from(MOTION.rotation_base_platform[40])
                pipeline.add_measurement(int(DATA.stamps[40]), observe, np.zeros(3), 1e-12 * np.eye(3), 'attitude')
        results.append(as_bytes(outputs)[-1])
    assert results[0] == results[1]


def test_before_the_start_and_useless_covariances():
    pipeline = EstimatorPipeline(SRS, CONFIG)
    pipeline.add_measurement(int(DATA.stamps[0]), leg_rates, np.zeros(6), np.eye(6), 'leg_rates')
    feed(pipeline, [imu_message(0), imu_message(1)])
    assert pipeline.health.counters['leg_rates_before_start'] == 1
    with pytest.raises(ConfigurationError, match='leg_rates'):
        pipeline.add_measurement(int(DATA.stamps[1]), leg_rates, np.zeros(6), -np.eye(6), 'leg_rates')


def position_of(k, stamp=None):
    """Arguments of a measured position."""
    stamp = int(DATA.stamps[k]) if stamp is None else stamp
    return stamp, lambda points: points.position().T, MOTION.position[k], 1e-8 * np.eye(3), 'tracker'


def test_sensor_that_is_slower_than_a_jump_of_the_clock():
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(baseline=False, clock_jump=0.2))
    for k in range(190):
        if k % 30 == 20:
            pipeline.add_measurement(*position_of(k))
        feed(pipeline, [imu_message(k), leg_message(k)])
    assert pipeline.health.counters['tracker_accepted'] == 6
    assert pipeline.health.counters['tracker_rejected'] == pipeline.health.counters['tracker_stamp_jump'] == 0


def test_sensor_that_missed_a_restart_of_the_clock():
    pipeline = EstimatorPipeline(SRS, CONFIG)
    for last, measured in ((150, True), (200, False), (200, True)):
        for k in range(last):
            if measured and k % 50 == 20:
                pipeline.add_measurement(*position_of(k))
            feed(pipeline, [imu_message(k), leg_message(k)])
    assert pipeline.health.counters['tracker_accepted'] == 7
    assert pipeline.health.counters['tracker_rejected'] == 0


def test_sensor_with_a_clock_of_its_own_does_not_push_legs_out_of_the_queue():
    pipeline, outputs = EstimatorPipeline(SRS, EstimatorConfig(baseline=False, queue_length=20)), []
    for k in range(100):
        outputs += feed(pipeline, [leg_message(k)])
        pipeline.add_measurement(*position_of(k, int(DATA.stamps[k]) + 10**10))
        outputs += feed(pipeline, [imu_message(k)])
    assert len(outputs) == 100
    assert pipeline.health.counters['legs_queue_overflow'] == 0
    assert pipeline.health.counters['tracker_queue_overflow'] == 80


@pytest.mark.parametrize('useless', [np.full((3, 31), np.nan), np.zeros((31, 3))])
def test_useless_predictions_are_left_out_by_name(useless):
    pipeline = EstimatorPipeline(SRS, CONFIG)
    feed(pipeline, pairs(range(50)))
    pipeline.add_measurement(int(DATA.stamps[49]), lambda points: useless, np.zeros(3), np.eye(3), 'tracker')
    (output,) = feed(pipeline, [imu_message(50), leg_message(50)])
    assert pipeline.health.counters['tracker_not_predicted'] == pipeline.health.counters['tracker_rejected'] == 1
    assert not output.started


def test_function_that_raises_leaves_the_filter_where_it_was():
    def broken(points):
        raise ZeroDivisionError

    pipeline, plain = EstimatorPipeline(SRS, CONFIG), EstimatorPipeline(SRS, CONFIG)
    for k in range(60):
        messages = [imu_message(k), leg_message(k)]
        (expected,) = feed(plain, messages)
        feed(pipeline, messages[:1])
        if k == 50:
            with pytest.raises(ZeroDivisionError):
                pipeline.add_measurement(int(DATA.stamps[k]) - 5_000_000, broken, np.zeros(3), np.eye(3), 'broken')
        (output,) = feed(pipeline, messages[1:])
        assert output.motion.position == pytest.approx(expected.motion.position, abs=1e-7)


def test_points_are_those_of_the_output_with_constants_too():
    """A rest of the delay moves position, velocity and attitude of any point as it moves the output's."""
    names = ('imu_delay', 'imu_rotation', 'imu_position')
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(estimate=names, baseline=False))
    feed(pipeline, pairs(range(100)))
    filter_, point = pipeline.filter, np.ones(3)
    sample = np.concatenate([DATA.specific_force[99], DATA.angular_rate[99]])
    filter_.ukf.state[filter_.layout.imu_delay] = 0.02
    filter_.ukf.state[filter_.layout.imu_rotation] = 0.03, -0.02, 0.05
    filter_.ukf.state[filter_.layout.imu_position] = 0.01, 0.02, -0.03
    expected = filter_.point_motion(sample, point)
    points = filter_.points(filter_.ukf.state[None], sample)
    np.testing.assert_allclose(points.position(point)[0], expected.position, atol=1e-12)
    np.testing.assert_allclose(points.rotation[0], expected.rotation_base_platform, atol=1e-12)
    velocity = expected.rotation_base_platform @ expected.velocity
    np.testing.assert_allclose(points.velocity(point)[0], velocity, atol=1e-12)


@pytest.mark.parametrize('history', [0.0, 0.1])
def test_measurement_of_the_same_stamp_may_come_before_the_legs(history):
    pipeline, outputs = EstimatorPipeline(SRS, EstimatorConfig(baseline=False, history=history)), []
    for k in range(50):
        feed(pipeline, [imu_message(k)])
        pipeline.add_measurement(*position_of(k))
        outputs += feed(pipeline, [leg_message(k)])
    assert len(outputs) == 50
    assert pipeline.health.counters['tracker_rejected'] == pipeline.health.counters['tracker_before_start'] <= 1
