"""A hexapod of your own: a skeleton, sizes to begin with, one leg's joint moved, and the machine at home."""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import yaml
from pkm_description.skeleton import skeleton_text

from pkm_description import load_machine

# `./pkm run pkm_description new_machine --kind 6ups -o desk.yaml` writes the same file, to be edited by hand
text = skeleton_text('6ups', 'desk', {'base_radius': 0.30, 'platform_radius': 0.20})
content = yaml.safe_load(text)
content['legs'][0]['base_point'][0] += 0.01  # as measured
file = Path(tempfile.mkdtemp()) / 'desk.yaml'
file.write_text(yaml.safe_dump(content, sort_keys=False))

machine = load_machine(file)
platform = machine.home.position + machine.platform_points @ machine.home.rotation_base_platform.T

figure = plt.figure(layout='constrained')
axes = figure.add_subplot(projection='3d')
for leg, base, tip in zip(machine.legs, machine.base_points, platform, strict=True):
    axes.plot(*np.transpose([base, tip]), 'o-', color='tab:blue')
    axes.text(*base, leg.name)
for points, color in ((machine.base_points, 'black'), (platform, 'tab:orange')):
    axes.plot(*np.concatenate([points, points[:1]]).T, color=color)
axes.set(xlabel='x [m]', ylabel='y [m]', zlabel='z [m]', title=f'{machine.name} at home')
axes.set_aspect('equal')
plt.show()
