"""A mechanism cut into legs: joints from the base on, and closures; what a machine file is written from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pkm_description.arrays import Array
from pkm_description.machine import Leg, RigidBody
from pkm_description.machine.joint_arrays import JointArrays
from pkm_description.machine.parts import Placement

#: link name of the base in machine files
BASE = 'base_link'


@dataclass(frozen=True)
class BallFrames:
    """Frames of a ball joint in two bodies of the file; they coincide where its three turns are zero."""

    first: str
    first_frame: Placement
    second: str
    second_frame: Placement


@dataclass(frozen=True)
class Mechanism(JointArrays):
    """A mechanism cut into legs: joints from the base on, whose parents are named, and closures.

    Attributes
    ----------
    name, source, gravity, notes : as of the graph
    platform : in the platform's link frame
    home : pose of the platform in the base
    legs : see the class
    held : joints of the file that were held, and where
    bodies : body of the file -> body of the mechanism that it is part of, and its frame there
    springs : stiffness [N/m or N m/rad] of the springs at joints, by the joint's name
    balls : ball joints that stand as turns about x, y and z: their frames on both bodies of the file
    """

    name: str
    source: str
    gravity: Array
    platform: RigidBody
    home: Placement  # type: ignore[assignment]
    legs: tuple[Leg, ...]
    held: dict[str, float] = field(default_factory=dict)
    bodies: dict[str, tuple[str, Placement]] = field(default_factory=dict)
    springs: dict[str, float] = field(default_factory=dict)
    balls: dict[str, BallFrames] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

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
