"""Joints of several freedoms as joints of one, and joint positions from where bodies are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.importing.graph import ImportMachineError, Link
from pkm_description.importing.placement import HERE, Placement, angle_about, frame_along


@dataclass(frozen=True)
class Part:
    """One of the joints that stand for a joint of the file.

    Attributes
    ----------
    suffix : of its name; empty where it is the only one
    kind : ``revolute`` or ``prismatic``
    place : its frame at zero position in the frame before it, of the first one in the first frame of the link
    axis : (3,) in its frame
    home : rad or m
    """

    suffix: str
    kind: str
    place: Placement
    axis: Array
    home: float


def expanded(link: Link, relative: Placement, towards: Array) -> tuple[list[Part], Placement]:
    """Joints that stand for one of the file, and the last one's frame in the second frame of the link.

    A ball is a turn about x, y and z of a frame whose z axis points along the second body, all zero at the start.

    Parameters
    ----------
    relative : pose of the second frame in the first one at the start
    towards : (3,) m in the second frame, a point far along the second body

    Raises
    ------
    ImportMachineError
        A kind of joint that has no place in a tree.
    """
    axis, turn = link.axis, relative.rotation
    if link.kind == 'revolute':
        return [Part('', 'revolute', HERE, axis, _nearest(angle_about(axis, turn), link.position))], HERE
    if link.kind == 'prismatic':
        return [Part('', 'prismatic', HERE, axis, float(axis @ relative.position))], HERE
    if link.kind == 'cylindrical':
        return [
            Part('turn', 'revolute', HERE, axis, angle_about(axis, turn)),
            Part('slide', 'prismatic', HERE, axis, float(axis @ relative.position)),
        ], HERE
    if link.kind == 'universal':
        first, second = universal_angles(axis, link.second_axis, turn)
        return [Part('1', 'revolute', HERE, axis, first), Part('2', 'revolute', HERE, link.second_axis, second)], HERE
    if link.kind == 'ball':
        along = frame_along(towards if np.linalg.norm(towards) > 1e-6 else np.array([0.0, 0.0, 1.0]))
        start = Placement(np.zeros(3), turn @ along.rotation)
        x, y, z = np.eye(3)
        return [
            Part('x', 'revolute', start, x, 0.0),
            Part('y', 'revolute', HERE, y, 0.0),
            Part('z', 'revolute', HERE, z, 0.0),
        ], along
    raise ImportMachineError(f'joint {link.name!r} of kind {link.kind!r} cannot stand in a leg')


def universal_angles(axis: Array, second_axis: Array, turn: Array) -> tuple[float, float]:
    """Angles [rad] about both axes of a universal joint that come nearest to a rotation (3, 3)."""
    there = turn @ second_axis
    first = float(np.arctan2(axis @ np.cross(second_axis, there), second_axis @ there))
    return first, angle_about(second_axis, Placement(rotation=_turn(axis, -first)).rotation @ turn)


def _turn(axis: Array, angle: float) -> Array:
    cross = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    matrix: Array = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
    return matrix


def _nearest(angle: float, position: float) -> float:
    """Return the angle, whole turns added, that is nearest to the file's joint position."""
    return angle + 2.0 * np.pi * round((position - angle) / (2.0 * np.pi))
