"""A 3-RPS table has three drives and three degrees of freedom: its legs shift the platform when it tilts."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description import drive_positions, forward_kinematics, load_machine, profile

machine = load_machine('valencia_3rps')
motion = profile('drives', machine, duration=20.0, rate=100.0)

# three drive positions determine all six coordinates of the pose
pose = forward_kinematics(machine, drive_positions(machine, motion)).require()
turn = Rotation.from_matrix(pose.rotation_base_platform @ machine.home.rotation_base_platform.T).as_rotvec()

figure, axes = plt.subplots(3, 1, sharex=True, layout='constrained')
for axis, values, names, title in (
    (axes[0], 1e3 * (pose.position[:, 2] - machine.home.position[2]), 'z', 'driven [mm]'),
    (axes[1], np.degrees(turn[:, :2]), ('about x', 'about y'), 'driven [deg]'),
    (axes[2], 1e3 * (pose.position[:, :2] - machine.home.position[:2]), ('x', 'y'), 'parasitic [mm]'),
):
    axis.plot(motion.time, values, label=names)
    axis.set_title(title)
    axis.legend(loc='upper right')
figure.supxlabel('time [s]')
plt.show()
