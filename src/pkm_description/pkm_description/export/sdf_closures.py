"""Joints of an SDF that close loops."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

import numpy as np

from pkm_description.arrays import Array
from pkm_description.export.numbers_text import numbers
from pkm_description.export.rest import RestConfiguration
from pkm_description.export.sdf_parts import add_joint, add_pose
from pkm_description.machine import Closure, Machine

_KINDS = {'ball': 'ball', 'pin': 'revolute', 'universal': 'universal', 'fixed': 'fixed'}


def frame_rotation(rotation: Array) -> Array | None:
    """The rotation (3, 3), None where there is none."""
    return None if np.array_equal(rotation, np.eye(3)) else rotation


def add_closing_joint(
    model: Element, machine: Machine, closure: Closure, child: str, place: tuple[Array, Array | None],
    start: RestConfiguration,
) -> None:  # fmt: skip
    """Joint from a leg's body to a child, at a place of it: (3,) m and (3, 3); planar machines: pins about z.

    A universal joint's first axis stands in the leg's body: where it is when the simulation starts.
    """
    joint = add_joint(model, closure.name, _KINDS[closure.kind], closure.body, child)
    add_pose(joint, *place)
    if closure.kind == 'pin':
        attributes = {'expressed_in': 'base_link'} if machine.planar else {}
        SubElement(SubElement(joint, 'axis'), 'xyz', attributes).text = numbers([0.0, 0.0, 1.0])
    elif closure.kind == 'universal':
        here = start.link_poses[closure.body][1] @ closure.rotation_body
        there = _rotation(start, closure.other) @ closure.rotation_other
        for name, axis in (('axis', there.T @ here[:, 0]), ('axis2', np.array([0.0, 1.0, 0.0]))):
            SubElement(SubElement(joint, name), 'xyz').text = numbers(axis)


def _rotation(start: RestConfiguration, link: str) -> Array:
    return np.eye(3) if link == 'base_link' else start.link_poses[link][1]
