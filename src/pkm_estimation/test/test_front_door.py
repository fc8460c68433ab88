"""Names of the package for scripts: estimation of arrays and recordings, without optional libraries."""

import subprocess
import sys

import numpy as np
import pytest
from estimated import write_bag
from pkm_description.errors import PkmError
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1_profile, profile

from pkm_estimation import (
    SensorConditions,
    estimate,
    measure,
    read_bag,
    simulate_sensors,
)

SRS = load_machine('srs')
MOTION = profile('mp1', SRS, duration=20.0, rate=100.0)


def test_arrays_are_estimated_in_one_line():
    result = estimate(SRS, measure(SRS, MOTION, seed=0))
    assert result.motion.position.shape == (len(MOTION), 3)
    assert result.motion.pose_covariance.shape == (len(MOTION), 6, 6)
    settled = slice(1000, None)
    error = result.motion.position[settled] - MOTION.position[settled]
    claimed = np.sqrt(np.diagonal(result.motion.pose_covariance, axis1=1, axis2=2))[settled, :3]
    # a third of the noise of a leg sensor, and as good as claimed
    assert np.sqrt(np.mean(error**2)) < 6e-6
    assert 0.5 < np.sqrt(np.mean((error / claimed) ** 2)) < 1.5
    velocity = np.squeeze(MOTION.linear_velocity[:, None] @ MOTION.rotation_base_platform, axis=1)
    assert np.abs(result.motion.linear_velocity - velocity)[settled].max() < 5e-4
    assert 5.0 < np.nanmean(result.nis[settled]) < 7.0
    bias = np.concatenate([result.accelerometer_bias, result.gyroscope_bias], axis=1)[-1]
    true = np.concatenate([SRS.imu.accelerometer_bias, SRS.imu.gyroscope_bias])
    assert (np.abs(bias - true) < 5.0 * result.bias_std[-1]).all()


def test_a_recording_gives_the_same_as_its_arrays(tmp_path):
    data = measure(SRS, MOTION[slice(0, 300)], seed=1)
    from_bag = estimate(SRS, read_bag(write_bag(tmp_path / 'bag', SRS, data)))
    from_arrays = estimate(SRS, data)
    assert np.array_equal(from_bag.motion.position, from_arrays.motion.position)


def test_nothing_to_estimate_is_an_error_with_reasons():
    data = simulate_sensors(SRS, mp1_profile(SRS, 20.0).evaluate, MOTION.time[:50], SensorConditions(imu_loss=1.0), 0)
    with pytest.raises(PkmError, match='no estimate from 50 leg and 0 IMU samples'):
        estimate(SRS, data)


FORBIDDEN = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ('rosbags', 'matplotlib', 'jinja2', 'rclpy'):
            raise ImportError('must not be needed: ' + name)

sys.meta_path.insert(0, Refuse())
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1
from pkm_estimation import estimate, measure
srs = load_machine('srs')
print(len(estimate(srs, measure(srs, mp1(srs, duration=30.0)[slice(0, 50)]))))
"""


def test_arrays_are_estimated_without_the_libraries_of_recordings_plots_and_ros():
    run = subprocess.run([sys.executable, '-c', FORBIDDEN], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == '50'
