"""The machine, the true platform and the covariance in viser's three-dimensional scene."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.export.drawing import base_joint_points, ring
from pkm_description.export.urdf import urdf_text
from pkm_description.export.urdf_loops import link_poses, urdf_joints
from pkm_description.kinematics import joint_positions
from pkm_description.kinematics.rotation import matrix_from_rpy, quaternion_from_matrix
from pkm_description.machine import Machine
from scipy.spatial.transform import Rotation

from pkm_bringup.viewer.moment import BodyPose, ForceColors, Moment

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
    bars = [(bar.length, bar.place) for bar in ring(points, radius, 'base')]
    return tuple(
        LinkShape('base_link', None, 'cylinder', (radius, length), place.position, place.rotation, color)
        for length, place in bars
    )


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
        rotation = matrix_from_rpy(_numbers(origin.get('rpy', '0 0 0')))
    return LinkShape(link, leg, solid.tag, size, position, rotation, colors[material.get('name', '')])


def _color(material: Element) -> Array:
    color = material.find('color')
    assert color is not None
    return _numbers(color.get('rgba', ''))[:3]


def _numbers(text: str) -> Array:
    return np.array([float(word) for word in text.split()])


#: standard deviations of the ellipsoid's half axes
ELLIPSOID = 3.0
#: errors are enlarged up to this part of the machine's size
_WIDEST = 0.1
TRUTH, COVARIANCE = (0, 158, 115), (230, 159, 0)


class MachineScene:
    """Draws one machine; its nodes have names below ``/machine``, ``/truth`` and ``/covariance``.

    Parameters
    ----------
    server : of viser
    machine : any machine

    Attributes
    ----------
    enlargement : how many times errors and covariance shall be shown larger; 0: a power of ten that makes them visible
    enlarged : how many times they are
    shows_truth, shows_covariance, shows_forces : what is seen
    """

    def __init__(self, server: Any, machine: Machine) -> None:
        self._machine, self._shapes = machine, MachineShapes(machine)
        self.enlargement, self.enlarged = 0.0, 1.0
        self.shows_truth = self.shows_covariance = self.shows_forces = True
        scene = server.scene
        scene.set_up_direction('+z')
        # shadows and mirrored surroundings take most of the time where the browser has no GPU
        scene.configure_default_lights(cast_shadow=False)
        scene.configure_environment_map(None)
        scene.add_light_ambient('/light', intensity=1.2)
        home = self._shapes.home()
        lower, upper = self._shapes.box(home)
        self._size = size = float(np.linalg.norm(upper - lower))
        center = 0.5 * (lower + upper)
        cell = 10.0 ** np.floor(np.log10(0.3 * size))
        scene.add_grid(
            '/floor', width=3.0 * size, height=3.0 * size, cell_size=cell, section_size=10.0 * cell,
            position=(center[0], center[1], lower[2] - 0.01 * size),
        )  # fmt: skip
        look = np.array([0.0, -0.4, 2.0] if machine.planar else [1.35, -1.15, 0.6])
        server.initial_camera.position = tuple(center + 0.95 * size * look / np.linalg.norm(look))
        server.initial_camera.look_at = tuple(center)
        self._own = [self._add(scene, '/machine', number, shape) for number, shape in enumerate(self._shapes.shapes)]
        self._links = self._frames(scene, '/machine', home)
        plate = [shape for shape in self._shapes.shapes if shape.link in self._shapes.platform_links]
        for number, shape in enumerate(plate):
            self._add(scene, '/truth', number, shape, TRUTH, 0.45)
        self._truth = self._frames(scene, '/truth', {shape.link: home[shape.link] for shape in plate})
        self._covariance = scene.add_icosphere('/covariance', 1.0, COVARIANCE, opacity=0.5, visible=False)
        self._colors = ForceColors(machine) if machine.has_platform else None
        self._painted: Array | None = None
        columns = machine.drive_columns.tolist()
        self._drives = [
            [number for number, place in enumerate(columns) if part.start <= place < part.stop]
            for part in machine.leg_slices
        ]
        self._driven_legs = {leg.name for leg, own in zip(machine.legs, self._drives, strict=True) if own}

    def show(self, moment: Moment) -> None:
        """Draw one instant.

        Raises
        ------
        KinematicsError
            No joint angles at this pose: a wild estimate.
        """
        shown = moment.shown
        if shown is not None:
            self._place(self._links, self._shapes.at_pose(shown.position, shown.rotation))
        elif moment.joint_positions is not None:
            self._place(self._links, self._shapes.at(moment.joint_positions, None, None))
        self.enlarged = self.enlargement or self._visible(moment)
        self._show_truth(shown, moment.truth if moment.estimate is not None else None)
        self._show_covariance(moment.estimate)
        self._paint(moment.forces if self.shows_forces else None)

    def _visible(self, moment: Moment) -> float:
        """Power of ten that brings errors and covariance to a part of the machine's size, from 1 to 10 000."""
        if moment.estimate is None:
            return 1.0
        widest = ELLIPSOID * float(np.sqrt(np.linalg.eigvalsh(moment.estimate.position_covariance)[-1].clip(0.0)))
        if moment.truth is not None:
            widest = max(widest, float(np.linalg.norm(moment.truth.position - moment.estimate.position)))
        if widest <= 0.0:
            return 1.0
        return float(10.0 ** np.clip(np.floor(np.log10(_WIDEST * self._size / widest)), 0.0, 4.0))

    def _show_truth(self, shown: BodyPose | None, truth: BodyPose | None) -> None:
        visible = truth is not None and shown is not None and self.shows_truth
        for frame in self._truth.values():
            frame.visible = visible
        if not visible or truth is None or shown is None:
            return
        position = shown.position + self.enlarged * (truth.position - shown.position)
        turn = Rotation.from_matrix(truth.rotation @ shown.rotation.T).as_rotvec()
        rotation = Rotation.from_rotvec(self.enlarged * turn).as_matrix() @ shown.rotation
        self._place(self._truth, self._shapes.platform_at(position, rotation))

    def _show_covariance(self, estimate: BodyPose | None) -> None:
        self._covariance.visible = bool(
            estimate is not None and self.shows_covariance and np.diag(estimate.position_covariance).max() > 0.0
        )
        if estimate is None or not self._covariance.visible:
            return
        variances, axes = np.linalg.eigh(estimate.position_covariance)
        axes[:, 0] *= np.linalg.det(axes)  # right-handed
        half = ELLIPSOID * self.enlarged * np.sqrt(np.maximum(variances, 0.0))
        self._covariance.position = tuple(estimate.position)
        self._covariance.wxyz = _wxyz(axes)
        self._covariance.scale = tuple(np.maximum(half, 1e-9))

    def _paint(self, forces: Array | None) -> None:
        """Colour the legs; colours that did not change are not sent."""
        if self._colors is None:
            return
        plain = forces is None
        of_drive = np.full((self._machine.actuated_count, 3), -1.0)
        if forces is not None:
            of_drive = np.round(self._colors(forces), 2)
        of_leg: Array = of_drive[self._drive_of_leg(forces)]
        for handle, shape in zip(self._own, self._shapes.shapes, strict=True):
            if shape.leg is None or self._machine.legs[shape.leg].name not in self._driven_legs:
                continue
            if self._painted is None or not np.array_equal(of_leg[shape.leg], self._painted[shape.leg]):
                handle.color = _bytes(shape.color if plain else of_leg[shape.leg])
        self._painted = of_leg

    def _drive_of_leg(self, forces: Array | None) -> NDArray[np.int64]:
        """Drive (L,) that gives each leg its colour: the one that pushes most; of legs without a drive any."""
        size = np.zeros(self._machine.actuated_count) if forces is None else np.nan_to_num(np.abs(forces))
        chosen = [own[int(np.argmax(size[own]))] if own else 0 for own in self._drives]
        return np.array(chosen, dtype=np.int64)

    @staticmethod
    def _frames(scene: Any, root: str, poses: LinkPoses) -> dict[str, Any]:
        return {
            link: scene.add_frame(f'{root}/{link}', False, position=tuple(origin), wxyz=_wxyz(turn))
            for link, (origin, turn) in poses.items()
        }

    @staticmethod
    def _place(frames: dict[str, Any], poses: LinkPoses) -> None:
        for link, frame in frames.items():
            origin, turn = poses[link]
            frame.position, frame.wxyz = tuple(origin), _wxyz(turn)

    @staticmethod
    def _add(
        scene: Any,
        root: str,
        number: int,
        shape: LinkShape,
        color: tuple[int, ...] = (),
        opacity: float | None = None,
    ) -> Any:
        name = f'{root}/{shape.link}/{number}'
        options = {'position': tuple(shape.position), 'wxyz': _wxyz(shape.rotation), 'opacity': opacity}
        color = color or _bytes(shape.color)
        if shape.kind == 'box':
            return scene.add_box(name, color, shape.size, **options)
        if shape.kind == 'sphere':
            return scene.add_icosphere(name, shape.size[0], color, **options)
        return scene.add_cylinder(name, shape.size[0], shape.size[1], color, **options)


def _wxyz(rotation: Array) -> tuple[float, ...]:
    return tuple(np.roll(quaternion_from_matrix(rotation), 1).tolist())


def _bytes(color: Array) -> tuple[int, ...]:
    return tuple(round(255.0 * float(part)) for part in color)
