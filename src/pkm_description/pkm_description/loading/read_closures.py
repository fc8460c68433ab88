"""Read the closures of a leg."""

from __future__ import annotations

import numpy as np

from pkm_description.loading.read_joints import LegPlace, Placed
from pkm_description.loading.read_parts import read_rotation
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Closure

_KINDS = {'free': ('ball', 'universal', 'pin', 'fixed'), 'planar': ('pin', 'fixed')}


def read_closures(
    sections: dict[str, Section], place: LegPlace, bodies: list[str], platform: str, platform_frame: Placed,
    freedom: str,
) -> tuple[Closure, ...]:  # fmt: skip
    """Closures of a leg.

    Parameters
    ----------
    bodies : names of the leg's bodies, as the file has them
    platform : link name
    platform_frame : the leg's frame on the platform
    freedom : of the platform

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    closures = []
    for name, section in sections.items():
        section.expect_keys(['type'], ['body', 'xyz', 'rpy', 'to', 'to_xyz', 'to_rpy', 'cone'])
        kind = section.text('type')
        if kind not in _KINDS[freedom]:
            where = 'in a planar machine ' if freedom == 'planar' else ''
            raise section.error('type', kind, f'{where}choose one of: {", ".join(_KINDS[freedom])}')
        body = _body(section, 'body', bodies[-1], bodies)
        other = _body(section, 'to', 'platform', ['platform', 'base', *bodies])
        if other == body:
            raise section.error('to', other, 'is the body itself; a closure joins two bodies')
        here, there = _frame(section, 'xyz', 'rpy', place), _frame(section, 'to_xyz', 'to_rpy', place)
        if other in ('platform', 'base'):
            frame = platform_frame if other == 'platform' else place.base
            there = there.inside(frame)
        links = {'platform': platform, 'base': 'base_link'}
        closures.append(
            Closure(
                name=f'{place.leg}_{name}', kind=kind, body=f'{place.leg}_{body}', point=here.translation,
                other=links.get(other, f'{place.leg}_{other}'), other_point=there.translation,
                rotation_body=here.rotation, rotation_other=there.rotation, cone=_cone(section, kind, place),
            )
        )  # fmt: skip
    return tuple(closures)


def _body(section: Section, key: str, default: str, known: list[str]) -> str:
    name = section.text(key) if key in section.content else default
    if name not in known:
        raise section.error(key, name, f'is no body of this chain; choose one of: {", ".join(known)}')
    return name


def _frame(section: Section, point: str, turn: str, place: LegPlace) -> Placed:
    """Closure frame on one of its bodies; where the file is silent, the body's own."""
    translation, rotation = np.zeros(3), np.eye(3)
    if point in section.content:
        translation = section.vector_per_leg(point, 3, place.count)[place.index]
    if turn in section.content:
        rotation = read_rotation(section, turn)
    return Placed(translation, rotation)


def _cone(section: Section, kind: str, place: LegPlace) -> float:
    """Largest tilt of a ball [rad]; infinite where the file gives none."""
    if 'cone' not in section.content:
        return np.inf
    if kind != 'ball':
        reason = f'limits balls, this is a closure of type {kind}; leave it out'
        raise section.error('cone', section.content['cone'], reason)
    return read_cone(section, place)


def read_cone(section: Section, place: LegPlace) -> float:
    """Entry ``cone`` [rad] of one leg."""
    cones = section.per_leg('cone', place.count, above=0.0)
    if cones.max() > np.pi:
        raise section.error('cone', float(cones.max()), 'looks like degrees; give rad, at most pi')
    return float(cones[place.index])
