"""A mechanism cut into legs: joints from the base on, and closures; what a machine file is written from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pkm_description.arrays import Array
from pkm_description.importing.graph import JointValues, Placement
from pkm_description.machine import RigidBody

#: link name of the base in machine files
BASE = 'base_link'


@dataclass(frozen=True)
class CutJoint:
    """A revolute or prismatic joint and the body that it carries; the body's frame is the joint frame.

    Attributes
    ----------
    name : unique in the machine
    kind : ``'revolute'`` or ``'prismatic'``
    parent : name of the body that carries the joint
    place : joint frame at zero position in the parent body
    axis : (3,) unit vector, joint frame
    body : in the joint frame
    driven, values : as of the file's joint
    home : rad or m
    """

    name: str
    kind: str
    parent: str
    place: Placement
    axis: Array
    body: RigidBody
    driven: bool = False
    values: JointValues = field(default_factory=JointValues)
    home: float = 0.0


@dataclass(frozen=True)
class CutClosure:
    """What closes a loop, with a frame on either side.

    Attributes
    ----------
    kind : ``ball``, ``universal`` (x on ``body`` perpendicular to y on ``other``), ``pin`` (z axes coincide), ``fixed``
    body, other : names of bodies
    frame, other_frame : closure frames in them
    """

    name: str
    kind: str
    body: str
    frame: Placement
    other: str
    other_frame: Placement


@dataclass(frozen=True)
class CutLeg:
    """Joints and closures of one leg; a joint's parent stands before it."""

    name: str
    joints: tuple[CutJoint, ...]
    closures: tuple[CutClosure, ...]


@dataclass(frozen=True)
class BallFrames:
    """Frames of a ball joint in two bodies of the file; they coincide where its three turns are zero."""

    first: str
    first_frame: Placement
    second: str
    second_frame: Placement


@dataclass(frozen=True)
class Mechanism:
    """A mechanism cut into legs.

    Attributes
    ----------
    name, source, gravity, notes : as of the graph
    platform : in the platform's link frame
    home : pose of the platform in the base
    legs : see the class
    held : joints of the file that were held, and where
    bodies : body of the file -> body of the mechanism that it is part of, and its frame there
    balls : ball joints that stand as turns about x, y and z: their frames on both bodies of the file
    """

    name: str
    source: str
    gravity: Array
    platform: RigidBody
    home: Placement
    legs: tuple[CutLeg, ...]
    held: dict[str, float] = field(default_factory=dict)
    bodies: dict[str, tuple[str, Placement]] = field(default_factory=dict)
    balls: dict[str, BallFrames] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def joints(self) -> tuple[CutJoint, ...]:
        """All joints, leg by leg."""
        return tuple(joint for leg in self.legs for joint in leg.joints)

    @property
    def closures(self) -> tuple[CutClosure, ...]:
        """All closures, leg by leg."""
        return tuple(closure for leg in self.legs for closure in leg.closures)

    @property
    def drives(self) -> tuple[int, ...]:
        """Places of the driven joints among all."""
        return tuple(place for place, joint in enumerate(self.joints) if joint.driven)

    @property
    def home_positions(self) -> Array:
        """Positions of all joints at home (J,)."""
        return np.array([joint.home for joint in self.joints])

    def at_home(self, positions: Array, pose: Placement) -> Mechanism:
        """Return the same mechanism with another home: joint positions (J,) and the platform's pose."""
        values = iter(positions.tolist())
        legs = tuple(
            replace(leg, joints=tuple(replace(joint, home=next(values)) for joint in leg.joints)) for leg in self.legs
        )
        return replace(self, legs=legs, home=pose)

    def noting(self, *notes: str) -> Mechanism:
        """Return the same mechanism with more notes."""
        return replace(self, notes=(*self.notes, *notes))
