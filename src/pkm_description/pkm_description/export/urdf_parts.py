"""Elements of a URDF: origins, inertias, joints and visuals."""

from __future__ import annotations

from math import atan2, hypot, isfinite
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.arrays import Array
from pkm_description.export.numbers_text import numbers
from pkm_description.kinematics.rotation_formats import rpy_from_rotation
from pkm_description.machine import Joint, RigidBody

#: what a URDF says where the machine file gives no limit: position, velocity, effort
NO_LIMIT, NO_EFFORT_LIMIT = 1e3, 1e6

_DRAKE = 'https://drake.mit.edu'


def add_origin(element: Element, position: ArrayLike, rotation: Array | None = None) -> None:
    """Origin at a position (3,) m with a rotation (3, 3); None is no rotation."""
    # adding 0.0 turns -0.0 into 0.0
    angles = np.zeros(3) if rotation is None else rpy_from_rotation(rotation) + 0.0
    SubElement(element, 'origin', xyz=numbers(np.asarray(position)), rpy=numbers(angles))


def add_inertial(link: Element, body: RigidBody) -> None:
    """Mass, centre of mass, and inertia about it."""
    inertial = SubElement(link, 'inertial')
    add_origin(inertial, body.center_of_mass)
    SubElement(inertial, 'mass', value=numbers([body.mass]))
    places = {'ixx': (0, 0), 'ixy': (0, 1), 'ixz': (0, 2), 'iyy': (1, 1), 'iyz': (1, 2), 'izz': (2, 2)}
    SubElement(inertial, 'inertia', {key: numbers([body.inertia[place]]) for key, place in places.items()})


def add_joint(
    robot: Element, name: str, kind: str, parent: str, child: str, position: ArrayLike, rotation: Array | None = None
) -> Element:
    """Joint whose frame lies at position (3,) m and rotation (3, 3) in the parent link."""
    joint = SubElement(robot, 'joint', name=name, type=kind)
    SubElement(joint, 'parent', link=parent)
    SubElement(joint, 'child', link=child)
    add_origin(joint, position, rotation)
    return joint


def add_chain_joint(robot: Element, joint: Joint, parent: str, position: ArrayLike, rotation: Array | None) -> None:
    """Moving joint of a leg with axis, limits, friction, and its rotor where it has one."""
    element = add_joint(robot, joint.name, joint.kind, parent, joint.body.name, position, rotation)
    SubElement(element, 'axis', xyz=numbers(joint.axis))
    limits = {
        'lower': (joint.limits.lower, -NO_LIMIT), 'upper': (joint.limits.upper, NO_LIMIT),
        'velocity': (joint.limits.velocity, NO_LIMIT), 'effort': (joint.limits.effort, NO_EFFORT_LIMIT),
    }  # fmt: skip
    SubElement(
        element, 'limit', {key: numbers([value if isfinite(value) else none]) for key, (value, none) in limits.items()}
    )
    friction = joint.friction
    SubElement(element, 'dynamics', damping=numbers([friction.viscous]), friction=numbers([friction.coulomb]))
    if joint.rotor_inertia > 0.0:
        _add_rotor(robot, joint)


def _add_rotor(robot: Element, joint: Joint) -> None:
    """Rotor inertia, for which plain URDF has no word: Drake's, already reflected to the joint."""
    transmission = SubElement(robot, 'transmission', name=f'{joint.name}_transmission')
    SubElement(transmission, 'type').text = 'transmission_interface/SimpleTransmission'
    SubElement(transmission, 'joint', name=joint.name)
    actuator = SubElement(transmission, 'actuator', name=f'{joint.name}_actuator')
    SubElement(actuator, f'{{{_DRAKE}}}rotor_inertia', value=numbers([joint.rotor_inertia]))
    SubElement(actuator, f'{{{_DRAKE}}}gear_ratio', value='1.0')


def add_visual(link: Element, shape: str, material: str, **sizes: float) -> Element:
    """Visual of a ``box``, ``cylinder`` or ``sphere`` with its sizes in m; returns it, for an origin."""
    visual = SubElement(link, 'visual')
    geometry = SubElement(visual, 'geometry')
    SubElement(geometry, shape, {key: numbers([size]) for key, size in sizes.items()})
    SubElement(visual, 'material', name=material)
    return visual


def add_box(link: Element, size: ArrayLike, material: str) -> None:
    """Box of a size (3,) m around the link's origin."""
    visual = SubElement(link, 'visual')
    SubElement(SubElement(visual, 'geometry'), 'box', size=numbers(np.asarray(size)))
    SubElement(visual, 'material', name=material)


def add_bar(link: Element, start: Array, stop: Array, radius: float, material: str) -> None:
    """Round bar between two points (3,) m of the link; none where they coincide."""
    x, y, z = (stop - start).tolist()
    flat = hypot(x, y)
    length = hypot(flat, z)
    if length > 0.1 * radius:
        visual = add_visual(link, 'cylinder', material, radius=radius, length=length)
        angles = [0.0, atan2(flat, z), atan2(y, x)]
        SubElement(visual, 'origin', xyz=numbers(0.5 * (start + stop)), rpy=numbers(angles))


def add_balls(link: Element, points: Array, radius: float) -> None:
    """Balls where joints are, at points (L, 3) m of the link."""
    for point in points:
        add_origin(add_visual(link, 'sphere', 'dark', radius=radius), point)
