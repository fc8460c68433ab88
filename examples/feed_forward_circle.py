"""Feed-forward on PaLiDA's circle of 0.3 m at 1 m/s, simulated: tracking and path errors (Heimann, Figs 4 and 5)."""

import matplotlib.pyplot as plt
import numpy as np
from pkm_description.motion.circles import CirclePath

from pkm_bringup import ServoSettings, track
from pkm_description import load_machine

machine = load_machine('palida')
circle = CirclePath(machine.home, turns=1.5)
stages = {
    'PD': 'none',
    '+ gravity': 'gravity',
    '+ rigid body': 'rigid_body',
    '+ friction': 'rigid_body_friction',
}
figure, axes = plt.subplots(4, 1, layout='constrained', figsize=(8, 9), sharex=True)
print('rms tracking error on the circle [um]' + ''.join(f'{leg.name:>9}' for leg in machine.legs))
for name, feedforward in stages.items():
    record = track(machine, circle.sample(100.0), ServoSettings(feedforward=feedforward))
    print(f'{name:>36}' + ''.join(f'{1e6 * error:9.1f}' for error in record.rms(circle.on_circle)))
    time, position, angles = record.platform_errors(step=5)
    for drive in (0, 1):
        axes[drive].plot(record.time, 1e3 * record.errors[:, drive], label=name)
    axes[2].plot(time, 1e3 * position[:, 0])
    axes[3].plot(time, 1e3 * angles[:, 1])
labels = ('leg 1 [mm]', 'leg 2 [mm]', 'x [mm]', 'second cardan angle [mrad]')
for axis, label in zip(axes, labels, strict=True):
    axis.axvspan(*circle.constant_speed, alpha=0.1)
    axis.set(ylabel=label)
axes[0].legend(ncols=4, title='errors; shaded: constant path speed')
axes[-1].set(xlabel='time [s]', xlim=np.add(circle.on_circle, (-0.2, 0.2)))
plt.show()
