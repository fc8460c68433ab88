"""Kinds of machines that new_machine can write: their lengths, and where these put the joints.

The base frame of every leg has x radially outward, y along the circle (counter-clockwise from above) and z up. The legs
themselves stand in the template ``machine.yaml.j2``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation import rotation_about_axis


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
class Frame:
    """What the lengths determine, before any home is solved.

    Attributes
    ----------
    base_points, platform_points : (L, 3) m
    azimuths : (L,) rad, of the base points; the legs' base frames are turned by them
    home : (3,) m, wished position of the platform
    rod : m, of the last body; of a strut its length at zero
    planar : whether the platform moves in the plane only
    """

    base_points: Array
    platform_points: Array
    azimuths: Array
    home: Array
    rod: float
    planar: bool


def frame_of(kind: str, sizes: Sizes) -> Frame:
    """Place the joints, and choose what the given lengths leave open.

    Raises
    ------
    SkeletonError
        The lengths do not fit together.
    """
    base, platform = _hexapod_points(sizes) if kind.startswith('6') else _triangle_points(kind, sizes)
    azimuths = np.arctan2(base[:, 1], base[:, 0]) % (2.0 * np.pi)
    home = np.array([0.0, 0.0, sizes.height])
    # base joint to platform joint at home, in the leg's base frame
    vectors = (rotation_about_axis(np.array([0.0, 0.0, 1.0]), -azimuths) @ (home + platform - base)[..., None])[..., 0]
    return Frame(base, platform, azimuths, home, _rod(kind, vectors, sizes), kind in ('3prr', '3rrr'))


def _rod(kind: str, vectors: Array, sizes: Sizes) -> float:
    """Length [m] of the last body, to the mm where it is not given.

    Parameters
    ----------
    vectors : (L, 3) m, base joint to platform joint at home, in the leg's base frame
    """
    length = float(np.linalg.norm(vectors, axis=1).mean())
    if kind[2] == 'p':
        if length < 0.75 * sizes.stroke:
            raise SkeletonError(
                f'stroke = {sizes.stroke:g}: the legs are only {length:.4g} m long at home; give a shorter one'
            )
        return round(length - 0.5 * sizes.stroke, 3)
    if kind == '3rrr':
        crank, rod = sizes.crank, sizes.rod or sizes.crank
        if not abs(crank - rod) < 0.98 * length < 0.98 * (crank + rod) * 0.98:
            raise SkeletonError(
                f'crank = {crank:g}, rod = {rod:g}: they do not reach over the {length:.4g} m between base and '
                'platform joint at home with a bent elbow; make them longer or the radii more alike'
            )
        return rod
    # the crank lies level outward, a vertical slider stands in the middle of its stroke
    rest = vectors - np.array([sizes.crank, 0.0, 0.0 if kind == '3prr' else 0.5 * sizes.stroke])
    if kind in ('6pus', '3prs') and rest[:, 2].min() <= 0.2 * np.hypot(rest[:, 0], rest[:, 1]).max():
        raise SkeletonError(f'height = {sizes.height:g}: too low over sliders with a stroke of {sizes.stroke:g} m')
    return sizes.rod or round(float(np.linalg.norm(rest, axis=1).mean()), 3)


def _hexapod_points(sizes: Sizes) -> tuple[Array, Array]:
    """Joint centres of six legs, counter-clockwise from +x."""
    try:
        base, platform = hexapod_layout(
            sizes.base_radius, sizes.platform_radius, sizes.base_pair_distance, sizes.platform_pair_distance
        )
    except ValueError as error:
        raise SkeletonError(str(error)) from None
    order = np.argsort(np.arctan2(base[:, 1], base[:, 0]) % (2.0 * np.pi))
    return base[order], platform[order]


def _triangle_points(kind: str, sizes: Sizes) -> tuple[Array, Array]:
    """Joint centres of three legs, counter-clockwise from +x; rods of a 3-PRR must not all point to the centre."""
    azimuths = np.array([0.0, 2.0, 4.0]) * (np.pi / 3.0)
    ahead = np.pi / 3.0 if kind == '3prr' else 0.0
    return _on_circle(sizes.base_radius, azimuths), _on_circle(sizes.platform_radius, azimuths + ahead)


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
