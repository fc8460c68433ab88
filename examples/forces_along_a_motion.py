"""Drive forces of SIMONA along motion profile 1: with friction, and what of it holds the weight."""

import matplotlib.pyplot as plt

from pkm_description import gravity_forces, inverse_dynamics, load_machine, profile

machine = load_machine('srs')
motion = profile('mp1', machine, duration=30.0, rate=100.0)

forces = inverse_dynamics(machine, motion)
weight = gravity_forces(machine, motion.position, motion.rotation_base_platform)

figure, axes = plt.subplots(3, 2, sharex=True, sharey=True, layout='constrained')
for leg, axis in enumerate(axes.flat):
    axis.plot(motion.time, 1e-3 * forces[:, leg], label='inverse dynamics')
    axis.plot(motion.time, 1e-3 * weight[:, leg], '--', label='weight alone')
    axis.set_title(machine.actuated_joint_names[leg])
axes[0, 0].legend()
figure.supxlabel('time [s]')
figure.supylabel('drive force [kN]')
plt.show()
