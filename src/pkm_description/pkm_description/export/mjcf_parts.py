"""Elements of an MJCF file: bodies with their joints, sites and bars."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

import numpy as np

from pkm_description.arrays import Array
from pkm_description.export.drawing import COLORS, Bar
from pkm_description.export.texts import numbers
from pkm_description.kinematics.rotation_formats import quaternion_from_rotation
from pkm_description.machine import Joint, RigidBody

#: rad or m, where a joint has no limit
_FAR = 1e6

#: MuJoCo's names of our joint kinds
_JOINT_TYPES = {'revolute': 'hinge', 'prismatic': 'slide'}

#: kg and kg m^2 of bodies without mass: MuJoCo takes none that move and weigh nothing
LEAST_MASS, LEAST_INERTIA = 1e-6, 1e-9


def wxyz(rotation: Array) -> Array:
    """Quaternion (4,) of a rotation matrix (3, 3) in MuJoCo's order."""
    x, y, z, w = quaternion_from_rotation(rotation)
    return np.array([w, x, y, z])


def add_body(parent: Element, name: str, position: Array, rotation: Array) -> Element:
    """Body at (3,) m with axes (3, 3) in its parent's frame."""
    return SubElement(parent, 'body', name=name, pos=numbers(position), quat=numbers(wxyz(rotation)))


def is_massless(body: RigidBody) -> bool:
    """Whether a body has neither mass nor inertia."""
    return body.mass == 0.0 and not body.inertia.any()


def add_inertial(element: Element, body: RigidBody) -> None:
    """Mass, centre of mass and inertia about it; of a body without mass the least that MuJoCo can do with."""
    mass, inertia = body.mass, body.inertia
    if is_massless(body):
        mass, inertia = LEAST_MASS, LEAST_INERTIA * np.eye(3)
    full = [inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]
    SubElement(element, 'inertial', pos=numbers(body.center_of_mass), mass=numbers([mass]), fullinertia=numbers(full))


def add_joint(element: Element, joint: Joint, axis: Array, position: Array) -> None:
    """Joint about or along an axis (3,) through a point (3,) m, both in the frame of the element's body."""
    attributes = {'name': joint.name, 'type': _JOINT_TYPES[joint.kind], 'axis': numbers(axis)}
    if position.any():
        attributes['pos'] = numbers(position)
    if joint.friction.viscous:
        attributes['damping'] = numbers([joint.friction.viscous])
    if joint.friction.coulomb:
        attributes['frictionloss'] = numbers([joint.friction.coulomb])
    if joint.rotor_inertia:
        attributes['armature'] = numbers([joint.rotor_inertia])
    if np.isfinite(joint.limits.lower) or np.isfinite(joint.limits.upper):
        # a range has two ends
        attributes['range'] = numbers(np.clip([joint.limits.lower, joint.limits.upper], -_FAR, _FAR))
    SubElement(element, 'joint', attributes)


def add_site(element: Element, name: str, position: Array, size: float, rotation: Array | None = None) -> None:
    """Named point (3,) m of a body, with axes (3, 3) if given."""
    attributes = {'name': name, 'pos': numbers(position), 'size': numbers([size])}
    if rotation is not None and not np.array_equal(rotation, np.eye(3)):
        attributes['quat'] = numbers(wxyz(rotation))
    SubElement(element, 'site', attributes)


def add_bars(element: Element, bars: list[Bar]) -> None:
    """Bars as capsules."""
    for bar in bars:
        SubElement(
            element, 'geom', type='capsule', fromto=numbers(bar.start, bar.end), size=numbers([bar.radius]),
            rgba=COLORS[bar.color],
        )  # fmt: skip
