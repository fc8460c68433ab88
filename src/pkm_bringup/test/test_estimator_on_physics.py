"""The estimator on simulated physics: MP1 with the noise of the SRS, friction, and the leg servo in the loop."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_bringup.simulation import simulate
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.metrics import error_table
from pkm_estimation.offline.result import collect
from pkm_estimation.stream import EstimatorPipeline


@pytest.mark.campaign
def test_estimate_of_simulated_physics_meets_the_demos_limits():
    machine = load_machine('srs')
    run = simulate(machine, mp1(machine, duration=35.0), seed=2)
    pipeline, outputs, names = EstimatorPipeline(machine), [], machine.actuated_joint_names
    for k in range(len(run.joint_stamps)):
        outputs += pipeline.add_imu(int(run.imu_stamps[k]), run.specific_force[k], run.angular_rate[k])
        outputs += pipeline.add_joint_positions(int(run.joint_stamps[k]), names, run.joint_positions[k])
    rotation = run.truth.rotation_base_platform
    unknown = np.zeros((len(run.truth_stamps), 6, 6))
    truth = MotionEstimate(
        run.truth_stamps,
        run.truth.position,
        quaternion_from_matrix(rotation),
        np.squeeze(run.truth.linear_velocity[:, None] @ rotation),
        np.squeeze(run.truth.angular_velocity[:, None] @ rotation),
        unknown,
        unknown,
    )
    result = collect(outputs, pipeline.health.report())
    table = error_table(result, truth, settling=20.0)
    assert (table.estimate.position <= 1e-5).all()
    assert (table.estimate.velocity <= 2e-4).all()
    assert (table.estimate.attitude <= 5e-6).all()
    assert ((table.baseline.velocity / table.estimate.velocity)[:2] >= 2.0).all()
    assert (np.abs(result.accelerometer_bias[-1] - machine.imu.accelerometer_bias) <= 1e-4).all()
    assert (np.abs(result.gyroscope_bias[-1] - machine.imu.gyroscope_bias) <= 1e-4).all()
