"""Kinds of machines that new_machine can write, and their dimensions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from pkm_description.errors import PkmError


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
