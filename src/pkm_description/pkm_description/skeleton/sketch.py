"""Data of a skeleton: the joints of a leg, and the positions of the legs."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor

import numpy as np

from pkm_description.arrays import Array


@dataclass(frozen=True)
class BodySketch:
    """A body in the frame of its joint: mass [kg], centre of mass [m], principal moments [kg m^2] about it."""

    name: str
    mass: float
    center_of_mass: tuple[float, float, float]
    moments: tuple[float, float, float]


@dataclass(frozen=True)
class JointSketch:
    """A joint of every leg.

    Attributes
    ----------
    key : in ``leg_chain``
    kind : ``revolute`` or ``prismatic``
    axis, offset : (3,), and (3,) m in the body before it
    home : (L,) roughly where the joint is at home
    limits : lower and upper
    note : what it is
    """

    key: str
    kind: str
    axis: tuple[float, float, float]
    body: BodySketch
    home: Array
    limits: tuple[float, float]
    note: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    driven: bool = False


@dataclass(frozen=True)
class Sketch:
    """A machine whose numbers are chosen.

    Attributes
    ----------
    joints, tip : chain of every leg, and the closing point (3,) m in the last body
    base_points, platform_points : (L, 3) m
    azimuths : (L,) rad, of the base points; the legs' base frames are turned by them
    home : (3,) m, wished position of the platform
    platform : its body
    planar : whether it moves in the plane only
    note : what the legs are
    """

    joints: tuple[JointSketch, ...]
    tip: tuple[float, float, float]
    base_points: Array
    platform_points: Array
    azimuths: Array
    home: tuple[float, float, float]
    platform: BodySketch
    planar: bool = False
    note: str = field(default='')


def rod_body(name: str, mass: float, length: float, along: str, start: float = 0.0) -> BodySketch:
    """Slender bar of a length [m] along an axis of its frame, from ``start`` on."""
    across = two_digits(mass * length**2 / 12.0)
    moments, center = [across] * 3, [0.0] * 3
    place = 'xyz'.index(along)
    moments[place], center[place] = two_digits(0.03 * across), round(start + 0.5 * length, 4)
    return BodySketch(name, mass, (center[0], center[1], center[2]), (moments[0], moments[1], moments[2]))


def block_body(name: str, mass: float, size: float) -> BodySketch:
    """Block of about equal sides [m]."""
    moment = two_digits(mass * size**2 / 6.0)
    return BodySketch(name, mass, (0.0, 0.0, 0.0), (moment, moment, moment))


def disc_body(name: str, mass: float, radius: float) -> BodySketch:
    """Flat disc about z."""
    across = two_digits(mass * radius**2 / 4.0)
    return BodySketch(name, mass, (0.0, 0.0, 0.0), (across, across, float(f'{1.9 * across:.4g}')))


def two_digits(value: float) -> float:
    """A round number near by."""
    return float(f'{value:.2g}')


def around(values: Array, margin: float) -> tuple[float, float]:
    """Round limits around values, with a margin on both sides."""
    return floor(10.0 * (float(np.min(values)) - margin)) / 10.0, ceil(10.0 * (float(np.max(values)) + margin)) / 10.0
