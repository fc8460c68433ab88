"""IMU and legs of SIMONA, simulated with noise and bias, estimated by the filter: errors beside what it claims."""

import matplotlib.pyplot as plt
import numpy as np

from pkm_description import load_machine, profile
from pkm_estimation import estimate, measure

machine = load_machine('srs')
motion = profile('mp1', machine, duration=30.0, rate=100.0)

track = estimate(machine, measure(machine, motion, seed=0))

# the filter begins with the first sample that has an IMU sample around it
first = len(motion) - len(track)
error = track.motion.position - motion.position[first:]
std = np.sqrt(np.diagonal(track.motion.pose_covariance, axis1=1, axis2=2)[:, :3])

figure, axes = plt.subplots(3, 1, sharex=True, layout='constrained')
for axis, name, one, claimed in zip(axes, 'xyz', error.T, std.T, strict=True):
    axis.plot(motion.time[first:], 1e6 * one)
    axis.fill_between(motion.time[first:], -2e6 * claimed, 2e6 * claimed, alpha=0.3, label='two standard deviations')
    axis.set(ylabel=f'{name} [um]', ylim=(-20.0, 20.0))
axes[0].legend()
axes[-1].set_xlabel('time [s]')
figure.suptitle('position error of the estimate')
plt.show()
