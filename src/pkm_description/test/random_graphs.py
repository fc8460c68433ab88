"""Machines of random legs, chains and trees closed by random couplings; and their closures by SciPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import (
    Closure,
    Freedom,
    Joint,
    JointFriction,
    JointLimits,
    Leg,
    Machine,
    Pose,
    RigidBody,
)
from scipy.spatial.transform import Rotation

#: rows of the closures in space and in a plane
ROWS = {'ball': 3, 'universal': 4, 'pin': 5, 'fixed': 6}
PLANAR_ROWS = {'pin': 2, 'fixed': 3}

#: bodies by place in a leg; the others
BASE, PLATFORM = -1, -2


def any_rotation(random: np.random.Generator, planar: bool) -> Array:
    """Random rotation matrix; of planar machines about z."""
    if planar:
        return np.asarray(Rotation.from_rotvec([0.0, 0.0, random.uniform(-3.0, 3.0)]).as_matrix())
    return np.asarray(Rotation.random(random_state=int(random.integers(2**31))).as_matrix())


class LegBuilder:
    """Adds joints and closures to a leg, with the poses of all bodies at home."""

    def __init__(self, name: str, home: Pose, planar: bool, random: np.random.Generator) -> None:
        self.name, self.planar, self.random = name, planar, random
        self.joints: list[Joint] = []
        self.closures: list[Closure] = []
        self.frames = {
            BASE: ('base_link', np.zeros(3), np.eye(3)),
            PLATFORM: ('platform_link', home.position, home.rotation_base_platform),
        }

    def add(
        self, kind: str, axis: Array, where: Array, turned: Array, home: float, parent: int, driven: bool = False
    ) -> int:
        """Add a joint; returns the new body."""
        place, (link, origin, rotation) = len(self.joints), self.frames[parent]
        body = RigidBody(f'{self.name}_body{place}', 1.0, np.zeros(3), 0.01 * np.eye(3))
        self.joints.append(
            Joint(
                f'{self.name}_joint{place}', kind, axis, where, turned, driven, JointLimits(), JointFriction(), body,
                home, 0.0, '' if parent == place - 1 else link,
            )
        )  # fmt: skip
        self.frames[place] = body.name, *moved(self.joints[-1], home, origin, rotation)
        return place

    def joint(self, parent: int | None = None) -> int:
        """Add a joint of a random kind at a random place of the parent, the body before; returns the new body."""
        random = self.random
        slides = sum(joint.kind == 'prismatic' for joint in self.joints)  # three of them have all directions
        kind = 'revolute' if random.random() < 0.7 or slides == (1 if self.planar else 2) else 'prismatic'
        where, turned = self.place(0.5), any_rotation(random, self.planar)
        axis = self.direction(kind)
        on = len(self.joints) - 1 if parent is None else parent
        return self.add(kind, axis, where, turned, random.uniform(-1.0, 1.0), on)

    def place(self, size: float) -> Array:
        """Random point, of planar machines in the plane."""
        return self.random.uniform(-size, size, 3) * ([1.0, 1.0, 0.0] if self.planar else [1.0, 1.0, 1.0])

    def direction(self, kind: str) -> Array:
        """Random axis of a joint."""
        axis = self.random.normal(size=3)
        if self.planar:
            axis = np.array([0.0, 0.0, axis[2]]) if kind == 'revolute' else axis * [1.0, 1.0, 0.0]
        return np.asarray(axis / np.linalg.norm(axis))

    def close(self, kind: str, body: int, other: int, point: Array | None = None) -> None:
        """Add a closure at a point, by default a random one, with random frames, that is closed at home."""
        link, origin, rotation = self.frames[body]
        other_link, other_origin, other_rotation = self.frames[other]
        point = self.place(0.4) if point is None else point
        frame, there = any_rotation(self.random, self.planar), origin + rotation @ point
        self.closures.append(
            Closure(
                f'{self.name}_closure{len(self.closures)}', kind, link, point, other_link,
                other_rotation.T @ (there - other_origin), frame, other_rotation.T @ rotation @ frame,
            )
        )  # fmt: skip

    def leg(self) -> Leg:
        return Leg(self.name, tuple(self.joints), tuple(self.closures))


def moved(joint: Joint, position: float, origin: Array, rotation: Array) -> tuple[Array, Array]:
    """Origin and rotation of the body behind a joint, from those of the body before it."""
    origin, rotation = origin + rotation @ joint.translation, rotation @ joint.rotation_parent_joint
    if joint.kind == 'revolute':
        return origin, rotation @ Rotation.from_rotvec(position * joint.axis).as_matrix()
    return origin + position * (rotation @ joint.axis), rotation


def random_machine(seed: int) -> Machine:
    """Machine of 1 to 6 legs without drives; every leg a chain of 1 to 6 joints, some with a loop of their own."""
    random = np.random.default_rng(seed)
    planar = random.random() < 0.25
    table = PLANAR_ROWS if planar else ROWS
    position = random.uniform(-1.0, 1.0, 3) * ([1.0, 1.0, 0.0] if planar else [1.0, 1.0, 1.0])
    home = Pose(position, any_rotation(random, planar))
    freedoms = 3 if planar else 6
    left, legs = freedoms - 2, []
    for index in range(int(random.integers(1, 7))):
        builder = LegBuilder(f'leg{index + 1}', home, planar, random)
        kind = str(random.choice(list(table)))
        rows = table[kind]
        held = int(random.integers(0, min(left, rows - 1) + 1))
        left -= held
        for _ in range(rows - held):
            body = builder.joint()
        if random.random() < 0.3:
            add_inner_loop(builder, planar, random)
        builder.close(kind, body, PLATFORM)
        legs.append(builder.leg())
    freedom: Freedom = 'planar' if planar else 'free'
    platform = RigidBody('platform_link', 1.0, np.zeros(3), 0.1 * np.eye(3))
    return Machine(
        f'random_{seed}', Path('none'), '', np.array([0.0, 0.0, -9.81]), home, platform, tuple(legs), freedom=freedom
    )


def add_inner_loop(builder: LegBuilder, planar: bool, random: np.random.Generator) -> None:
    """Add a branch with as many joints as its closure has rows, between any two bodies of the leg or the base."""
    table = PLANAR_ROWS if planar else {'ball': 3, 'universal': 4}
    kind = str(random.choice(list(table)))
    first, second = (int(one) for one in random.choice(np.arange(-1, len(builder.joints)), 2, replace=False))
    body = builder.joint(first)
    for _ in range(table[kind] - 1):
        body = builder.joint()
    builder.close(kind, body, second)


def closure_errors(machine: Machine, joints: Array, position: Array, rotation: Array) -> list[float]:
    """How far closures are from closed [m, 1], for one configuration; with nothing of the library's kinematics.

    Axes that must coincide are compared as they point, so that a closure that is upside down shows.
    """
    errors = []
    by_name = dict(zip(machine.joint_names, joints, strict=True))
    for leg in machine.legs:
        frames = {'base_link': (np.zeros(3), np.eye(3)), 'platform_link': (position, rotation)}
        before = 'base_link'
        for joint in leg.joints:
            frames[joint.body.name] = moved(joint, by_name[joint.name], *frames[joint.parent or before])
            before = joint.body.name
        for closure in leg.closures:
            (origin, turn), (other_origin, other_turn) = frames[closure.body], frames[closure.other]
            gap = origin + turn @ closure.point - other_origin - other_turn @ closure.other_point
            own, other = turn @ closure.rotation_body, other_turn @ closure.rotation_other
            errors.append(float(np.linalg.norm(gap)))
            if closure.kind == 'fixed':
                errors.append(float(np.abs(own - other).max()))
            elif closure.kind == 'pin':
                errors.append(float(np.abs(own[:, 2] - other[:, 2]).max()))
            elif closure.kind == 'universal':
                errors.append(abs(float(own[:, 0] @ other[:, 1])))
    return errors
