"""Visual geometry (bars, rails) of the exported models, without mass or collisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.machine import Leg, Machine

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


def drawing_size(machine: Machine) -> float:
    """Length that scales the drawing, m: radius of the base, or on machines without one the longest other distance."""
    distances = [float(np.linalg.norm(machine.base_points - machine.base_points.mean(axis=0), axis=1).max())]
    if min(distances) <= 0.0:
        distances.append(float(np.linalg.norm(machine.home.position)))
        distances += [float(np.linalg.norm(part)) for leg in machine.legs for part in _links(leg)]
    return max(distances) or 1.0


def _links(leg: Leg) -> list[Array]:
    return [leg.tip, *(joint.translation for joint in leg.joints)]


def ring(points: Array, radius: float, color: str) -> list[Bar]:
    """Bars from point to point (L, 3) m, ordered around their centre; legs may share a point, that gives no bar."""
    centred = points - points.mean(axis=0)
    order = np.argsort(np.arctan2(centred[:, 1], centred[:, 0]))
    ends = np.roll(points[order], -1, axis=0)
    bars = [Bar(start, end, radius, color) for start, end in zip(points[order], ends, strict=True)]
    return [bar for bar in bars if np.linalg.norm(bar.end - bar.start) > 0.1 * radius]


def rail(leg: Leg, radius: float) -> list[Bar]:
    """Rail below a leg that starts with a slider, from limit to limit, in ``base_link``."""
    joint = leg.joints[0]
    ends = np.array([joint.limits.lower, joint.limits.upper])
    if joint.kind != 'prismatic' or not np.isfinite(ends).all():
        return []
    axis = joint.rotation_parent_joint @ joint.axis
    start, end = joint.translation + ends[:, None] * axis
    return [Bar(start, end, 0.7 * radius, 'base')]


def leg_bars(leg: Leg, radius: float) -> dict[str, Bar]:
    """Link name -> its bar: from its joint to the next one; links without length have none."""
    bars = {}
    for joint, following in zip(leg.joints, [*leg.joints[1:], None], strict=True):
        start, end, thick, color = np.zeros(3), leg.tip, radius, 'rod'
        if following is None:
            if joint.kind == 'prismatic':  # a rod reaches back into its cylinder
                start = leg.tip - 0.85 * leg.length_at_zero * joint.axis
            elif not leg.tip.any():  # the end of an open chain: to the centre of mass and as far again
                end = 2.0 * joint.body.center_of_mass
        elif following.kind == 'prismatic':
            end = 0.85 * (following.translation + following.rotation_parent_joint @ leg.tip)
            thick, color = 2.0 * radius, 'cylinder'
        else:
            end = following.translation
            if joint.kind == 'prismatic' and not end.any():  # a slider
                start, end = -2.0 * radius * joint.axis, 2.0 * radius * joint.axis
                thick, color = 2.0 * radius, 'cylinder'
        if np.linalg.norm(end - start) > 0.1 * radius:
            bars[joint.body.name] = Bar(start, end, thick, color)
    return bars
