"""Estimate a rosbag offline, like the program `estimate`: give a bag; without one, a bag is simulated."""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from pkm_estimation.bags import BagWriter

from pkm_description import load_machine, profile
from pkm_estimation import estimate, measure, read_bag

machine = load_machine('srs')
if len(sys.argv) > 1:
    bag = Path(sys.argv[1])
else:
    bag = Path(tempfile.mkdtemp()) / 'mp1'
    data = measure(machine, profile('mp1', machine, duration=20.0, rate=100.0), seed=0)
    with BagWriter(bag) as writer:
        writer.write_joint_states(data.stamps, machine.actuated_joint_names, data.drive_positions)
        writer.write_imu(data.stamps, data.specific_force, data.angular_rate)

track = estimate(machine, read_bag(bag))

figure, axes = plt.subplots(2, 1, sharex=True, layout='constrained')
time = 1e-9 * (track.motion.stamps - track.motion.stamps[0])
axes[0].plot(time, track.motion.linear_velocity, label=['x', 'y', 'z'])
axes[0].set_ylabel('velocity, platform axes [m/s]')
axes[0].legend()
axes[1].plot(time, track.accelerometer_bias)
axes[1].set(xlabel='time [s]', ylabel='accelerometer bias [m/s^2]')
figure.suptitle(f'{bag.name}: {len(track)} estimates')
plt.show()
