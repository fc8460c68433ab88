"""A sensor of your own beside IMU and legs: a camera sees one point of the platform, while four legs are silent."""

import matplotlib.pyplot as plt
import numpy as np

from pkm_description import load_machine, profile
from pkm_estimation import EstimatorConfig, EstimatorPipeline, measure

machine = load_machine('srs')
motion = profile('mp1', machine, duration=20.0, rate=100.0)
data = measure(machine, motion, seed=0)
point, std = np.array([0.0, 0.0, -0.5]), 1e-3  # in the platform's frame, and of one reading [m]
seen = motion.position + motion.rotation_base_platform @ point
seen += std * np.random.default_rng(1).normal(size=seen.shape)


def claimed_std(camera: bool) -> tuple[list[float], list[float]]:
    """Times [s] and standard deviations of the position along x [m]; legs 3 to 6 are silent from 5 s on."""
    pipeline = EstimatorPipeline(machine, EstimatorConfig(minimum_legs=2))
    outputs = []
    for sample, stamp in enumerate(data.stamps.tolist()):
        outputs += pipeline.add_imu(stamp, data.specific_force[sample], data.angular_rate[sample])
        if camera and sample % 5 == 0:
            pipeline.add_measurement(
                stamp, lambda points: points.position(point).T, seen[sample], std**2 * np.eye(3), 'camera'
            )
        legs = slice(0, 6 if sample < 500 else 2)
        names, positions = machine.actuated_joint_names[legs], data.drive_positions[sample, legs]
        outputs += pipeline.add_joint_positions(stamp, names, positions)
    times = [1e-9 * (output.stamp - int(data.stamps[0])) for output in outputs]
    return times, [output.motion.pose_covariance[0, 0] ** 0.5 for output in outputs]


figure, axis = plt.subplots(layout='constrained')
axis.semilogy(*claimed_std(camera=False), label='IMU and legs')
axis.semilogy(*claimed_std(camera=True), label='with camera')
axis.set(xlabel='time [s]', ylabel='standard deviation of x [m]', title='four of six legs silent from 5 s on')
axis.legend()
plt.show()
