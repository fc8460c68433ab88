"""Drive forces as arrows along the legs: numbers for a viewer, in ``base_link``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.machine import Joint, Leg, Machine
from pkm_description.machine.machine import closure_points
from pkm_description.viewing.rviz_view import machine_extent

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
