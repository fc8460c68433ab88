"""Link transforms of a URDF, as robot_state_publisher computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.kinematics.rotation_formats import rotation_from_rpy


class UrdfError(PkmError):
    """A URDF text that cannot be used."""


@dataclass(frozen=True)
class UrdfJoint:
    """One joint of a URDF: its frame in the parent link's frame, and its axis in its own."""

    name: str
    kind: str
    parent: str
    child: str
    translation: Array
    rotation_parent_joint: Array
    axis: Array

    def transform(self, position: float) -> tuple[Array, Array]:
        """Pose of the child link in the parent link: translation (3,) m and rotation (3, 3)."""
        if self.kind == 'prismatic':
            return self.translation + self.rotation_parent_joint @ self.axis * position, self.rotation_parent_joint
        turn = Rotation.from_rotvec(self.axis * position).as_matrix()
        return self.translation, self.rotation_parent_joint @ turn


class JointTransforms:
    """Transforms of K moving joints at once, see :meth:`UrdfJoint.transform`.

    Parameters
    ----------
    joints : revolute, continuous or prismatic
    """

    def __init__(self, joints: Sequence[UrdfJoint]) -> None:
        self._origins = np.reshape([joint.translation for joint in joints], (-1, 3))
        turns = np.array([quaternion_from_matrix(joint.rotation_parent_joint) for joint in joints]).reshape(-1, 4)
        axes = np.reshape([joint.axis for joint in joints], (-1, 3))
        slides = np.array([joint.kind == 'prismatic' for joint in joints], dtype=bool)[:, None]
        rotations = np.reshape([joint.rotation_parent_joint for joint in joints], (-1, 3, 3))
        self._slides = np.where(slides, np.einsum('kij,kj->ki', rotations, axes), 0.0)
        lengths = np.linalg.norm(axes, axis=1)
        self._half = np.where(slides[:, 0], 0.0, 0.5 * lengths)
        units = axes / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        # product of quaternions: (turn, w) (axis sin, cos) = still cos + turned sin
        self._still, vector, scalar = turns, turns[:, :3], turns[:, 3:]
        self._turned = np.hstack([
            scalar * units + np.cross(vector, units), -np.einsum('ki,ki->k', vector, units)[:, None],
        ])  # fmt: skip

    def __call__(self, positions: Array) -> Array:
        """Translation [m] and quaternion (x, y, z, w >= 0) of each child link in its parent link (K, 7)."""
        half = self._half * positions
        result = np.empty((len(half), 7))
        result[:, :3] = self._origins + self._slides * positions[:, None]
        result[:, 3:] = self._still * np.cos(half)[:, None] + self._turned * np.sin(half)[:, None]
        result[result[:, 6] < 0.0, 3:] *= -1.0
        return result


def urdf_joints(text: str) -> list[UrdfJoint]:
    """Joints of a URDF text, in its order.

    Raises
    ------
    UrdfError
        Not XML, a joint without parent or child, or something else than three numbers for a vector.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise UrdfError(f'robot_description is not XML: {error}') from None
    joints = []
    for element in root.findall('joint'):
        parent, child = element.find('parent'), element.find('child')
        if parent is None or child is None:
            raise UrdfError(f'joint {element.get("name")!r} has no parent or no child')
        origin, axis = element.find('origin'), element.find('axis')
        joints.append(
            UrdfJoint(
                name=element.get('name', ''),
                kind=element.get('type', ''),
                parent=parent.get('link', ''),
                child=child.get('link', ''),
                translation=_numbers(origin, 'xyz', '0 0 0'),
                rotation_parent_joint=rotation_from_rpy(_numbers(origin, 'rpy', '0 0 0')),
                axis=_numbers(axis, 'xyz', '1 0 0'),
            )
        )
    return joints


def moving_joints(joints: list[UrdfJoint]) -> list[UrdfJoint]:
    """Joints whose transform follows from one joint position (a floating joint's does not)."""
    return [joint for joint in joints if joint.kind in ('revolute', 'continuous', 'prismatic')]


def link_poses(joints: list[UrdfJoint], positions: Mapping[str, float], root: str) -> dict[str, tuple[Array, Array]]:
    """Poses in ``root`` of all links below it: translation (3,) m and rotation (3, 3).

    Parameters
    ----------
    positions : joint name -> rad or m, 0 where not given; floating joints stay at their origin
    """
    poses = {root: (np.zeros(3), np.eye(3))}
    waiting = list(joints)
    while ready := [joint for joint in waiting if joint.parent in poses]:
        for joint in ready:
            translation, rotation = joint.transform(positions.get(joint.name, 0.0))
            origin, turn = poses[joint.parent]
            poses[joint.child] = (origin + turn @ translation, turn @ rotation)
            waiting.remove(joint)
    return poses


def _numbers(element: ElementTree.Element | None, attribute: str, default: str) -> Array:
    text = default if element is None else element.get(attribute, default)
    try:
        numbers = np.array([float(word) for word in text.split()])
    except ValueError:
        numbers = np.empty(0)
    if len(numbers) != 3 or not np.isfinite(numbers).all():
        raise UrdfError(f'{attribute} = {text!r} in robot_description: expected three numbers')
    return numbers
