"""Random machines of every kind for property tests: general joint points, axes, link frames and bodies.

Legs are laid out in space at home, and cut into joints by :mod:`verification.engines.random_legs`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from hand_built_machines import polar
from hypothesis import assume
from hypothesis import strategies as st
from other_machines import machine_of
from pkm_description.arrays import Array
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import scaled_condition
from pkm_description.machine import Leg, Machine, Pose
from scipy.spatial.transform import Rotation

from verification.engines.random_legs import PLATFORM, Layout, PlacedJoint, leg_of, random_body, unit

#: joint of a leg at home: kind, axis and a point on it, base axes
Placed = tuple[str, Array, Array]

#: condition number at home (turns scaled by the platform radius) above which a machine is drawn again
WORST_CONDITION = 30.0


def across(vector: Array, direction: Array) -> Array:
    """Unit vector of the part of a vector that is normal to a direction."""
    along = unit(direction)
    return unit(vector - (vector @ along) * along)


def leg_at_home(
    name: str, placed: Sequence[Placed], driven: int, tip: Array, home: Pose, planar: bool, random: np.random.Generator
) -> Leg:
    """Leg whose joints are where they are given, and its tip at ``tip``, when all joints are at home."""
    joints = [PlacedJoint(*joint, place - 1, place == driven) for place, joint in enumerate(placed)]
    layout = Layout(joints, [('ball', len(joints) - 1, PLATFORM, tip)])
    return leg_of(layout, name, ('platform_link', home.position, home.rotation_base_platform), planar, random)


def closed_machine(
    count: int, radius: float, seed: int, leg: Callable[..., tuple[list[Placed], int]], planar: bool = False
) -> Machine:
    """Machine with ``count`` legs around a platform at a random home pose.

    ``leg(base, anchor, random)`` lays out a leg from base point to platform joint: joints and which of them is driven.
    """
    random = np.random.default_rng(seed)
    if count == 6:
        base_angles = [corner + side * random.uniform(8, 20) for corner in (0, 120, 240) for side in (-1, 1)]
        angles = [corner + side * random.uniform(40, 52) for corner in (0, 120, 240) for side in (-1, 1)]
    else:
        base_angles = list(np.array([0.0, 120.0, 240.0]) + random.uniform(-10, 10, 3))
        # in the plane, legs that all point to the centre would leave the platform free to turn
        angles = list(np.array(base_angles) + (45.0 if planar else 0.0) + random.uniform(-8, 8, 3))
    spread = [1.0, 1.0, 0.0] if planar else [1.0, 1.0, 1.0]
    bases = polar(radius, base_angles) + 0.03 * radius * random.normal(size=(count, 3)) * spread
    points = polar(radius * random.uniform(0.4, 0.6), angles) + 0.03 * radius * random.normal(size=(count, 3)) * spread
    if planar:
        home = Pose(
            np.array([*random.uniform(-0.1, 0.1, 2) * radius, 0.0]),
            Rotation.from_rotvec([0.0, 0.0, random.uniform(-0.3, 0.3)]).as_matrix(),
        )
        gravity = np.array([*random.normal(size=2), 0.0]) * 5.0
    else:
        home = Pose(
            np.array([*random.uniform(-0.05, 0.05, 2), random.uniform(0.9, 1.3)]) * radius,
            Rotation.from_rotvec(random.uniform(-0.1, 0.1, 3)).as_matrix(),
        )
        gravity = np.array([0.0, 0.0, -9.80665]) + random.normal(size=3)
    anchors = home.position + points @ home.rotation_base_platform.T
    legs = []
    for index, (base, anchor) in enumerate(zip(bases, anchors, strict=True)):
        placed, driven = leg(base, anchor, random)
        legs.append(leg_at_home(f'leg{index + 1}', placed, driven, anchor, home, planar, random))
    machine = machine_of(legs, home, 'planar' if planar else 'free', gravity)
    return dataclasses.replace(machine, platform=random_body('platform_link', random.uniform(5, 40), 0.2, random))


def tangent(base: Array, random: np.random.Generator, jitter: float) -> Array:
    """Roughly horizontal direction along the base circle."""
    return unit(np.cross([0.0, 0.0, 1.0], unit(base * [1.0, 1.0, 0.0])) + jitter * random.normal(size=3))


def ups_leg(base: Array, anchor: Array, random: np.random.Generator) -> tuple[list[Placed], int]:
    strut = unit(anchor - base)
    second = across(np.cross(strut, tangent(base, random, 0.2)), strut)
    first = across(tangent(base, random, 0.2), second)
    return [('revolute', first, base), ('revolute', second, base), ('prismatic', strut, 0.5 * (base + anchor))], 2


def skew_rrp_leg(base: Array, anchor: Array, random: np.random.Generator) -> tuple[list[Placed], int]:
    """Like U-P, but axes neither meet nor are normal to each other, and the slide passes beside the ball joint."""
    (first, second, slide), driven = ups_leg(base, anchor, random)
    beside = 0.05 * np.linalg.norm(anchor - base)
    return [
        ('revolute', unit(first[1] + 0.15 * random.normal(size=3)), base),
        ('revolute', unit(second[1] + 0.15 * random.normal(size=3)), base + beside * random.normal(size=3)),
        ('prismatic', unit(slide[1] + 0.1 * random.normal(size=3)), slide[2] + beside * random.normal(size=3)),
    ], driven


def pus_leg(base: Array, anchor: Array, random: np.random.Generator) -> tuple[list[Placed], int]:
    rail = unit(np.array([0.0, 0.0, 1.0]) + 0.15 * random.normal(size=3))
    (_, first, _), (_, second, _), _ = ups_leg(base, anchor, random)[0]
    return [('prismatic', rail, base), ('revolute', first, base), ('revolute', second, base)], 0


def rps_leg(base: Array, anchor: Array, random: np.random.Generator) -> tuple[list[Placed], int]:
    strut = unit(anchor - base)
    axis = across(tangent(base, random, 0.1), strut)
    return [('revolute', axis, base), ('prismatic', strut, 0.4 * base + 0.6 * anchor)], 1


def prs_leg(base: Array, anchor: Array, random: np.random.Generator) -> tuple[list[Placed], int]:
    rail = unit(np.array([0.0, 0.0, 1.0]) - 0.3 * unit(base) + 0.1 * random.normal(size=3))
    return [('prismatic', rail, base), ('revolute', across(tangent(base, random, 0.1), anchor - base), base)], 0


def planar_leg(kinds: tuple[str, str]) -> Callable[..., tuple[list[Placed], int]]:
    """P-R, R-R or R-P in the plane, closed by a pin."""
    z = np.array([0.0, 0.0, 1.0])

    def leg(base: Array, anchor: Array, random: np.random.Generator) -> tuple[list[Placed], int]:
        reach = anchor - base
        beside = np.cross(z, reach)
        if kinds == ('prismatic', 'revolute'):
            rail = unit(reach + random.uniform(-0.6, 0.6) * beside)
            return [('prismatic', rail, base), ('revolute', z, base)], 0
        if kinds == ('revolute', 'revolute'):
            elbow = base + 0.5 * reach + random.uniform(0.4, 0.8) * beside
            return [('revolute', z, base), ('revolute', z, elbow)], 0
        slide = unit(reach + random.uniform(-0.2, 0.2) * beside)
        return [('revolute', z, base), ('prismatic', slide, base + 0.4 * reach)], 1

    return leg


CLOSED_KINDS: dict[str, Callable[[float, int], Machine]] = {
    '6-UPS': lambda radius, seed: closed_machine(6, radius, seed, ups_leg),
    '6-RRPS skew': lambda radius, seed: closed_machine(6, radius, seed, skew_rrp_leg),
    '6-PUS': lambda radius, seed: closed_machine(6, radius, seed, pus_leg),
    '3-RPS': lambda radius, seed: closed_machine(3, radius, seed, rps_leg),
    '3-PRS': lambda radius, seed: closed_machine(3, radius, seed, prs_leg),
    'planar 3-PRR': lambda r, seed: closed_machine(3, r, seed, planar_leg(('prismatic', 'revolute')), planar=True),
    'planar 3-RRR': lambda r, seed: closed_machine(3, r, seed, planar_leg(('revolute', 'revolute')), planar=True),
    'planar 3-RPR': lambda r, seed: closed_machine(3, r, seed, planar_leg(('revolute', 'prismatic')), planar=True),
}

#: rigid-body base parameters of each kind, bodies of each leg their own: whatever the dimensions. 88 is Heimann and
#: Abdellatif's figure for six U-P legs with rings, 25 that of Mata et al. for a 3-RPS
BASE_PARAMETERS = {
    '6-UPS': 88, '6-RRPS skew': 88, '6-PUS': 70, '3-RPS': 25, '3-PRS': 19,
    'planar 3-PRR': 13, 'planar 3-RRR': 19, 'planar 3-RPR': 19,
}  # fmt: skip


@st.composite
def closed_mechanisms(draw: st.DrawFn, kind: str) -> Machine:
    """Machine of a kind with a regular home pose."""
    machine = CLOSED_KINDS[kind](draw(st.floats(0.4, 1.5)), draw(st.integers(0, 2**31 - 1)))
    pose = machine.home.position[None], machine.home.rotation_base_platform[None]
    assume(float(scaled_condition(close_legs(machine, *pose))[0]) < WORST_CONDITION)
    return machine


@st.composite
def open_chains(draw: st.DrawFn) -> Machine:
    """One or two serial chains of up to four joints, axes anywhere, the first joint driven."""
    kinds = draw(st.lists(st.sampled_from(['revolute', 'prismatic']), min_size=1, max_size=4))
    random = np.random.default_rng(draw(st.integers(0, 2**31 - 1)))
    legs, home = [], Pose(np.zeros(3), np.eye(3))
    for index in range(draw(st.integers(1, 2))):
        points = np.cumsum(0.3 * random.normal(size=(len(kinds), 3)), axis=0)
        placed = [(kind, unit(random.normal(size=3)), point) for kind, point in zip(kinds, points, strict=True)]
        legs.append(leg_at_home(f'chain{index + 1}', placed, 0, points[-1], home, False, random))
    gravity = 9.80665 * unit(random.normal(size=3))
    return machine_of(legs, home, 'none', gravity)
