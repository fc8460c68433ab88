"""Machines with mixed legs, drawn at random, for comparisons with an engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import scaled_condition
from pkm_description.machine import Machine, Pose
from scipy.spatial.transform import Rotation

from verification.engines.random_legs import (
    FREE,
    HOLDING,
    Layout,
    LegMaker,
    leg_of,
    planar_leg,
    random_body,
)

#: condition number at home (turns scaled by the platform radius) above which a machine is drawn again
WORST_CONDITION = 50.0


def random_machines(count: int, seed: int) -> Iterator[Machine]:
    """Machines with a regular home; every fifth is planar, about every fourth has more drives than it needs."""
    random = np.random.default_rng(seed)
    made = 0
    while made < count:
        machine = _machine(random, planar=made % 5 == 4)
        home = machine.home
        legs = close_legs(machine, home.position[None], home.rotation_base_platform[None])
        if float(scaled_condition(legs)[0]) < WORST_CONDITION:
            made += 1
            yield machine


def _machine(random: np.random.Generator, planar: bool) -> Machine:
    makers = _makers(random, planar)
    count = len(makers)
    radius = random.uniform(0.5, 1.5)
    around = np.sort(2.0 * np.pi * np.arange(count) / count + random.uniform(-0.25, 0.25, count))
    spread = np.array([1.0, 1.0, 0.0 if planar else 1.0])
    bases = _circle(radius, around) + 0.1 * radius * random.normal(size=(count, 3)) * spread
    points = _circle(radius * random.uniform(0.4, 0.6), around + random.choice([-1.0, 1.0], count) * 0.6)
    points = points + 0.1 * radius * random.normal(size=(count, 3)) * spread
    if planar:
        position = np.array([*random.uniform(-0.1, 0.1, 2) * radius, 0.0])
        rotation = np.asarray(Rotation.from_rotvec([0.0, 0.0, random.uniform(-0.3, 0.3)]).as_matrix())
        gravity = np.array([*random.normal(size=2), 0.0]) * 5.0
    else:
        position = np.array([*random.uniform(-0.1, 0.1, 2), random.uniform(0.9, 1.3)]) * radius
        rotation = np.asarray(Rotation.from_rotvec(random.uniform(-0.2, 0.2, 3)).as_matrix())
        gravity = np.array([0.0, 0.0, -9.80665]) + random.normal(size=3)
    anchors = position + points @ rotation.T
    platform = 'platform_link', position, rotation
    layouts = [maker(base, anchor, random) for maker, base, anchor in zip(makers, bases, anchors, strict=True)]
    legs = tuple(
        leg_of(layout, f'leg{number}', platform, planar, random) for number, layout in enumerate(layouts, start=1)
    )
    return Machine(
        name='-'.join(maker.__name__ for maker in makers), path=Path('random'), description='random machine',
        gravity=gravity, home=Pose(position, rotation), platform=random_body('platform_link', 20.0, 0.3, random),
        legs=legs, freedom='planar' if planar else 'free',
    )  # fmt: skip


def _circle(radius: float, angles: Array) -> Array:
    return radius * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))])


def _makers(random: np.random.Generator, planar: bool) -> list[LegMaker]:
    """Legs with at least as many drives as they leave the platform degrees of freedom, in any order."""
    redundant = int(random.random() < 0.25)
    if planar:
        return [planar_leg] * (3 + redundant)
    makers: list[LegMaker] = []
    freedoms = 6
    for _ in range(int(random.integers(0, 4))):
        maker = HOLDING[int(random.integers(len(HOLDING)))]
        held = _probe(maker).constraints
        if freedoms - held >= 2:
            makers.append(maker)
            freedoms -= held
    drives = sum(_drives(maker) for maker in makers)
    while drives < freedoms + redundant:
        maker = FREE[int(random.integers(len(FREE)))]
        makers.append(maker)
        drives += _drives(maker)
    return [makers[int(place)] for place in random.permutation(len(makers))]


def _probe(maker: LegMaker) -> Layout:
    return maker(np.zeros(3), np.array([0.2, 0.1, 1.0]), np.random.default_rng(0))


def _drives(maker: LegMaker) -> int:
    return sum(joint.driven for joint in _probe(maker).joints)
