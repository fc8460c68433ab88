"""The suite's rviz configuration for a machine of a given size, in its namespace and with its frame prefix."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from pkm_description.arrays import Array
from pkm_description.kinematics.closed_legs import body_poses, platform_joints
from pkm_description.machine import Machine

#: m, size of the machine that the configuration's axes and arrows are drawn for
_DRAWN_FOR = 4.0

#: displays that several robots have in common
SHARED = ('Grid', 'TF')


@dataclass(frozen=True)
class ShownRobot:
    """A machine to be shown.

    Attributes
    ----------
    machine : gives camera and grid their size
    namespace : of its topics; they get absolute names, so that displays of several robots can stand in one file
    frame_prefix : of its frames
    fixed_frame : what does not move; empty: the machine's base
    """

    machine: Machine
    namespace: str = ''
    frame_prefix: str = ''
    fixed_frame: str = ''


def rviz_config(text: str, *robots: ShownRobot) -> str:
    """Rviz configuration ``text`` that shows the whole machine; planar machines are seen from above.

    Several robots get the displays one after another, with their namespaces in the names, and a common ground; they
    need a common ``fixed_frame``, around the origin of which the camera looks.

    Desk-top machines and motion bases differ by a factor of ten; rviz itself does not look where the robot is.
    """
    content = yaml.safe_load(text)
    manager = content['Visualization Manager']
    alone = len(robots) == 1
    centers, sizes = zip(*(machine_extent(robot.machine) for robot in robots), strict=True)
    center, size = (centers[0], sizes[0]) if alone else (np.array([0.0, 0.0, np.mean(centers, axis=0)[2]]), sum(sizes))
    view = manager['Views']['Current']
    view['Distance'] = round(2.0 * size, 3)
    view['Focal Point'] = {axis.upper(): round(float(value), 3) for axis, value in zip('xyz', center, strict=True)}
    if all(robot.machine.planar for robot in robots):
        view['Pitch'], view['Yaw'] = 1.57, 4.712
    base = f'{robots[0].frame_prefix}base_link'
    view['Target Frame'] = base if alone else robots[0].fixed_frame
    manager['Global Options']['Fixed Frame'] = robots[0].fixed_frame or base
    plain, manager['Displays'] = manager['Displays'], []
    for robot in robots:
        for display in deepcopy(plain):
            shared = _kind(display) in SHARED
            if shared and robot is not robots[0]:
                continue
            _fit(display, robot, size)
            if not alone:
                display |= {'Reference Frame': robot.fixed_frame} if 'Reference Frame' in display else {}
                display['Name'] = display['Name'] if shared else f'{robot.namespace}: {display["Name"]}'
            manager['Displays'].append(display)
    return str(yaml.safe_dump(content, sort_keys=False))


def _fit(display: dict[str, Any], robot: ShownRobot, size: float) -> None:
    """Give a display the robot's topics, frames and size."""
    if 'Reference Frame' in display:
        display['Reference Frame'] = f'{robot.frame_prefix}{display["Reference Frame"]}'
    for key in ('Topic', 'Description Topic'):
        if key in display:
            namespace = robot.namespace.strip('/')
            display[key]['Value'] = f'/{namespace}/{display[key]["Value"]}' if namespace else display[key]['Value']
    kind = _kind(display)
    if kind == 'Grid':
        display['Cell Size'] = 10.0 ** np.floor(np.log10(0.5 * size)).item()
    elif kind == 'TF':
        display['Marker Scale'] = round(0.1 * size, 3)
    elif kind == 'Odometry':
        _fit_shape(display['Shape'], size)
    elif kind == 'RobotModel' and robot.frame_prefix:
        display['TF Prefix'] = robot.frame_prefix.removesuffix('/')  # rviz puts a slash behind it


def _fit_shape(shape: dict[str, Any], size: float) -> None:
    """Give axes or an arrow, drawn for a machine of :data:`_DRAWN_FOR`, the machine's size."""
    for key in ('Axes Length', 'Axes Radius', 'Shaft Length', 'Shaft Radius', 'Head Length', 'Head Radius'):
        if key in shape:
            shape[key] = round(shape[key] * size / _DRAWN_FOR, 4)


def _kind(display: dict[str, Any]) -> str:
    return str(display['Class'].rpartition('/')[2])


def machine_extent(machine: Machine) -> tuple[Array, float]:
    """Middle (3,) m in ``base_link`` and diagonal [m] of the box around all joints at home."""
    points = body_poses(machine, machine.model.home_joints[None])[1][0]
    if machine.has_platform:
        home = machine.home
        points = np.concatenate([points, platform_joints(machine, home.position, home.rotation_base_platform)])
    lower, upper = points.min(axis=0), points.max(axis=0)
    return 0.5 * (lower + upper), float(np.linalg.norm(upper - lower))
