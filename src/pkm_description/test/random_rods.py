"""Machines of random legs that are rods: driven sliders and cranks with universal joints or hinges, driven lengths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Freedom, Leg, Machine, Pose, RigidBody
from random_graphs import PLATFORM, LegBuilder, any_rotation


class RodBuilder(LegBuilder):
    """Adds the joints of rods at random places."""

    def drive(self, kind: str, parent: int) -> int:
        """Add a driven joint."""
        home = self.random.uniform(-1.0, 1.0)
        return self.add(
            kind, self.direction(kind), self.place(1.0), any_rotation(self.random, self.planar), home, parent, True
        )

    def hinge(self, parent: int) -> int:
        """Add a passive hinge; returns its body."""
        turned, home = any_rotation(self.random, self.planar), self.random.uniform(-1.0, 1.0)
        return self.add('revolute', self.direction('revolute'), self.place(0.5), turned, home, parent)

    def universal(self, parent: int) -> tuple[int, Array]:
        """Add a universal joint; returns its outer body, and the direction there that its second axis has."""
        first = self.hinge(parent)
        axis = self.joints[first].axis
        second = np.cross(axis, self.random.normal(size=3))
        second /= np.linalg.norm(second)
        turned = any_rotation(self.random, False)
        # the second axis crosses the first one somewhere
        where = self.random.uniform(-0.3, 0.3) * axis
        body = self.add('revolute', turned.T @ second, where, turned, self.random.uniform(-1.0, 1.0), first)
        return body, turned.T @ second

    def rod(self, parent: int, spins: bool, driven: bool) -> None:
        """Add universal joint and rod, closed by a ball; ``spins``: a ball joint; ``driven``: a slide."""
        body, across = self.universal(parent)
        along = np.cross(across, self.random.normal(size=3))
        along *= self.random.uniform(0.6, 1.2) / np.linalg.norm(along)
        end = along
        if driven:
            slide = np.cross(across, self.random.normal(size=3))
            slide /= np.linalg.norm(slide)
            body = self.add('prismatic', slide, 0.5 * along, np.eye(3), self.random.uniform(0.0, 0.2), body, True)
            end = 0.5 * along
        elif spins:
            unit = along / np.linalg.norm(along)
            home = self.random.uniform(-1.0, 1.0)
            body = self.add('revolute', unit, np.zeros(3), np.eye(3), home, body)
        self.ball(body, end)

    def ball(self, body: int, end: Array) -> None:
        """Close a point of a body on the platform where it is at home."""
        self.close('pin' if self.planar else 'ball', body, PLATFORM, end)


def random_leg(name: str, home: Pose, planar: bool, hinged: bool, random: np.random.Generator) -> Leg:
    """Leg of one drive and a rod; on a hinge it holds one motion of the platform, in a plane none."""
    builder = RodBuilder(name, home, planar, random)
    kind = str(random.choice(['revolute', 'prismatic']))
    if random.random() < 0.3:
        if hinged:
            body = builder.drive('prismatic', builder.hinge(-1))
            builder.ball(body, builder.place(0.5))
        else:
            builder.rod(-1, False, True)
    elif hinged:
        builder.ball(builder.hinge(builder.drive(kind, -1)), builder.place(1.0))
    else:
        builder.rod(builder.drive(kind, -1), random.random() < 0.3, False)
    return builder.leg()


def random_rods(seed: int) -> Machine:
    """Machine of rods, with as many drives as degrees of freedom or one more."""
    random = np.random.default_rng(seed)
    planar = random.random() < 0.3
    home = Pose(random.uniform(-0.5, 0.5, 3) * ([1.0, 1.0, 0.0] if planar else 1.0), any_rotation(random, planar))
    hinged = 3 if planar else int(random.integers(0, 4))
    others = 0 if planar else 6 - 2 * hinged
    extra = int(random.random() < 0.2)
    kinds = [True] * (hinged + extra * planar) + [False] * (others + extra * (not planar))
    legs = [
        random_leg(f'leg{index + 1}', home, planar, bool(kinds[index]), random) for index in range(len(kinds))
    ]
    freedom: Freedom = 'planar' if planar else 'free'
    platform = RigidBody('platform_link', 1.0, np.zeros(3), 0.1 * np.eye(3))
    return Machine(
        f'rods_{seed}', Path('none'), '', np.array([0.0, 0.0, -9.81]), home, platform, tuple(legs), freedom=freedom
    )
