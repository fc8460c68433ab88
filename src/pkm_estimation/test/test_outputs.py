"""Outputs beside pose and velocity: angular acceleration, other reference points, the baseline alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from estimated import follow
from pkm_description.errors import ConfigurationError
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1
from pkm_estimation.sensors import measure
from pkm_estimation.stream import BaselinePipeline, EstimatorConfig

SRS = load_machine('srs')
MOTION = mp1(SRS, duration=30.0, rate=200.0)[slice(2400, 2900)]
DATA = measure(SRS, MOTION, seed=3)
POSITIONS = DATA.drive_positions
STAMPS = [int(stamp) for stamp in DATA.stamps]


@pytest.fixture(scope='module')
def plain():
    return follow(SRS, DATA)


def test_angular_acceleration_has_the_stated_lag_and_noise(plain):
    pipeline, outputs = plain
    settled = np.array([output.angular_acceleration is not None for output in outputs])
    first = int(np.argmax(settled))
    assert 0.005 * first == pytest.approx(6.0 * pipeline.angular_acceleration.lag, abs=0.006)
    assert settled[first:].all()
    rotation = MOTION.rotation_base_platform
    truth = np.einsum('nji,nj->ni', rotation, MOTION.angular_acceleration)  # d/dt in platform axes: omega x omega = 0
    late = MOTION.time - pipeline.angular_acceleration.lag
    expected = np.column_stack([np.interp(late, MOTION.time, truth[:, axis]) for axis in range(3)])
    values, covariances = zip(*(output.angular_acceleration for output in outputs[first:]), strict=True)
    in_imu_axes = expected[first:] @ SRS.imu.rotation_platform_imu
    std = np.sqrt(np.array(covariances).diagonal(axis1=1, axis2=2))
    ratio = (np.array(values) - in_imu_axes) / std
    assert np.abs(expected).max() > 20.0 * std.max()  # something to see
    assert np.sqrt(np.mean(ratio**2, axis=0)) == pytest.approx([1.0] * 3, abs=0.25)


def test_gyroscope_bias_makes_no_angular_acceleration_and_a_restart_forgets_it(plain):
    pipeline, biased = follow(SRS, replace(DATA, angular_rate=DATA.angular_rate + np.array([0.05, -0.03, 0.02])))
    assert biased[-1].angular_acceleration[0] == pytest.approx(plain[1][-1].angular_acceleration[0], abs=1e-9)
    pipeline.reset()
    stamp = STAMPS[-1] + 5_000_000
    pipeline.add_imu(stamp, DATA.specific_force[-1], DATA.angular_rate[-1])
    (output,) = pipeline.add_joint_positions(stamp, SRS.actuated_joint_names, POSITIONS[-1])
    assert output.angular_acceleration is None


def test_pose_and_velocity_of_a_reference_point():
    point = np.array([0.5, -0.3, 1.2])
    _, outputs = follow(SRS, DATA, EstimatorConfig(reference_point=tuple(point)))
    rotation = MOTION.rotation_base_platform[-1]
    position = MOTION.position[-1] + rotation @ point
    velocity = MOTION.linear_velocity[-1] + np.cross(MOTION.angular_velocity[-1], rotation @ point)
    motion = outputs[-1].motion
    std = np.sqrt(np.diag(motion.pose_covariance))[:3], np.sqrt(np.diag(motion.twist_covariance))[:3]
    assert (np.abs(motion.position - position) < 5.0 * std[0]).all()
    assert (np.abs(motion.velocity - rotation.T @ velocity) < 5.0 * std[1]).all()
    assert std[0].max() < 1e-4
    assert std[1].max() < 1e-2
    assert outputs[-1].baseline.position == pytest.approx(position, abs=1e-4)
    with pytest.raises(ConfigurationError, match='reference_point'):
        EstimatorConfig(reference_point=(1.0, 2.0))


def test_baseline_alone_says_the_same_as_beside_the_filter(plain):
    _, outputs = plain
    pipeline = BaselinePipeline(SRS)
    alone = [
        pipeline.add_joint_positions(stamp, SRS.actuated_joint_names, positions)
        for stamp, positions in zip(STAMPS, POSITIONS, strict=True)
    ]
    for one, output in zip(alone, outputs, strict=True):
        assert one.stamp == output.stamp
        assert one.estimate.position.tobytes() == output.baseline.position.tobytes()
        assert one.estimate.velocity.tobytes() == output.baseline.velocity.tobytes()


def test_baseline_alone_counts_what_it_rejects_and_goes_on():
    pipeline = BaselinePipeline(SRS)
    names = SRS.actuated_joint_names
    assert pipeline.add_joint_positions(STAMPS[0], names, POSITIONS[0]) is not None
    assert pipeline.add_joint_positions(STAMPS[0], names, POSITIONS[1]) is None
    assert pipeline.add_joint_positions(STAMPS[1], names[:5], POSITIONS[1][:5]) is None
    assert pipeline.add_joint_positions(STAMPS[2], names, [9.0] * 6) is None
    assert pipeline.add_joint_positions(STAMPS[3], names, POSITIONS[3]) is not None
    counters = pipeline.health.counters
    assert (counters['legs_duplicate_stamp'], counters['too_few_legs'], counters['legs_rejected']) == (1, 2, 3)
    assert pipeline.health.report().samples == 2
