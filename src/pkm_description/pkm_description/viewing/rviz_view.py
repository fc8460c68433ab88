"""What rviz shows of a machine: the configuration for its size, namespace and frames; arrows of its forces."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.kinematics.closed_legs import body_poses, platform_joints
from pkm_description.machine import Joint, Leg, Machine
from pkm_description.machine.machine import closure_points

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


#: length of the longest arrow at home, as a part of the machine's size
_LONGEST = 0.35

#: arrows end here, however large the force: they must not hide the machine
_CUT = 4.0


@dataclass(frozen=True)
class ForceArrow:
    """Force of one drive.

    Attributes
    ----------
    joint : its name
    start, end : (3,) m in ``base_link``. The arrow of a prismatic drive lies along the leg and ends (pushing) or
        begins (pulling) where the leg hands the force on; that of a revolute drive lies on the axis, right-handed
    force : N or N m; positive pushes the leg out or turns about the axis
    text : force with its unit
    text_position : (3,) m, beside the middle of the arrow
    """

    joint: str
    start: Array
    end: Array
    force: float
    text: str
    text_position: Array


@dataclass(frozen=True)
class _Drive:
    """A drive: its joint, the joint's column, and where its body hands the force on (3,) m in the body's frame."""

    joint: Joint
    column: int
    end: Array

    @property
    def is_prismatic(self) -> bool:
        return self.joint.kind == 'prismatic'


def _end(leg: Leg, place: int) -> Array:
    """Where the body of a joint hands force on (3,) m, in its frame: the next joint, or its closure after the last."""
    following = [one.translation for one, parent in zip(leg.joints, leg.parents, strict=True) if parent == place]
    points = following or closure_points(leg, leg.joints[place].body.name) or [np.zeros(3)]
    return np.asarray(points[0])


class ForceArrows:
    """Makes the arrows of one machine.

    Drives of machines with a platform have arrows; on open chains every joint has one, as every joint must be held.

    Parameters
    ----------
    machine : any machine
    scale : m per N (prismatic) or per N m (revolute); 0 takes the longest arrow at home as a part of the machine

    Attributes
    ----------
    joint_names : of the arrows
    size : m, length scale of the machine
    """

    def __init__(self, machine: Machine, scale: float = 0.0) -> None:
        self._machine = machine
        self._drives = [
            _Drive(joint, part.start + place, _end(leg, place))
            for leg, part in zip(machine.legs, machine.leg_slices, strict=True)
            for place, joint in enumerate(leg.joints)
            if joint.actuated or not machine.has_platform
        ]
        self.joint_names = tuple(drive.joint.name for drive in self._drives)
        self.size = machine_extent(machine)[1]
        self._scales = self._automatic_scales() if scale == 0.0 else np.full(len(self._drives), scale)

    def static_forces(self, positions: Array, position: Array | None, rotation: Array | None) -> Array:
        """Forces (A,) [N, N m] that hold the machine at rest, without friction.

        Parameters
        ----------
        positions : (J,) rad or m, of the joints
        position, rotation : (3,) m and (3, 3) of the platform; None on open chains
        """
        if position is None or rotation is None:
            still = np.zeros((1, *positions.shape))
            return open_chain_forces(self._machine, positions[None], still, still, friction=False).ravel()
        return gravity_forces(self._machine, position[None], rotation[None])[0]

    def arrows(self, positions: Array, forces: Array) -> list[ForceArrow]:
        """Arrows of forces (A,) [N, N m] at joint positions (J,) rad or m; NaN gives none."""
        rotations, origins = (part[0] for part in body_poses(self._machine, positions[None]))
        return [
            self._arrow(origins[drive.column], rotations[drive.column], drive, float(force), float(scale))
            for drive, force, scale in zip(self._drives, forces, self._scales, strict=True)
            if np.isfinite(force)
        ]

    def _arrow(self, origin: Array, rotation: Array, drive: _Drive, force: float, scale: float) -> ForceArrow:
        """Arrow of a drive whose body stands at (3,) m, (3, 3)."""
        axis = rotation @ drive.joint.axis
        length = float(np.clip(scale * force, -_CUT * _LONGEST * self.size, _CUT * _LONGEST * self.size))
        point = origin + rotation @ drive.end if drive.is_prismatic else origin
        if drive.is_prismatic and length > 0.0:
            start, end = point - axis * length, point
        else:
            start, end = point, point + axis * length
        unit = 'N' if drive.is_prismatic else 'N m'
        beside = np.cross(axis, [0.0, 0.0, 1.0])
        aside = np.array([1.0, 0.0, 0.0]) if np.linalg.norm(beside) < 1e-6 else beside / np.linalg.norm(beside)
        return ForceArrow(
            drive.joint.name, start, end, force, f'{force:.4g} {unit}', 0.5 * (start + end) + 0.06 * self.size * aside
        )

    def _automatic_scales(self) -> Array:
        """Scales (A,), one for all drives of a kind, from the forces that hold home, or the drives' limits."""
        machine = self._machine
        home = machine.home
        pose = (home.position, home.rotation_base_platform) if machine.has_platform else (None, None)
        held = np.abs(self.static_forces(machine.model.home_joints, *pose))
        limits = np.array([one.joint.limits.effort for one in self._drives])
        strongest = np.where(np.isfinite(limits), limits, 1.0)
        scales = np.empty(len(self._drives))
        for is_prismatic in (True, False):
            kind = np.array([drive.is_prismatic is is_prismatic for drive in self._drives])
            # without weight (gravity across the plane of motion) forces are compared with the drives' strength
            reference, strength = held[kind].max(initial=0.0), strongest[kind].max(initial=0.0)
            if reference < 1e-3 * strength:
                reference = strength
            scales[kind] = _LONGEST * self.size / max(reference, 1e-12)
        return scales
