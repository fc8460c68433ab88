"""What a file says of a mechanism, whatever its format: bodies, what joins them; and the same cut into legs."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation import rotation_about_axis
from pkm_description.machine import JointLimits, Leg, Pose, RigidBody
from pkm_description.machine.joint_arrays import JointArrays
from pkm_description.machine.parts import HERE, Placement


def turned(axis: Array, angle: float) -> Placement:
    """Turn by an angle [rad] about a unit vector (3,) through the origin."""
    return Placement(rotation=rotation_about_axis(np.asarray(axis), np.array(angle)))


def motion_of(kind: str, axis: Array, position: float) -> Placement:
    """Motion of a joint at a position [rad, m]: a turn about its axis (3,), or along it; of other kinds none."""
    if kind == 'revolute':
        return turned(axis, position)
    return Placement(np.asarray(axis) * position) if kind == 'prismatic' else HERE


def frame_along(axis: Array, point: Array | None = None) -> Placement:
    """Frame whose z axis is a unit vector (3,), at a point (3,) m."""
    axis = axis / np.linalg.norm(axis)
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    origin = np.zeros(3) if point is None else np.asarray(point, dtype=float)
    return Placement(origin, np.column_stack([x, np.cross(axis, x), axis]))


def angle_about(axis: Array, rotation: Array) -> float:
    """Angle [rad] of the turn about a unit vector (3,) that comes nearest to a rotation (3, 3)."""
    skew = rotation - rotation.T
    sine = 0.5 * axis @ np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
    cosine = 0.5 * (np.trace(rotation) - axis @ rotation @ axis)
    return float(np.arctan2(sine, cosine))


class ImportMachineError(PkmError):
    """A file that cannot become a machine: what is wrong, with which value, and what to do."""


@dataclass(frozen=True)
class JointValues(JointLimits):
    """What a file says of a joint besides its geometry: limits, and what is zero where it is silent. SI units.

    Attributes
    ----------
    viscous, coulomb : N m s/rad or N s/m, N m or N
    rotor_inertia : kg m^2 or kg
    stiffness : N m/rad or N/m of a spring at the joint
    """

    viscous: float = 0.0
    coulomb: float = 0.0
    rotor_inertia: float = 0.0
    stiffness: float = 0.0


@dataclass(frozen=True)
class Link:
    """What joins two bodies: a joint of the tree, a closed loop, or a rigid connection.

    The second body's pose in the first is ``first_frame @ motion @ second_frame.inverse``, where the motion is a turn
    about (or a displacement along) ``axis``; universal joints turn about ``axis``, then about ``second_axis``.

    Attributes
    ----------
    name : as in the file
    kind : ``fixed``, ``revolute``, ``prismatic``, ``universal``, ``ball``, or, between base
        and a body, ``free`` or ``planar`` (x, y and about z of the joint frame)
    first, second : names of the bodies; in a tree the parent and the child
    first_frame, second_frame : pose of the joint frame in both bodies
    axis, second_axis : (3,) unit vectors, joint frame
    position : rad or m at the start, for revolute and prismatic joints of the tree
    driven : whether a motor acts
    values : see the class
    is_loop : whether it closes a loop of the file's tree
    """

    name: str
    kind: str
    first: str
    second: str
    first_frame: Placement = HERE
    second_frame: Placement = HERE
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    second_axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    position: float = 0.0
    driven: bool = False
    values: JointValues = field(default_factory=JointValues)
    is_loop: bool = False

    def positions(self, motion: Placement, near: Sequence[float] | Array) -> list[float]:
        """Positions [m, rad] that come nearest to a motion; balls and free bodies have none.

        Parameters
        ----------
        near : as many positions; angles are those within half a turn around them
        """
        if self.kind == 'prismatic':
            return [float(self.axis @ motion.position)]
        if self.kind not in ('revolute', 'planar', 'universal'):
            return []
        angles, slides = [angle_about(self.axis, motion.rotation)], []
        if self.kind == 'planar':
            slides = motion.position[:2].tolist()
        elif self.kind == 'universal':
            there = motion.rotation @ self.second_axis
            first = float(np.arctan2(self.axis @ np.cross(self.second_axis, there), self.second_axis @ there))
            angles = [first, angle_about(self.second_axis, turned(self.axis, -first).rotation @ motion.rotation)]
        wanted = zip(angles, near[len(slides) :], strict=False)
        return slides + [angle + 2.0 * np.pi * round((close - angle) / (2.0 * np.pi)) for angle, close in wanted]

    @property
    def as_closure(self) -> tuple[str, Placement]:
        """Kind of closure that the link is, and the closure's frame in both joint frames."""
        if self.kind == 'revolute':
            return 'pin', frame_along(self.axis)
        if self.kind == 'universal':
            across = np.cross(self.axis, self.second_axis)
            return self.kind, Placement(rotation=np.column_stack([self.axis, self.second_axis, across]))
        return self.kind, HERE

    def other(self, body: str) -> str:
        """Name of the body on the other side."""
        return self.second if body == self.first else self.first

    def from_side(self, body: str) -> Link:
        """Return the same link with ``body`` as its first one; joint positions keep their sign."""
        if body == self.first:
            return self
        if self.kind == 'universal':
            axis, second_axis = -self.second_axis, -self.axis
        else:
            axis, second_axis = -self.axis, self.second_axis
        return replace(
            self, first=self.second, second=self.first, first_frame=self.second_frame, second_frame=self.first_frame,
            axis=axis, second_axis=second_axis,
        )  # fmt: skip


def walk(links: Iterable[Link], start: str, without: Collection[str] = (), by_branch: bool = False) -> Iterator[Link]:
    """Links that lead from a body to others, one to each, seen from the body before it.

    Parameters
    ----------
    without : bodies that are not entered
    by_branch : one branch after the other, each to its end; else the nearest bodies first
    """
    at: dict[str, list[Link]] = {}
    for link in links:
        at.setdefault(link.first, []).append(link)
        at.setdefault(link.second, []).append(link)
    known, waiting = {start, *without}, deque((start, link) for link in at.get(start, []))
    while waiting:
        body, link = waiting.popleft()
        other = link.other(body)
        if other not in known:
            known.add(other)
            yield link.from_side(body)
            ahead = [(other, one) for one in at[other]]
            waiting = deque([*ahead, *waiting] if by_branch else [*waiting, *ahead])


def reachable(links: Iterable[Link], start: str, without: Collection[str] = ()) -> set[str]:
    """Bodies that links connect with one, itself included, not passing the bodies of ``without``."""
    return {start, *(link.second for link in walk(links, start, without))}


@dataclass(frozen=True)
class FromFile:
    """What a mechanism keeps of its file, whatever is made of it.

    Attributes
    ----------
    name : of the machine
    source : file name, for texts
    gravity : (3,) m/s^2 in the base
    notes : what was assumed, left out or lost, as sentences
    """

    name: str
    source: str
    gravity: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def noting(self, *notes: str) -> Self:
        """Return the same with more notes."""
        return replace(self, notes=(*self.notes, *notes))


@dataclass(frozen=True)
class Graph(FromFile):
    """A mechanism as a file has it.

    Attributes
    ----------
    bodies : by name
    links : joints, loops and rigid connections
    base : name of the body that stands still
    places : pose of every body in the base at the start, from the file's own tree
    frames : name of a frame -> body that has it, and its pose there; of links, joints and sites
    link_frames : names of those that are links
    couplings : pairs of joints whose positions the file ties to each other
    """

    bodies: dict[str, RigidBody]
    links: tuple[Link, ...]
    base: str
    places: dict[str, Placement]
    frames: dict[str, tuple[str, Placement]]
    couplings: tuple[tuple[str, str], ...] = ()
    link_frames: frozenset[str] = frozenset()

    def links_of(self, body: str) -> list[Link]:
        """Links at a body."""
        return [link for link in self.links if body in (link.first, link.second)]

    def link(self, name: str) -> Link:
        """Link of a name.

        Raises
        ------
        ImportMachineError
            There is none.
        """
        for link in self.links:
            if link.name == name:
                return link
        raise ImportMachineError(
            f'{self.source}: no joint {name!r}; joints: {", ".join(link.name for link in self.links)}'
        )

    def frame(self, name: str) -> tuple[str, Placement]:
        """Body that has a frame, and the frame's pose there.

        Raises
        ------
        ImportMachineError
            There is none.
        """
        if name not in self.frames:
            raise ImportMachineError(f'{self.source}: no link {name!r}; links: {", ".join(self.frames)}')
        return self.frames[name]


#: link name of the base in machine files
BASE = 'base_link'


@dataclass(frozen=True)
class Mechanism(FromFile, JointArrays):
    """A mechanism cut into legs: joints from the base on, whose parents are named, and closures.

    Attributes
    ----------
    platform : in the platform's link frame
    home : pose of the platform in the base
    legs : see the class
    held : joints of the file that were held, and where
    bodies : body of the file -> body of the mechanism that it is part of, and its frame there
    freedom : of the platform where no leg holds it: ``free``, or ``planar``
    springs : stiffness [N/m or N m/rad] of the springs at joints, by the joint's name
    raised : bodies whose inertia had to be raised to what a machine file takes
    """

    platform: RigidBody
    home: Pose
    legs: tuple[Leg, ...]
    held: dict[str, float] = field(default_factory=dict)
    bodies: dict[str, tuple[str, Placement]] = field(default_factory=dict)
    freedom: str = 'free'
    springs: dict[str, float] = field(default_factory=dict)
    raised: tuple[str, ...] = ()

    @cached_property
    def size(self) -> float:
        """Length [m] with which the machine's sizes are compared."""
        places = [joint.place.position for joint in self.joints] + [self.home.position]
        return float(max(np.linalg.norm(place) for place in places)) or 1.0
