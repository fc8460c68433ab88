"""Kinds of machines that new_machine can write: their dimensions, and the numbers chosen for them.

The base frame of every leg has x radially outward, y along the circle (counter-clockwise from above) and z up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import acos, ceil, floor, pi

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation import rotation_about_axis

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
ORIGIN = (0.0, 0.0, 0.0)

#: rad, reach of passive joints and cranks to both sides of home
_MARGIN = 0.8


class SkeletonError(PkmError, ValueError):
    """Sizes that do not make a machine."""


@dataclass(frozen=True)
class Sizes:
    """Lengths of a skeleton in m; zero where the kind has no such length.

    Attributes
    ----------
    base_radius, platform_radius : of the circles of the joints
    base_pair_distance, platform_pair_distance : between the two joints of a pair (six legs)
    height : of the platform at home above the base (planar machines: none)
    stroke : of sliding drives
    crank : of turning drives
    rod : from the last leg joint to the platform joint; zero: a round length that fits the others
    """

    base_radius: float
    platform_radius: float
    base_pair_distance: float = 0.0
    platform_pair_distance: float = 0.0
    height: float = 0.0
    stroke: float = 0.0
    crank: float = 0.0
    rod: float = 0.0


#: kind -> what it is
KINDS: dict[str, str] = {
    '6ups': 'hexapod: universal joint, prismatic drive, ball joint',
    '6rus': 'hexapod: turning drive with a crank, universal joint, rod, ball joint',
    '6pus': 'hexapod: sliding drive, universal joint, rod, ball joint',
    '3rps': 'height and two tilts: hinge, prismatic drive, ball joint',
    '3prs': 'height and two tilts: sliding drive, hinge, rod, ball joint',
    '3rrs': 'height and two tilts: turning drive with a crank, hinge, rod, ball joint',
    '3prr': 'planar: sliding drive, pin, rod, pin',
    '3rrr': 'planar: turning drive with a crank, pin, rod, pin',
}

DEFAULTS: dict[str, Sizes] = {
    '6ups': Sizes(0.3, 0.2, 0.1, 0.1, height=0.5, stroke=0.2),
    '6rus': Sizes(0.3, 0.2, 0.1, 0.1, height=0.5, crank=0.15),
    '6pus': Sizes(0.4, 0.2, 0.15, 0.1, height=0.7, stroke=0.4),
    '3rps': Sizes(0.4, 0.25, height=0.6, stroke=0.3),
    '3prs': Sizes(0.4, 0.2, height=0.8, stroke=0.4),
    '3rrs': Sizes(0.3, 0.2, height=0.5, crank=0.2),
    '3prr': Sizes(0.3, 0.2, stroke=0.3),
    '3rrr': Sizes(0.4, 0.1, crank=0.25),
}


def sizes_of(kind: str, given: Mapping[str, float]) -> Sizes:
    """Sizes of a kind; lengths that are not given are in proportion to the base radius.

    Raises
    ------
    SkeletonError
        A kind that is not known, a length that the kind does not have or that is not positive.
    """
    if kind not in KINDS:
        raise SkeletonError(f'kind {kind!r} is not known; known are {", ".join(KINDS)}')
    default = {name: value for name, value in dataclasses.asdict(DEFAULTS[kind]).items() if value}
    # the drive of the others is followed by a rod
    known = [*default, *([] if kind in ('6ups', '3rps') else ['rod'])]
    for name, value in given.items():
        if name not in known:
            raise SkeletonError(f'{name} = {value:g}: a {kind} has no such length; it has {", ".join(known)}')
        if not 0.0 < value < 100.0:
            raise SkeletonError(f'{name} = {value:g}: give a length in m, more than 0 and less than 100')
    scale = given.get('base_radius', default['base_radius']) / default['base_radius']
    return Sizes(**({name: round(scale * value, 4) for name, value in default.items()} | dict(given)))


@dataclass(frozen=True)
class BodySketch:
    """A body in the frame of its joint: mass [kg], centre of mass [m], principal moments [kg m^2] about it."""

    name: str
    mass: float
    center_of_mass: Sequence[float]
    moments: Sequence[float]


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
    axis: Sequence[float]
    body: BodySketch
    home: Array
    limits: tuple[float, float]
    note: str
    offset: Sequence[float] = ORIGIN
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
    """

    joints: tuple[JointSketch, ...]
    tip: Sequence[float]
    base_points: Array
    platform_points: Array
    azimuths: Array
    home: Array
    platform: BodySketch
    planar: bool


#: joints of every leg, and the closing point in the last body
_Chain = tuple[tuple[JointSketch, ...], Sequence[float]]


def sketch_of(kind: str, sizes: Sizes) -> Sketch:
    """Choose all numbers of a machine.

    Raises
    ------
    SkeletonError
        The lengths do not fit together.
    """
    base, platform = _hexapod_points(sizes) if kind.startswith('6') else _triangle_points(kind, sizes)
    azimuths = np.arctan2(base[:, 1], base[:, 0]) % (2.0 * pi)
    home = np.array([0.0, 0.0, sizes.height])
    # base joint to platform joint at home, in the leg's base frame
    vectors = (rotation_about_axis(np.array(Z), -azimuths) @ (home + platform - base)[..., None])[..., 0]
    planar = {'3prr': _prr, '3rrr': _rrr}
    joints, tip = planar[kind](vectors, sizes) if kind in planar else _spatial(kind[1:], vectors, sizes)
    across = two_digits(5.0 * sizes.platform_radius**2 / 4.0)
    disc = BodySketch('platform', 5.0, ORIGIN, (across, across, float(f'{1.9 * across:.4g}')))
    return Sketch(joints, tip, base, platform, azimuths, home, disc, kind in planar)


def _hexapod_points(sizes: Sizes) -> tuple[Array, Array]:
    """Joint centres of six legs, counter-clockwise from +x."""
    try:
        base, platform = hexapod_layout(
            sizes.base_radius, sizes.platform_radius, sizes.base_pair_distance, sizes.platform_pair_distance
        )
    except ValueError as error:
        raise SkeletonError(str(error)) from None
    order = np.argsort(np.arctan2(base[:, 1], base[:, 0]) % (2.0 * pi))
    return base[order], platform[order]


def _triangle_points(kind: str, sizes: Sizes) -> tuple[Array, Array]:
    """Joint centres of three legs, counter-clockwise from +x; rods of a 3-PRR must not all point to the centre."""
    azimuths = np.array([0.0, 2.0, 4.0]) * (pi / 3.0)
    ahead = pi / 3.0 if kind == '3prr' else 0.0
    base, platform = (
        radius * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(3)])
        for radius, angles in ((sizes.base_radius, azimuths), (sizes.platform_radius, azimuths + ahead))
    )
    return base, platform


def _spatial(chain: str, vectors: Array, sizes: Sizes) -> _Chain:
    """Leg with a strut (``ups``, ``rps``), or with a crank or slider, then a universal joint or hinge, and a rod."""
    if chain[1] == 'p':
        length = float(np.linalg.norm(vectors, axis=1).mean())
        if length < 0.75 * sizes.stroke:
            raise SkeletonError(
                f'stroke = {sizes.stroke:g}: the legs are only {length:.4g} m long at home; give a shorter one'
            )
        shortest = round(length - 0.5 * sizes.stroke, 3)
        rod = round(0.8 * shortest, 3)
        # its frame lies in the joint at the platform
        strut = JointSketch(
            'prismatic', 'prismatic', Z, rod_body('rod', 1.0, rod, 'z', -rod),
            np.linalg.norm(vectors, axis=1) - shortest, (0.0, sizes.stroke),
            'the drive; position 0 is the shortest leg, offset is its length', (0.0, 0.0, shortest), driven=True,
        )  # fmt: skip
        return (*_passive(chain[0], vectors, ORIGIN, rod_body('cylinder', 2.0, shortest, 'z')), strut), ORIGIN
    if chain[0] == 'r':
        level = np.zeros(len(vectors))
        drive, end = JointSketch(
            'drive', 'revolute', (0.0, -1.0, 0.0), rod_body('crank', 1.0, sizes.crank, 'x'), level,
            around(level), 'the drive: turns a crank; at zero it points outward and is level, positive lifts it',
            driven=True,
        ), (sizes.crank, 0.0, 0.0)  # fmt: skip
        rest = vectors - np.array(end)
    else:
        drive, end = _slider(
            sizes, vectors, Z, 0.5, 'the drive: a slider on a vertical rail; position 0 is at the base point'
        ), ORIGIN
        rest = vectors - np.array([0.0, 0.0, 0.5 * sizes.stroke])
        if rest[:, 2].min() <= 0.2 * np.hypot(rest[:, 0], rest[:, 1]).max():
            raise SkeletonError(f'height = {sizes.height:g}: too low over sliders with a stroke of {sizes.stroke:g} m')
    rod = sizes.rod or _rod(rest)
    return (drive, *_passive(chain[1], rest, end, rod_body('rod', 1.0, rod, 'z'))), (0.0, 0.0, rod)


def _prr(vectors: Array, sizes: Sizes) -> _Chain:
    slider = _slider(sizes, vectors, Y, 0.0, 'the drive: a slider along the circle, counter-clockwise positive')
    rod = sizes.rod or _rod(vectors)
    angle = np.arctan2(vectors[:, 1], vectors[:, 0])
    pin = JointSketch(
        'revolute', 'revolute', Z, rod_body('rod', 1.0, rod, 'x'), angle, around(angle),
        'pin on the slider; at zero the rod points outward',
    )  # fmt: skip
    return (slider, pin), (rod, 0.0, 0.0)


def _rrr(vectors: Array, sizes: Sizes) -> _Chain:
    crank, rod = sizes.crank, sizes.rod or sizes.crank
    distance = float(np.hypot(vectors[:, 0], vectors[:, 1]).mean())
    if not abs(crank - rod) < 0.98 * distance < 0.98 * (crank + rod) * 0.98:
        raise SkeletonError(
            f'crank = {crank:g}, rod = {rod:g}: they do not reach over the {distance:.4g} m between base and platform '
            'joint at home with a bent elbow; make them longer or the radii more alike'
        )
    # law of cosines: at the base joint, and at the elbow
    at_base = acos((crank**2 + distance**2 - rod**2) / (2.0 * crank * distance))
    at_elbow = acos((crank**2 + rod**2 - distance**2) / (2.0 * crank * rod))
    first = np.arctan2(vectors[:, 1], vectors[:, 0]) % (2.0 * pi) - at_base
    second = np.full(len(vectors), pi - at_elbow)
    drive = JointSketch(
        'drive', 'revolute', Z, rod_body('crank', 1.0, crank, 'x'), first, around(first),
        'the drive: turns a crank; at zero it points outward, counter-clockwise is positive', driven=True,
    )  # fmt: skip
    pin = JointSketch(
        'elbow', 'revolute', Z, rod_body('rod', 1.0, rod, 'x'), second, around(second),
        'elbow; the sign of home says to which side it bends', (crank, 0.0, 0.0),
    )  # fmt: skip
    return (drive, pin), (rod, 0.0, 0.0)


def _slider(sizes: Sizes, vectors: Array, axis: Sequence[float], middle: float, note: str) -> JointSketch:
    """Driven block in the middle of its stroke at home, which is at that part of the stroke."""
    lower = (middle - 0.5) * sizes.stroke
    return JointSketch(
        'prismatic', 'prismatic', axis, block_body('slider', 1.0, 0.1), np.full(len(vectors), middle * sizes.stroke),
        (lower, lower + sizes.stroke), note, driven=True,
    )  # fmt: skip


def _rod(vectors: Array) -> float:
    """Round length (mm) of the rods."""
    return round(float(np.linalg.norm(vectors, axis=1).mean()), 3)


def _passive(kind: str, vectors: Array, offset: Sequence[float], bar: BodySketch) -> tuple[JointSketch, ...]:
    """Below a bar along z: a hinge along the circle (``r``), or a universal joint, which has a second axis across."""
    first = np.arctan2(vectors[:, 0], vectors[:, 2])
    if kind == 'r':
        note = 'hinge along the circle: the leg moves in its radial plane'
        return (JointSketch('revolute', 'revolute', Y, bar, first, around(first), note, offset),)
    second = -np.arctan2(vectors[:, 1], np.hypot(vectors[:, 0], vectors[:, 2]))
    return (
        JointSketch(
            'universal_1', 'revolute', Y, block_body('cross', 0.2, 0.04), first, around(first),
            'universal joint, first axis: along the circle', offset,
        ),
        JointSketch(
            'universal_2', 'revolute', X, bar, second, around(second),
            'universal joint, second axis: through the same point, across the first',
        ),
    )  # fmt: skip


def rod_body(name: str, mass: float, length: float, along: str, start: float = 0.0) -> BodySketch:
    """Slender bar of a length [m] along an axis of its frame, from ``start`` on."""
    across = two_digits(mass * length**2 / 12.0)
    moments, center = [across] * 3, [0.0] * 3
    place = 'xyz'.index(along)
    moments[place], center[place] = two_digits(0.03 * across), round(start + 0.5 * length, 4)
    return BodySketch(name, mass, center, moments)


def block_body(name: str, mass: float, size: float) -> BodySketch:
    """Block of about equal sides [m]."""
    return BodySketch(name, mass, ORIGIN, [two_digits(mass * size**2 / 6.0)] * 3)


def two_digits(value: float) -> float:
    """A round number near by."""
    return float(f'{value:.2g}')


def around(angles: Array) -> tuple[float, float]:
    """Round limits around angles [rad], with a margin on both sides."""
    least, most = float(np.min(angles)), float(np.max(angles))
    return floor(10.0 * (least - _MARGIN)) / 10.0, ceil(10.0 * (most + _MARGIN)) / 10.0


def hexapod_layout(
    base_radius: float, platform_radius: float, base_pair_distance: float, platform_pair_distance: float
) -> tuple[Array, Array]:
    """Joint centres of a 6-6 hexapod from two radii and two pair distances (Miletovic et al. 2017, Table 1).

    Platform pairs are centred at 0, 120 and 240 degrees, base pairs at 60, 180 and 300 degrees; every leg joins a
    platform joint to the nearest joint of the neighbouring base pair. x forward, y left, z up; the paper's leg numbers.

    Parameters
    ----------
    base_radius, platform_radius : m
    base_pair_distance, platform_pair_distance : m, between the two joints of a pair

    Returns
    -------
    base_points, platform_points : (6, 3) m, each about its circle's centre

    Raises
    ------
    ValueError
        If a pair does not fit on its circle.
    """
    for name, radius, distance in (
        ('base', base_radius, base_pair_distance),
        ('platform', platform_radius, platform_pair_distance),
    ):
        if not (radius > 0.0 and 0.0 <= distance < 2.0 * radius):
            raise ValueError(f'{name}: a pair at {distance} m does not fit on a circle of radius {radius} m')
    base_half = np.arcsin(base_pair_distance / (2.0 * base_radius))
    platform_half = np.arcsin(platform_pair_distance / (2.0 * platform_radius))
    third = 2.0 * np.pi / 3.0
    # the paper counts angles clockwise seen from above; the minus signs turn them to z up
    platform_angle = [-platform_half, platform_half, third - platform_half, third + platform_half,
                      -third - platform_half, -third + platform_half]  # fmt: skip
    base_angle = [-third / 2 + base_half, third / 2 - base_half, third / 2 + base_half, np.pi - base_half,
                  -np.pi + base_half, -third / 2 - base_half]  # fmt: skip
    return _on_circle(base_radius, -np.array(base_angle)), _on_circle(platform_radius, -np.array(platform_angle))


def _on_circle(radius: float, angle: Array) -> Array:
    return radius * np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
