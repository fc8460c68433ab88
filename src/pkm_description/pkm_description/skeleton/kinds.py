"""Kinds of machines that new_machine can write: their dimensions and sketches.

The base frame of every leg has x radially outward, y along the circle (counter-clockwise from above) and z up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from math import acos, pi

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation import rotation_about_axis
from pkm_description.machine import hexapod_layout
from pkm_description.skeleton.sketch import JointSketch, Sketch, around, block_body, disc_body, rod_body

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

#: rad, reach of passive joints and cranks to both sides of home
_MARGIN = 0.8


def sketch_of(kind: str, sizes: Sizes) -> Sketch:
    """Choose all numbers of a machine.

    Raises
    ------
    SkeletonError
        The lengths do not fit together.
    """
    base, platform = _hexapod_points(sizes) if kind.startswith('6') else _triangle_points(kind, sizes)
    azimuths = np.arctan2(base[:, 1], base[:, 0]) % (2.0 * pi)
    home = (0.0, 0.0, sizes.height or 0.0)
    # base joint to platform joint at home, in the leg's base frame
    vectors = rotation_about_axis(np.array(Z), -azimuths) @ (home + platform - base)[..., None]
    joints, tip = {
        'ups': _ups, 'rus': _rus, 'pus': _pus, 'rps': _rps, 'prs': _prs, 'rrs': _rrs, 'prr': _prr, 'rrr': _rrr,
    }[kind[1:]](vectors[..., 0], sizes)  # fmt: skip
    body = disc_body('platform', 5.0, sizes.platform_radius)
    return Sketch(joints, tip, base, platform, azimuths, home, body, planar=sizes.height is None)


def _hexapod_points(sizes: Sizes) -> tuple[Array, Array]:
    """Joint centres of six legs, counter-clockwise from +x."""
    assert sizes.base_pair_distance is not None
    assert sizes.platform_pair_distance is not None
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
    return _on_circle(sizes.base_radius, azimuths), _on_circle(sizes.platform_radius, azimuths + ahead)


def _on_circle(radius: float, azimuths: Array) -> Array:
    return radius * np.column_stack([np.cos(azimuths), np.sin(azimuths), np.zeros_like(azimuths)])


def _ups(vectors: Array, sizes: Sizes) -> tuple[tuple[JointSketch, ...], tuple[float, float, float]]:
    assert sizes.stroke is not None
    shortest = _shortest(vectors, sizes.stroke)
    universal = _universal(vectors, (0.0, 0.0, 0.0), 'cylinder', 2.0, shortest)
    return (*universal, _strut(vectors, shortest, sizes.stroke)), (0.0, 0.0, 0.0)


def _rus(vectors: Array, sizes: Sizes) -> tuple[tuple[JointSketch, ...], tuple[float, float, float]]:
    crank, outward = _crank(sizes, vectors)
    rest = vectors - np.array(outward)
    rod = sizes.rod or _rod(rest)
    return (crank, *_universal(rest, outward, 'rod', 1.0, rod)), (0.0, 0.0, rod)


def _pus(vectors: Array, sizes: Sizes) -> tuple[tuple[JointSketch, ...], tuple[float, float, float]]:
    slider, rest = _upright_slider(sizes, vectors)
    rod = sizes.rod or _rod(rest)
    return (slider, *_universal(rest, (0.0, 0.0, 0.0), 'rod', 1.0, rod)), (0.0, 0.0, rod)


def _rps(vectors: Array, sizes: Sizes) -> tuple[tuple[JointSketch, ...], tuple[float, float, float]]:
    assert sizes.stroke is not None
    shortest = _shortest(vectors, sizes.stroke)
    hinge = _hinge(vectors, (0.0, 0.0, 0.0), 'cylinder', 2.0, shortest)
    return (hinge, _strut(vectors, shortest, sizes.stroke)), (0.0, 0.0, 0.0)


def _prs(vectors: Array, sizes: Sizes) -> tuple[tuple[JointSketch, ...], tuple[float, float, float]]:
    slider, rest = _upright_slider(sizes, vectors)
    rod = sizes.rod or _rod(rest)
    return (slider, _hinge(rest, (0.0, 0.0, 0.0), 'rod', 1.0, rod)), (0.0, 0.0, rod)


def _rrs(vectors: Array, sizes: Sizes) -> tuple[tuple[JointSketch, ...], tuple[float, float, float]]:
    crank, outward = _crank(sizes, vectors)
    rest = vectors - np.array(outward)
    rod = sizes.rod or _rod(rest)
    return (crank, _hinge(rest, outward, 'rod', 1.0, rod)), (0.0, 0.0, rod)


def _prr(vectors: Array, sizes: Sizes) -> tuple[tuple[JointSketch, ...], tuple[float, float, float]]:
    assert sizes.stroke is not None
    slider = JointSketch(
        'prismatic', 'prismatic', Y, block_body('slider', 1.0, 0.1), np.zeros(len(vectors)),
        (-0.5 * sizes.stroke, 0.5 * sizes.stroke), 'the drive: a slider along the circle, counter-clockwise positive',
        driven=True,
    )  # fmt: skip
    rod = sizes.rod or _rod(vectors)
    angle = np.arctan2(vectors[:, 1], vectors[:, 0])
    pin = JointSketch(
        'revolute', 'revolute', Z, rod_body('rod', 1.0, rod, 'x'), angle, around(angle, _MARGIN),
        'pin on the slider; at zero the rod points outward',
    )  # fmt: skip
    return (slider, pin), (rod, 0.0, 0.0)


def _rrr(vectors: Array, sizes: Sizes) -> tuple[tuple[JointSketch, ...], tuple[float, float, float]]:
    assert sizes.crank is not None
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
        'drive', 'revolute', Z, rod_body('crank', 1.0, crank, 'x'), first, around(first, _MARGIN),
        'the drive: turns a crank; at zero it points outward, counter-clockwise is positive', driven=True,
    )  # fmt: skip
    pin = JointSketch(
        'elbow', 'revolute', Z, rod_body('rod', 1.0, rod, 'x'), second, around(second, _MARGIN),
        'elbow; the sign of home says to which side it bends', (crank, 0.0, 0.0),
    )  # fmt: skip
    return (drive, pin), (rod, 0.0, 0.0)


def _shortest(vectors: Array, stroke: float) -> float:
    """Length of the shortest leg for legs in the middle of their stroke at home."""
    length = float(np.linalg.norm(vectors, axis=1).mean())
    if length < 0.75 * stroke:
        raise SkeletonError(f'stroke = {stroke:g}: the legs are only {length:.4g} m long at home; give a shorter one')
    return round(length - 0.5 * stroke, 3)


def _strut(vectors: Array, shortest: float, stroke: float) -> JointSketch:
    """Driven rod along z, whose frame lies in the joint at the platform."""
    home = np.linalg.norm(vectors, axis=1) - shortest
    return JointSketch(
        'prismatic', 'prismatic', Z, rod_body('rod', 1.0, round(0.8 * shortest, 3), 'z', -round(0.8 * shortest, 3)),
        home, (0.0, stroke), 'the drive; position 0 is the shortest leg, offset is its length', (0.0, 0.0, shortest),
        driven=True,
    )  # fmt: skip


def _upright_slider(sizes: Sizes, vectors: Array) -> tuple[JointSketch, Array]:
    """Slider on a vertical rail at the base point, in mid-stroke at home; and the vectors from there on."""
    assert sizes.stroke is not None
    home = np.full(len(vectors), 0.5 * sizes.stroke)
    slider = JointSketch(
        'prismatic', 'prismatic', Z, block_body('slider', 1.0, 0.1), home, (0.0, sizes.stroke),
        'the drive: a slider on a vertical rail; position 0 is at the base point', driven=True,
    )  # fmt: skip
    rest = vectors - np.array([0.0, 0.0, 0.5 * sizes.stroke])
    if rest[:, 2].min() <= 0.2 * np.hypot(rest[:, 0], rest[:, 1]).max():
        raise SkeletonError(f'height = {sizes.height:g}: too low over sliders with a stroke of {sizes.stroke:g} m')
    return slider, rest


def _crank(sizes: Sizes, vectors: Array) -> tuple[JointSketch, tuple[float, float, float]]:
    """Driven crank that points outward and is level at home, and the point where it ends."""
    assert sizes.crank is not None
    home = np.zeros(len(vectors))
    crank = JointSketch(
        'drive', 'revolute', (0.0, -1.0, 0.0), rod_body('crank', 1.0, sizes.crank, 'x'), home, around(home, _MARGIN),
        'the drive: turns a crank; at zero it points outward and is level, positive lifts it', driven=True,
    )  # fmt: skip
    return crank, (sizes.crank, 0.0, 0.0)


def _rod(vectors: Array) -> float:
    """Round length (mm) of the rods."""
    return round(float(np.linalg.norm(vectors, axis=1).mean()), 3)


def _universal(
    vectors: Array, offset: tuple[float, float, float], name: str, mass: float, length: float
) -> tuple[JointSketch, JointSketch]:
    """Two crossed axes below a bar along z."""
    first = np.arctan2(vectors[:, 0], vectors[:, 2])
    second = -np.arctan2(vectors[:, 1], np.hypot(vectors[:, 0], vectors[:, 2]))
    cross = block_body('cross', 0.2, 0.04)
    return (
        JointSketch(
            'universal_1', 'revolute', Y, cross, first, around(first, _MARGIN),
            'universal joint, first axis: along the circle', offset,
        ),
        JointSketch(
            'universal_2', 'revolute', X, rod_body(name, mass, length, 'z'), second, around(second, _MARGIN),
            'universal joint, second axis: through the same point, across the first',
        ),
    )  # fmt: skip


def _hinge(vectors: Array, offset: tuple[float, float, float], name: str, mass: float, length: float) -> JointSketch:
    """Axis along the circle below a bar along z: the leg moves in its radial plane."""
    angle = np.arctan2(vectors[:, 0], vectors[:, 2])
    return JointSketch(
        'revolute', 'revolute', Y, rod_body(name, mass, length, 'z'), angle, around(angle, _MARGIN),
        'hinge along the circle: the leg moves in its radial plane', offset,
    )  # fmt: skip


class SkeletonError(PkmError, ValueError):
    """Sizes that do not make a machine."""


@dataclass(frozen=True)
class Sizes:
    """Lengths of a skeleton in m; None where the kind has no such length.

    Attributes
    ----------
    base_radius, platform_radius : of the circles of the joints
    base_pair_distance, platform_pair_distance : between the two joints of a pair (six legs)
    height : of the platform at home above the base (planar machines: None)
    stroke : of sliding drives
    crank : of turning drives
    rod : from the last leg joint to the platform joint; None: a round length that fits the others
    """

    base_radius: float
    platform_radius: float
    base_pair_distance: float | None = None
    platform_pair_distance: float | None = None
    height: float | None = None
    stroke: float | None = None
    crank: float | None = None
    rod: float | None = None


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

#: lengths that are given only by who wants them; all kinds with rods know it
_KINDS_WITHOUT_ROD = ('6ups', '3rps')


def sizes_of(kind: str, given: Mapping[str, float]) -> Sizes:
    """Sizes of a kind; lengths that are not given are in proportion to the base radius.

    Raises
    ------
    SkeletonError
        A kind that is not known, a length that the kind does not have or that is not positive.
    """
    if kind not in KINDS:
        raise SkeletonError(f'kind {kind!r} is not known; known are {", ".join(KINDS)}')
    default = dataclasses.asdict(DEFAULTS[kind])
    known = [name for name, value in default.items() if value is not None]
    known += [] if kind in _KINDS_WITHOUT_ROD else ['rod']
    for name, value in given.items():
        if name not in known:
            raise SkeletonError(f'{name} = {value:g}: a {kind} has no such length; it has {", ".join(known)}')
        if not 0.0 < value < 100.0:
            raise SkeletonError(f'{name} = {value:g}: give a length in m, more than 0 and less than 100')
    scale = given.get('base_radius', default['base_radius']) / default['base_radius']
    scaled = {name: round(scale * value, 4) for name, value in default.items() if value is not None}
    return Sizes(**(scaled | dict(given)))
