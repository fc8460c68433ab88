"""The machine, the true platform and the covariance in viser's three-dimensional scene."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.export.drawing import COLORS, Bar, drawing_size, machine_bars
from pkm_description.export.urdf import urdf_text
from pkm_description.export.urdf_loops import link_poses, urdf_joints
from pkm_description.kinematics import joint_positions
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine
from scipy.spatial.transform import Rotation

from pkm_bringup.viewer.moment import BodyPose, ForceColors, Moment

#: radius of bars in parts of the drawing's size, and least one in parts of the machine's: thinner ones are hard to see
_RADIUS, _LEAST_RADIUS = 0.01, 0.009
#: link -> (3,) m and (3, 3), in ``base_link``
LinkPoses = dict[str, tuple[Array, Array]]


class LinkBar(NamedTuple):
    """A bar of a link, and the leg (number from 0) that moves it; None for platform and base."""

    link: str
    leg: int | None
    bar: Bar

    @property
    def color(self) -> Array:
        """Red, green, blue (3,) from 0 to 1."""
        return np.array(COLORS[self.bar.color].split()[:3], dtype=float)


class MachineShapes:
    """Bars of one machine, any kind, as the models for MuJoCo and Gazebo have them, and the poses of its links.

    Parameters
    ----------
    machine : any machine

    Attributes
    ----------
    bars : all there are
    platform_links : links that move with the platform, empty on open chains
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._joints = urdf_joints(urdf_text(machine))
        self._on_platform: LinkPoses = {}
        if machine.has_platform:
            self._on_platform = link_poses(self._joints, {}, machine.platform.name)
        self.platform_links = frozenset(self._on_platform)
        radius = _RADIUS * drawing_size(machine)
        self.bars = self._drawn(radius)
        lower, upper = self.box(self.home())
        self.bars = self._drawn(max(radius, _LEAST_RADIUS * float(np.linalg.norm(upper - lower))))

    def _drawn(self, radius: float) -> list[LinkBar]:
        machine, bars = self.machine, machine_bars(self.machine, radius)
        if machine.has_platform and not bars[machine.platform.name]:  # a platform that is a point
            up = np.array([0.0, 0.0, 2.0 * radius])
            bars[machine.platform.name] = [Bar(-up, up, 2.0 * radius, 'platform')]
        legs = {joint.body.name: number for number, leg in enumerate(machine.legs) for joint in leg.joints}
        return [LinkBar(link, legs.get(link), bar) for link, own in bars.items() for bar in own]

    def box(self, poses: LinkPoses) -> tuple[Array, Array]:
        """Lower and upper corner (3,) m of the box around the boxes of all bars."""
        lower, upper = np.full(3, np.inf), np.full(3, -np.inf)
        for link, _, bar in self.bars:
            origin, turn = poses[link]
            middle = origin + turn @ bar.place.position
            reach = np.abs(turn @ bar.place.rotation) @ np.array([bar.radius, bar.radius, 0.5 * bar.length])
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
        self._own = [self._add(scene, '/machine', number, one) for number, one in enumerate(self._shapes.bars)]
        self._links = self._frames(scene, '/machine', home)
        plate = [one for one in self._shapes.bars if one.link in self._shapes.platform_links]
        for number, one in enumerate(plate):
            self._add(scene, '/truth', number, one, TRUTH, 0.45)
        self._truth = self._frames(scene, '/truth', {one.link: home[one.link] for one in plate})
        self._covariance = scene.add_icosphere('/covariance', 1.0, COVARIANCE, opacity=0.5, visible=False)
        self._colors = ForceColors(machine) if machine.has_platform else None
        self._painted = [_bytes(one.color) for one in self._shapes.bars]
        columns = machine.drive_columns.tolist()
        self._drives = [
            [number for number, place in enumerate(columns) if part.start <= place < part.stop]
            for part in machine.leg_slices
        ]

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
        """Colour each leg by the drive that pushes most; colours that did not change are not sent."""
        colors = [_bytes(one.color) for one in self._shapes.bars]
        if forces is not None and self._colors is not None:
            of_drive, size = np.round(self._colors(forces), 2), np.nan_to_num(np.abs(forces))
            of_leg = [_bytes(of_drive[max(own, key=size.__getitem__)]) if own else None for own in self._drives]
            legs = [one.leg for one in self._shapes.bars]
            colors = [plain if leg is None else of_leg[leg] or plain for leg, plain in zip(legs, colors, strict=True)]
        for handle, color, before in zip(self._own, colors, self._painted, strict=True):
            if color != before:
                handle.color = color
        self._painted = colors

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
        scene: Any, root: str, number: int, one: LinkBar, color: tuple[int, ...] = (), opacity: float | None = None
    ) -> Any:
        bar, name = one.bar, f'{root}/{one.link}/{number}'
        return scene.add_cylinder(
            name, bar.radius, bar.length, color or _bytes(one.color), position=tuple(bar.place.position),
            wxyz=_wxyz(bar.place.rotation), opacity=opacity,
        )  # fmt: skip


def _wxyz(rotation: Array) -> tuple[float, ...]:
    return tuple(np.roll(quaternion_from_matrix(rotation), 1).tolist())


def _bytes(color: Array) -> tuple[int, ...]:
    return tuple(round(255.0 * float(part)) for part in color)
