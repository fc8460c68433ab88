"""Visual geometry (bars, rails) of the exported models, without mass or collisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.machine import Joint, Leg, Machine
from pkm_description.machine.machine import closure_points
from pkm_description.machine.parts import Placement

#: red, green, blue, opacity
COLORS = {
    'base': '0.25 0.27 0.30 1',
    'cylinder': '0.35 0.40 0.47 1',
    'rod': '0.80 0.82 0.85 1',
    'platform': '0.10 0.45 0.70 1',
}


@dataclass(frozen=True)
class Bar:
    """A round bar from ``start`` to ``end`` (3,) m in a link's frame; ``color`` is a key of :data:`COLORS`."""

    start: Array
    end: Array
    radius: float
    color: str

    @property
    def length(self) -> float:
        """Length in m."""
        return float(np.linalg.norm(self.end - self.start))

    @property
    def place(self) -> Placement:
        """Its middle, z along it."""
        along = (self.end - self.start) / self.length
        turn = Rotation.align_vectors(along[None], [[0.0, 0.0, 1.0]])[0].as_matrix()
        return Placement(0.5 * (self.start + self.end), turn)


def base_joint_points(machine: Machine) -> Array:
    """Points (B, 3) m in ``base_link`` where legs are mounted or closed."""
    points = []
    for leg in machine.legs:
        points += [joint.translation for joint, parent in zip(leg.joints, leg.parents, strict=True) if parent < 0]
        points += closure_points(leg, 'base_link')
    return np.array(points, dtype=float)


def platform_joint_points(machine: Machine) -> Array:
    """Points (C, 3) m in ``platform_link`` where legs end."""
    points = [point for leg in machine.legs for point in closure_points(leg, machine.platform.name)]
    return np.array(points, dtype=float).reshape(-1, 3)


def drawing_size(machine: Machine) -> float:
    """Length that scales the drawing, m: radius of the base, or on machines without one the longest other distance."""
    points = base_joint_points(machine)
    distances = [float(np.linalg.norm(points - points.mean(axis=0), axis=1).max())]
    if min(distances) <= 0.0:
        distances.append(float(np.linalg.norm(machine.home.position)))
        parts = [closure.point for closure in machine.closures] + [joint.translation for joint in machine.joints]
        distances += [float(np.linalg.norm(part)) for part in parts]
    return max(distances) or 1.0


def ring(points: Array, radius: float, color: str) -> list[Bar]:
    """Bars from point to point (P, 3) m, ordered around their centre; legs may share a point, that gives no bar."""
    centred = points - points.mean(axis=0)
    order = np.argsort(np.arctan2(centred[:, 1], centred[:, 0]))
    ends = np.roll(points[order], -1, axis=0)
    bars = [Bar(start, end, radius, color) for start, end in zip(points[order], ends, strict=True)]
    return [bar for bar in bars if bar.length > 0.1 * radius]


def rail(leg: Leg, radius: float) -> list[Bar]:
    """Rails below the sliders of a leg that slide on the base, from limit to limit, in ``base_link``."""
    bars = []
    for joint, parent in zip(leg.joints, leg.parents, strict=True):
        ends = np.array([joint.limits.lower, joint.limits.upper])
        if parent < 0 and joint.kind == 'prismatic' and np.isfinite(ends).all():
            axis = joint.rotation_parent_joint @ joint.axis
            start, end = joint.translation + ends[:, None] * axis
            bars.append(Bar(start, end, 0.7 * radius, 'base'))
    return bars


def machine_bars(machine: Machine, radius: float) -> dict[str, list[Bar]]:
    """Link name -> its bars, which get their thickness from a radius [m]; base and platform have an entry anyway."""
    bars = {'base_link': ring(base_joint_points(machine), 1.2 * radius, 'base')}
    for leg in machine.legs:
        bars['base_link'] += rail(leg, radius)
        bars |= leg_bars(leg, radius)
    if machine.has_platform:
        bars[machine.platform.name] = ring(platform_joint_points(machine), 2.0 * radius, 'platform')
    return bars


def leg_bars(leg: Leg, radius: float) -> dict[str, list[Bar]]:
    """Link name -> its bars: from its joint to the next ones and to its closures; links without length have none."""
    bars = {}
    for place, joint in enumerate(leg.joints):
        own = [bar for bar in _body_bars(leg, place, radius) if bar.length > 0.1 * radius]
        if own:
            bars[joint.body.name] = own
    return bars


def next_joints(leg: Leg, place: int) -> list[Joint]:
    """Joints that the body of the joint at ``place`` carries."""
    return [joint for joint, parent in zip(leg.joints, leg.parents, strict=True) if parent == place]


def _body_bars(leg: Leg, place: int, radius: float) -> list[Bar]:
    joint, origin = leg.joints[place], np.zeros(3)
    following, points = next_joints(leg, place), closure_points(leg, leg.joints[place].body.name)
    if not following and not any(point.any() for point in points) and joint.kind == 'revolute':
        # the end of an open chain: to the centre of mass and as far again
        return [Bar(origin, 2.0 * joint.body.center_of_mass, radius, 'rod')]
    bars = []
    for point in points:
        # a rod reaches back into its cylinder
        back = 0.85 * float(np.linalg.norm(joint.translation + joint.rotation_parent_joint @ point))
        start = point - back * joint.axis if joint.kind == 'prismatic' else origin
        bars.append(Bar(start, point, radius, 'rod'))
    for one in following:
        if one.kind == 'prismatic':
            ends = closure_points(leg, one.body.name) or [origin]
            end = 0.85 * (one.translation + one.rotation_parent_joint @ ends[0])
            bars.append(Bar(origin, end, 2.0 * radius, 'cylinder'))
        elif joint.kind == 'prismatic' and not one.translation.any():  # a slider
            half = 2.0 * radius * joint.axis
            bars.append(Bar(-half, half, 2.0 * radius, 'cylinder'))
        else:
            bars.append(Bar(origin, one.translation, radius, 'rod'))
    return bars
