"""Where SIMONA's drives hold the platform: condition number over height and yaw, and the edge of the workspace."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description import drive_jacobian, drive_positions, load_machine

machine = load_machine('srs')
heights, yaws = np.meshgrid(np.linspace(-1.0, 1.0, 121), np.radians(np.linspace(-120.0, 120.0, 121)))

position = machine.home.position + np.stack([0.0 * heights, 0.0 * heights, heights], axis=-1).reshape(-1, 3)
turns = np.stack([0.0 * yaws, 0.0 * yaws, yaws], axis=-1).reshape(-1, 3)
rotation = Rotation.from_rotvec(turns).as_matrix() @ machine.home.rotation_base_platform

# rotations are scaled by the platform's radius, so that the condition number has no unit
jacobian = drive_jacobian(machine, position, rotation)
condition = np.linalg.cond(jacobian / ([1.0] * 3 + [float(machine.model.radius[0])] * 3)).reshape(heights.shape)

limits = [joint.limits for joint in machine.actuated_joints]
lower, upper = (np.array([getattr(limit, end) for limit in limits]) for end in ('lower', 'upper'))
drives = drive_positions(machine, position, rotation)
inside = ((drives >= lower) & (drives <= upper)).all(axis=1).reshape(heights.shape)

figure, axis = plt.subplots(layout='constrained')
shades = axis.contourf(np.degrees(yaws), heights, np.log10(condition), levels=np.linspace(0.0, 4.0, 17), extend='max')
axis.contour(np.degrees(yaws), heights, inside, levels=[0.5], colors='white')
figure.colorbar(shades, label='log10 of the condition number of the drive Jacobian')
axis.set(xlabel='yaw [deg]', ylabel='height above home [m]', title='white: all legs within their strokes')
plt.show()
