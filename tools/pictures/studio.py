"""Pictures of machines: the bars of their models, rendered by MuJoCo without a screen; and the gallery of all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import matplotlib
import mujoco
import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from pkm_bringup.viewer.scene import LinkBar, LinkPoses, MachineShapes
from pkm_description.arrays import Array
from pkm_description.loading import load_machine, machine_names
from pkm_description.machine import Leg, Machine

from pictures.results import STYLE, save

_COLUMNS = 5
#: the machine's diagonal in the picture's world, m: light and shadow suit this size
_WORLD_SIZE = 2.0
#: pixels are rendered so many times finer, and averaged
_FINER = 2

_WORLD = """
<mujoco>
  <statistic extent="2.2" center="0 0 0"/>
  <visual>
    <global offwidth="{width}" offheight="{height}" fovy="{field:g}"/>
    <quality shadowsize="4096" offsamples="0"/>
    <headlight ambient=".5 .5 .5" diffuse=".3 .3 .3" specular=".05 .05 .05"/>
    <map shadowclip="2.5" znear="0.01" zfar="60"/>
  </visual>
  <asset>
    <texture name="sky" type="skybox" builtin="flat" rgb1="1 1 1" rgb2="1 1 1" width="8" height="8"/>
    <texture name="floor" type="2d" builtin="flat" mark="edge" rgb1="1 1 1" rgb2="1 1 1" markrgb=".86 .88 .9"
             width="512" height="512"/>
    <material name="floor" texture="floor" texuniform="true" texrepeat="2 2" emission=".3" specular="0"/>
  </asset>
  <worldbody>
    <light pos="1.2 -1.6 5" dir="-.25 .3 -1" directional="true" diffuse=".3 .3 .3" specular=".2 .2 .2"/>
    <geom type="plane" size="0 0 .1" material="floor" pos="0 0 {floor:.6g}"/>
  </worldbody>
</mujoco>
"""


class Ellipsoid(NamedTuple):
    """Ellipsoid at a position (3,) m, axes the columns of a rotation (3, 3), half axes (3,) m."""

    position: Array
    rotation: Array
    half_axes: Array


class DrawnBody(NamedTuple):
    """Bars at poses; ``colors`` (N, 3) take the place of the bars' own, ``opacity`` from 0 to 1."""

    bars: Sequence[LinkBar]
    poses: LinkPoses
    colors: Array | None = None
    opacity: float = 1.0


class Studio:
    """A camera in front of one machine, on a white floor; to be closed (``with``).

    Parameters
    ----------
    machine : any machine
    size : width and height of the pictures, pixels
    view : azimuth and elevation of the camera's look, degrees
    distance : of the camera, in diagonals of the machine
    """

    def __init__(
        self,
        machine: Machine,
        size: tuple[int, int] = (480, 420),
        view: tuple[float, float] = (40.0, -16.0),
        distance: float = 1.48,
    ) -> None:
        self.shapes = MachineShapes(machine)
        home = self.shapes.home()
        lower, upper = self.shapes.box(home)
        self._center, extent = 0.5 * (lower + upper), float(np.linalg.norm(upper - lower))
        self._scale = _WORLD_SIZE / extent
        floor = (lower - self._center)[2] - 0.01 * extent
        self._size = size
        width, height = _FINER * size[0], _FINER * size[1]
        text = _WORLD.format(width=width, height=height, field=32.0, floor=floor * self._scale)
        self._model = mujoco.MjModel.from_xml_string(text)
        self._data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, self._data)
        self._renderer = mujoco.Renderer(self._model, height, width)
        self._camera = mujoco.MjvCamera()
        self._camera.azimuth, self._camera.elevation = view
        self._camera.distance = distance * _WORLD_SIZE

    def __enter__(self) -> Studio:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._renderer.close()

    def take(self, bodies: Sequence[DrawnBody], ellipsoids: Sequence[tuple[Ellipsoid, Array]] = ()) -> Image.Image:
        """Picture of bodies, and of ellipsoids with their colours (4,)."""
        self._renderer.update_scene(self._data, self._camera)
        for body in bodies:
            for number, one in enumerate(body.bars):
                color = one.color if body.colors is None else body.colors[number]
                origin, rotation = body.poses[one.link]
                place = origin + rotation @ one.bar.place.position, rotation @ one.bar.place.rotation
                half = np.array([one.bar.radius, 0.5 * one.bar.length, 0.0])
                self._add(mujoco.mjtGeom.mjGEOM_CAPSULE, half, *place, np.append(color, body.opacity))
        for ellipsoid, rgba in ellipsoids:
            kind = mujoco.mjtGeom.mjGEOM_ELLIPSOID
            self._add(kind, ellipsoid.half_axes, ellipsoid.position, ellipsoid.rotation, rgba)
        image = Image.fromarray(self._renderer.render())
        return image.resize(self._size, Image.Resampling.LANCZOS)

    def _add(self, kind: int, half: Array, position: Array, rotation: Array, rgba: Array) -> None:
        scene = self._renderer.scene
        geom = scene.geoms[scene.ngeom]
        place = self._scale * (position - self._center)
        mujoco.mjv_initGeom(geom, kind, self._scale * half, place, rotation.ravel(), rgba.astype(np.float32))
        if rgba[3] == 1.0:  # what one looks through casts no shadow
            geom.category = mujoco.mjtCatBit.mjCAT_DYNAMIC
        geom.specular, geom.shininess = 0.3, 0.5
        scene.ngeom += 1


def gallery(path: Path) -> list[str]:
    """Render every machine of the suite; returns the caption."""
    machines = [load_machine(name) for name in machine_names()]
    rows = -(-len(machines) // _COLUMNS)
    with matplotlib.rc_context(STYLE | {'axes.grid': False}):
        figure = Figure(figsize=(2.4 * _COLUMNS, 2.5 * rows), layout='constrained')
        axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
        for axis in axes:
            axis.set_axis_off()
        for axis, machine in zip(axes, machines, strict=False):
            axis.imshow(portrait(machine))
            axis.set_title(machine.name, loc='center', pad=-4)
            axis.text(0.5, 0.0, kind_of(machine), transform=axis.transAxes, ha='center', va='top', fontsize=9)
        save(figure, path)
    return [f'{len(machines)} machine files, each at home, drawn from its own geometry']


def portrait(machine: Machine, size: tuple[int, int] = (480, 420)) -> object:
    """Picture of one machine at home; planar ones are seen from above."""
    planar = machine.has_platform and machine.freedom == 'planar'
    with Studio(machine, size, (90.0, -60.0) if planar else (40.0, -16.0)) as studio:
        return studio.take([DrawnBody(studio.shapes.bars, studio.shapes.home())])


def kind_of(machine: Machine) -> str:
    """Number of legs and letters of their joints, as in robot literature: 6-UPS."""
    if not machine.has_platform:
        return f'open chain, {len(machine.joints)} joints'
    kinds = [leg_letters(machine, leg) for leg in machine.legs]
    counted = [f'{kinds.count(kind)}-{kind}' for kind in dict.fromkeys(kinds)]
    return ('planar ' if machine.planar else '') + ', '.join(counted)


def leg_letters(machine: Machine, leg: Leg) -> str:
    """Letters of a leg's joints and its end; of a leg with loops of its own how many joints and closures it has."""
    if len(leg.closures) > 1:
        return f'leg of {len(leg.joints)} joints, {len(leg.closures)} closures'
    letters = ''.join('P' if joint.kind == 'prismatic' else 'R' for joint in leg.joints)
    if machine.planar:
        return letters + ('R' if leg.end.kind == 'pin' else '')
    ends = {'ball': 'S', 'universal': 'U', 'pin': 'R', 'fixed': ''}
    return letters.replace('RR', 'U') + ends[leg.end.kind]
