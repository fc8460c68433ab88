"""Shapes of a machine's links and where they are, for viewers other than rviz: the same visuals as in the URDF."""

from __future__ import annotations

from dataclasses import dataclass, replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from pkm_description.arrays import Array
from pkm_description.export.drawing import base_joint_points, ring
from pkm_description.export.urdf import urdf_text
from pkm_description.export.urdf_loops import link_poses, urdf_joints
from pkm_description.kinematics import joint_positions
from pkm_description.kinematics.rotation_formats import rotation_from_rpy
from pkm_description.machine import Machine
from scipy.spatial.transform import Rotation

#: least radius of bars and balls, as a part of the machine's size: thinner ones are hard to see
_LEAST_RADIUS = 0.006
#: link -> (3,) m and (3, 3), in ``base_link``
LinkPoses = dict[str, tuple[Array, Array]]


@dataclass(frozen=True)
class LinkShape:
    """One visual of a link.

    Attributes
    ----------
    link : its name
    leg : number of the leg that moves it, from 0; None for platform, base and what is fixed to them
    kind : ``box``, ``cylinder`` (axis z) or ``sphere``
    size : m: three edges; radius and length; radius
    position, rotation : (3,) m and (3, 3), of the shape in the link
    color : (3,) red, green, blue from 0 to 1
    """

    link: str
    leg: int | None
    kind: str
    size: tuple[float, ...]
    position: Array
    rotation: Array
    color: Array


class MachineShapes:
    """Visuals of one machine, any kind, and the poses of their links.

    Parameters
    ----------
    machine : any machine

    Attributes
    ----------
    shapes : all visuals
    platform_links : links that move with the platform, empty on open chains
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        text = urdf_text(machine)
        self._joints = urdf_joints(text)
        moved = {joint.body.name: number for number, leg in enumerate(machine.legs) for joint in leg.joints}
        root = ElementTree.fromstring(text)
        colors = {entry.get('name', ''): _color(entry) for entry in root.findall('material')}
        self.shapes = tuple(
            _shape(link.get('name', ''), moved.get(link.get('name', '')), visual, colors)
            for link in root.findall('link')
            for visual in link.findall('visual')
        )
        self._on_platform: LinkPoses = {}
        if machine.has_platform:
            self._on_platform = link_poses(self._joints, {}, machine.platform.name)
        self.platform_links = frozenset(self._on_platform)
        lower, upper = self.box(self.home())
        least = _LEAST_RADIUS * float(np.linalg.norm(upper - lower))
        if machine.has_platform:
            self.shapes = self._with_base(1.5 * least, colors['dark'])
        self.shapes = tuple(_thick(shape, least) for shape in self.shapes)

    def _with_base(self, radius: float, color: Array) -> tuple[LinkShape, ...]:
        """Shapes with a ring from base joint to base joint; where sliders have rails, these are the base."""
        if self.machine.legs[0].joints[0].kind != 'prismatic':
            return self.shapes + _base_ring(base_joint_points(self.machine), radius, color)
        return tuple(shape for shape in self.shapes if shape.link != 'base_link')

    def box(self, poses: LinkPoses) -> tuple[Array, Array]:
        """Lower and upper corner (3,) m of the box around the boxes of all shapes."""
        lower, upper = np.full(3, np.inf), np.full(3, -np.inf)
        for shape in self.shapes:
            origin, turn = poses[shape.link]
            half = {
                'box': 0.5 * np.array(shape.size),
                'cylinder': np.array([shape.size[0], shape.size[0], 0.5 * shape.size[-1]]),
                'sphere': np.full(3, shape.size[0]),
            }[shape.kind]
            middle = origin + turn @ shape.position
            reach = np.abs(turn @ shape.rotation) @ half
            lower, upper = np.minimum(lower, middle - reach), np.maximum(upper, middle + reach)
        return lower, upper

    def home(self) -> LinkPoses:
        """Poses of all links at home."""
        home = self.machine.home
        if not self.machine.has_platform:
            return self.at(self.machine.home_positions, None, None)
        return self.at_pose(home.position, home.rotation_base_platform)

    def at_pose(self, position: Array, rotation: Array) -> LinkPoses:
        """Poses of all links where the platform is at (3,) m with rotation (3, 3); the loops are closed.

        Raises
        ------
        KinematicsError
            The legs do not reach so far.
        """
        return self.at(joint_positions(self.machine, position[None], rotation[None])[0], position, rotation)

    def at(self, positions: Array, position: Array | None, rotation: Array | None) -> LinkPoses:
        """Poses of all links at joint positions (J,) rad or m; the platform at its own pose, None on open chains."""
        names = self.machine.joint_names
        by_name = dict(zip(names, np.asarray(positions).ravel().tolist(), strict=True))
        poses = link_poses(self._joints, by_name, 'base_link')
        if position is not None and rotation is not None:
            poses |= self.platform_at(position, rotation)
        return poses

    def platform_at(self, position: Array, rotation: Array) -> LinkPoses:
        """Poses of the links of the platform alone."""
        return {
            link: (position + rotation @ origin, rotation @ turn) for link, (origin, turn) in self._on_platform.items()
        }


def _base_ring(points: Array, radius: float, color: Array) -> tuple[LinkShape, ...]:
    """Bars from base joint to base joint: without them the legs of a hanging machine end in the air."""
    shapes = []
    for bar in ring(points, radius, 'base'):
        along = bar.end - bar.start
        length = float(np.linalg.norm(along))
        rotation = Rotation.align_vectors([along / length], [[0.0, 0.0, 1.0]])[0].as_matrix()
        middle = 0.5 * (bar.start + bar.end)
        shapes.append(LinkShape('base_link', None, 'cylinder', (radius, length), middle, rotation, color))
    return tuple(shapes)


def _thick(shape: LinkShape, least: float) -> LinkShape:
    if shape.kind == 'box':
        return shape
    # balls stand out from the bars that they join
    radius = max(shape.size[0], least if shape.kind == 'cylinder' else 1.8 * least)
    return replace(shape, size=(radius, *shape.size[1:]))


def _shape(link: str, leg: int | None, visual: Element, colors: dict[str, Array]) -> LinkShape:
    geometry, origin, material = visual.find('geometry'), visual.find('origin'), visual.find('material')
    assert geometry is not None
    assert material is not None
    solid = geometry[0]
    keys = {'box': ('size',), 'cylinder': ('radius', 'length'), 'sphere': ('radius',)}[solid.tag]
    size = tuple(float(word) for key in keys for word in solid.get(key, '').split())
    position, rotation = np.zeros(3), np.eye(3)
    if origin is not None:
        position = _numbers(origin.get('xyz', '0 0 0'))
        rotation = rotation_from_rpy(_numbers(origin.get('rpy', '0 0 0')))
    return LinkShape(link, leg, solid.tag, size, position, rotation, colors[material.get('name', '')])


def _color(material: Element) -> Array:
    color = material.find('color')
    assert color is not None
    return _numbers(color.get('rgba', ''))[:3]


def _numbers(text: str) -> Array:
    return np.array([float(word) for word in text.split()])
