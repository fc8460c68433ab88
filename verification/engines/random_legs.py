"""Legs of many kinds, laid out at random: chains and trees, with several drives or none, with loops of their own.

A leg is laid out in space at home, then cut into joint frames that are turned at random and joints that are at random
positions there, so that nothing is aligned with anything by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Closure, Joint, JointFriction, JointLimits, Leg, RigidBody
from scipy.spatial.transform import Rotation

#: bodies of a leg are named by their places; these are the others that closures hold
BASE, PLATFORM = -1, -2


@dataclass(frozen=True)
class PlacedJoint:
    """Joint at home: axis and a point on it, base axes; ``parent``: place of the body that carries it."""

    kind: str
    axis: Array
    point: Array
    parent: int
    driven: bool = False
    massless: bool = False


@dataclass
class Layout:
    """A leg at home: joints, and closures (kind, body, other body, point); constraints that it puts on the platform."""

    joints: list[PlacedJoint] = field(default_factory=list)
    closures: list[tuple[str, int, int, Array]] = field(default_factory=list)
    constraints: int = 0

    def add(self, kind: str, axis: Array, point: Array, parent: int | None = None, driven: bool = False) -> int:
        """Add a joint, by default on the body of the one before; returns its place."""
        before = len(self.joints) - 1 if parent is None else parent
        self.joints.append(PlacedJoint(kind, unit(axis), point, before, driven))
        return len(self.joints) - 1

    def change(self, places: Sequence[int], **fields: Any) -> None:
        """Drive joints, or take their bodies' mass away."""
        for place in places:
            self.joints[place] = replace(self.joints[place], **fields)

    def close(self, kind: str, point: Array, other: int = PLATFORM, body: int | None = None) -> None:
        """Add a closure, by default of the last body."""
        self.closures.append((kind, len(self.joints) - 1 if body is None else body, other, point))


def unit(vector: Array) -> Array:
    """Vector of length one."""
    return np.asarray(vector / np.linalg.norm(vector))


def rod(layout: Layout, start: Array, end: Array, random: np.random.Generator, parent: int | None = None) -> int:
    """Two revolute joints at ``start`` that point a rod to ``end``; returns the rod's place."""
    along = unit(end - start)
    first = unit(np.cross(along, random.normal(size=3)))
    layout.add('revolute', first + 0.1 * random.normal(size=3), start, parent)
    return layout.add('revolute', np.cross(along, first) + 0.1 * random.normal(size=3), start)


def _ups(base: Array, anchor: Array, random: np.random.Generator, driven: tuple[int, ...] = (2,)) -> Layout:
    layout = Layout()
    rod(layout, base, anchor, random)
    layout.add('prismatic', anchor - base + 0.05 * random.normal(size=3), 0.5 * (base + anchor))
    layout.change(driven, driven=True)
    return layout


def ups(base: Array, anchor: Array, random: np.random.Generator, driven: tuple[int, ...] = (2,)) -> Layout:
    """Universal joint and driven strut on a ball."""
    layout = _ups(base, anchor, random, driven)
    layout.close('ball', anchor)
    return layout


def two_drives(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """The same, the first turn driven, too."""
    return ups(base, anchor, random, (0, 2))


def rus(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """Driven crank, and a rod between universal joint and ball."""
    layout = Layout()
    elbow = 0.5 * (base + anchor) + 0.3 * np.linalg.norm(anchor - base) * unit(random.normal(size=3))
    across = np.cross(elbow - base, anchor - elbow)
    layout.add('revolute', across + 0.1 * np.linalg.norm(across) * random.normal(size=3), base, driven=True)
    rod(layout, elbow, anchor, random)
    layout.close('ball', anchor)
    return layout


def pus(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """Driven slide, and a rod between universal joint and ball."""
    layout = Layout()
    layout.add('prismatic', np.array([0.0, 0.0, 1.0]) + 0.3 * random.normal(size=3), base, driven=True)
    rod(layout, base, anchor, random)
    layout.close('ball', anchor)
    return layout


def rps(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """Revolute joint and driven strut on a ball: holds one direction."""
    layout, along = Layout(constraints=1), anchor - base
    layout.add('revolute', np.cross(along, random.normal(size=3)), base)
    layout.add('prismatic', along, 0.5 * (base + anchor), driven=True)
    layout.close('ball', anchor)
    return layout


def upu(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """Universal joint, driven strut, universal joint: holds one direction."""
    layout = _ups(base, anchor, random)
    layout.constraints = 1
    layout.close('universal', anchor)
    return layout


def passive_up(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """Universal joint and strut without a drive, fixed to the platform: holds three directions."""
    layout = _ups(base, anchor, random, ())
    layout.constraints = 3
    layout.close('fixed', anchor)
    return layout


def parallelogram(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """Driven crank with two rods side by side, each between universal joint and ball: holds one direction."""
    layout = Layout(constraints=1)
    elbow = 0.5 * (base + anchor) + 0.3 * np.linalg.norm(anchor - base) * unit(random.normal(size=3))
    axis = unit(np.cross(elbow - base, anchor - elbow))
    crank = layout.add('revolute', axis + 0.1 * random.normal(size=3), base, driven=True)
    for side in (-0.15, 0.15):
        beside = side * axis
        end = anchor + beside + 0.02 * random.normal(size=3)
        rod(layout, elbow + beside, end, random, crank)
        layout.close('ball', end)
    return layout


def pinned(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """Universal joint, driven strut and two more joints at its end, pinned to the platform: leaves it free."""
    layout = _ups(base, anchor, random)
    for _ in range(2):
        layout.add('revolute', random.normal(size=3), anchor + 0.05 * random.normal(size=3))
    layout.close('pin', anchor)
    return layout


def fixed(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """Universal joint, driven strut and three more joints at its end, fixed to the platform: leaves it free."""
    layout = _ups(base, anchor, random)
    for axis in Rotation.random(random_state=int(random.integers(2**31))).as_matrix():
        layout.add('revolute', axis, anchor + 0.03 * random.normal(size=3))
    layout.close('fixed', anchor)
    return layout


def _rocker(base: Array, anchor: Array, random: np.random.Generator) -> tuple[Layout, float, Array, Array]:
    """A first joint that turns an arm; size of the leg, knee at the arm's end, axis."""
    layout, size = Layout(), float(np.linalg.norm(anchor - base))
    knee = 0.5 * (base + anchor) + 0.25 * size * unit(random.normal(size=3))
    axis = np.cross(knee - base, anchor - knee)
    layout.add('revolute', axis, base)
    return layout, size, knee, axis


def rocker(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """A rocker that a slide on the base moves through a rod, a loop inside the leg; from the rocker a rod on a ball."""
    layout, size, knee, axis = _rocker(base, anchor, random)
    arm = 0
    foot = base + 0.3 * size * unit(np.cross(axis, [0.0, 0.0, 1.0]) + 0.2 * random.normal(size=3))
    held = 0.5 * (base + knee) + 0.05 * size * random.normal(size=3)
    slide = layout.add('prismatic', np.cross(unit(axis), unit(knee - base)), foot, BASE, driven=True)
    layout.close('ball', held, arm, rod(layout, foot, held, random, slide))
    rod(layout, knee, anchor, random, arm)
    layout.close('ball', anchor)
    return layout


def propped(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """A rocker propped up by a driven strut that ends in a ball on the base; from the rocker a rod on a ball."""
    layout, size, knee, axis = _rocker(base, anchor, random)
    arm = 0
    foot = base + 0.35 * size * unit(np.cross(axis, knee - base)) + 0.05 * size * random.normal(size=3)
    held = 0.6 * (base + knee) - 0.1 * base
    rod(layout, held, foot, random, arm)
    strut = layout.add('prismatic', foot - held, 0.5 * (held + foot), driven=True)
    layout.close('ball', foot, BASE, strut)
    rod(layout, knee, anchor, random, arm)
    layout.close('ball', anchor)
    return layout


def sps(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """Strut between two balls, the first one three turns through a point, whose crosses have no mass: turns idly."""
    layout, along = Layout(), unit(anchor - base)
    first = unit(np.cross(along, random.normal(size=3)))
    for axis in (first, np.cross(along, first), along):
        layout.add('revolute', axis, base)
    layout.change((0, 1), massless=True)
    layout.add('prismatic', along, 0.5 * (base + anchor), driven=True)
    layout.close('ball', anchor)
    return layout


LegMaker = Callable[[Array, Array, np.random.Generator], Layout]
FREE: Sequence[LegMaker] = (ups, two_drives, rus, pus, pinned, fixed, rocker, propped, sps)
HOLDING: Sequence[LegMaker] = (rps, upu, passive_up, parallelogram)


def planar_leg(base: Array, anchor: Array, random: np.random.Generator) -> Layout:
    """R-R, P-R or R-P in the plane, closed by a pin, or with one more joint fixed to the platform."""
    layout, z = Layout(), np.array([0.0, 0.0, 1.0])
    reach = anchor - base
    beside = np.cross(z, reach)
    kinds = ('revolute', 'revolute'), ('prismatic', 'revolute'), ('revolute', 'prismatic')
    first, second = kinds[int(random.integers(3))]
    middle = base + 0.5 * reach + random.uniform(0.4, 0.8) * beside
    slide = reach + random.uniform(-0.5, 0.5) * beside
    layout.add(first, z if first == 'revolute' else slide, base, driven=first == 'prismatic' or second == 'revolute')
    place = base if first == 'prismatic' else middle
    layout.add(second, z if second == 'revolute' else slide, place, driven=second == 'prismatic')
    if random.random() < 0.3:
        layout.add('revolute', z, anchor)
        layout.close('fixed', anchor)
    else:
        layout.close('pin', anchor)
    return layout


def random_body(name: str, mass: float, size: float, random: np.random.Generator) -> RigidBody:
    """Body of a mass [kg] and a size [m] that some distribution of mass has."""
    root = size * random.normal(size=(3, 3))
    spread = root @ root.T / 3.0 + 0.01 * size**2 * np.eye(3)
    return RigidBody(name, mass, 0.3 * size * random.normal(size=3), mass * (np.trace(spread) * np.eye(3) - spread))


def leg_of(
    layout: Layout, name: str, platform: tuple[str, Array, Array], planar: bool, random: np.random.Generator
) -> Leg:
    """Leg whose joints and closures are where the layout has them when all joints are at home.

    Parameters
    ----------
    platform : link name, position (3,) m, rotation (3, 3) at home
    """
    frames = {BASE: ('base_link', np.zeros(3), np.eye(3)), PLATFORM: platform}
    joints = []
    for place, one in enumerate(layout.joints):
        turns = one.kind == 'revolute'
        home = random.uniform(-0.4, 0.4) if turns else random.uniform(0.1, 0.3)
        turned = np.asarray(Rotation.random(random_state=int(random.integers(2**31))).as_matrix())
        if planar:
            turned = np.asarray(Rotation.from_rotvec([0.0, 0.0, random.uniform(-3.0, 3.0)]).as_matrix())
        link, origin, rotation = frames[one.parent]
        axis = turned.T @ one.axis
        at_zero = turned @ Rotation.from_rotvec(-home * axis).as_matrix() if turns else turned
        start = one.point if turns else one.point - home * one.axis
        body = random_body(f'{name}_body{place}', random.uniform(0.5, 5.0), 0.1, random)
        if one.massless:
            body = RigidBody(body.name, 0.0, np.zeros(3), np.zeros((3, 3)))
        joints.append(
            Joint(
                f'{name}_joint{place}', one.kind, axis, rotation.T @ (start - origin), rotation.T @ at_zero, one.driven,
                JointLimits(effort=1e5), JointFriction.viscous_coulomb(*random.uniform(0.5, 5.0, size=2)), body, home,
                random.uniform(0.1, 2.0) if one.driven else 0.0, '' if one.parent == place - 1 else link,
            )
        )  # fmt: skip
        frames[place] = body.name, one.point, turned
    closures = []
    for number, (kind, first, second, point) in enumerate(layout.closures):
        axes = np.asarray(Rotation.random(random_state=int(random.integers(2**31))).as_matrix())
        if planar:
            axes = np.eye(3)
        held = frames[first], frames[second]
        (body_name, at, own), (other, other_at, others) = (
            (link, turn.T @ (point - origin), turn.T @ axes) for link, origin, turn in held
        )
        closures.append(Closure(f'{name}_closure{number}', kind, body_name, at, other, other_at, own, others))
    return Leg(name, tuple(joints), tuple(closures))
