"""Range of motion of a machine from home, in lines of text."""

from __future__ import annotations

import numpy as np

from pkm_description.kinematics.drive_reach import drive_reaches
from pkm_description.kinematics.workspace import free_axes, single_axis_limits
from pkm_description.machine import Machine

_AXES = ('x', 'y', 'z', 'about x', 'about y', 'about z')


def workspace_lines(machine: Machine) -> list[str]:
    """Excursions of the platform along single axes; where the legs couple these, excursions of single drives."""
    if free_axes(machine):
        lines = ['one axis at a time, from home']
        for axis, (least, most) in single_axis_limits(machine).items():
            if axis >= 3:
                lines.append(f'{_AXES[axis]:<8} {np.degrees(least):+8.2f} to {np.degrees(most):+8.2f} deg')
            else:
                lines.append(f'{_AXES[axis]:<8} {least:+8.3f} to {most:+8.3f} m')
        return lines
    lines = ['one drive at a time, from home: excursion; platform rises; turns']
    sliding = {joint.name: joint.kind == 'prismatic' for joint in machine.actuated_joints}
    reaches = drive_reaches(machine)
    width = max(len(reach.drive) for reach in reaches)
    for reach in reaches:
        slides = sliding.get(reach.drive, all(sliding.values()))
        scale, unit = (1.0, 'm') if slides else (np.degrees(1.0), 'deg')
        rise = np.sort(reach.move[:, 2])
        lines.append(
            f'{reach.drive:<{width}} {scale * reach.lower:+8.3f} to {scale * reach.upper:+8.3f} {unit}; '
            f'{rise[0]:+7.3f} to {rise[1]:+7.3f} m; up to {np.degrees(reach.turn.max()):5.1f} deg'
        )
    return lines
