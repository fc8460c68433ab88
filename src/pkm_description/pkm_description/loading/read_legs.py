"""Read the legs of a machine file and their closures."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import nearest_of
from pkm_description.loading.read_joints import LegPlace, read_joints, read_rotation
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Closure, Leg
from pkm_description.machine.parts import Placement

_KINDS = {'free': ('ball', 'universal', 'pin', 'fixed'), 'planar': ('pin', 'fixed')}


@dataclass(frozen=True)
class _Chain:
    """A kind of leg: its joints and closures as the file has them."""

    joints: dict[str, Section]
    closures: dict[str, Section]

    @property
    def bodies(self) -> list[str]:
        """Names of the bodies, as the file has them."""
        return [section.content['body']['name'] for section in self.joints.values()]


def read_legs(top: Section, freedom: str) -> tuple[Leg, ...]:
    """Legs of the whole file, in its order.

    Parameters
    ----------
    freedom : of the platform; ``'none'`` for open chains
    """
    instances = top.section('legs').named_sections()
    if not instances:
        raise top.error('legs', {}, 'a parallel machine needs legs; add leg1, leg2, ...')
    closed, several = freedom != 'none', 'leg_chains' in top.content
    if several:
        named = top.section('leg_chains').named_sections()
        chains = {name: _chain(section, freedom) for name, section in named.items()}
        if not chains:
            raise top.error('leg_chains', {}, 'legs need joints; add a chain with joints and closures')
    else:
        joints = top.section('leg_chain').named_sections()
        if not joints:
            raise top.error('leg_chain', {}, 'a leg needs joints; add them from base to platform')
        chains = {'': _Chain(joints, {})}
    users: dict[str, list[str]] = {name: [] for name in chains}
    for name, instance in instances.items():
        instance.expect_keys(
            [*(['chain'] if several else []), 'base_point', 'base_rpy', *(['platform_point'] if closed else [])],
            ['platform_rpy'] if closed and several else [],
        )
        chain = instance.text('chain') if several else ''
        if chain not in chains:
            hint = nearest_of(chain, chains, f'there are: {", ".join(chains)}')
            raise instance.error('chain', chain, f'is not in leg_chains; {hint}')
        users[chain].append(name)
    for chain, own in users.items():
        if not own:
            raise top.error(f'leg_chains.{chain}', None, 'no leg uses this chain; name it in a leg, or leave it out')
    tips = top.vector_per_leg('leg_tip', 3, len(instances)) if closed and not several else None
    link = top.section('platform').text('link') if closed else ''
    legs = []
    for number, (name, instance) in enumerate(instances.items()):
        chain = instance.text('chain') if several else ''
        base = Placement(instance.vector('base_point', 3), read_rotation(instance, 'base_rpy'))
        place = LegPlace(name, users[chain].index(name), len(users[chain]), base)
        leg = Leg(name, read_joints(chains[chain].joints, place), chain=chain)
        if tips is not None:
            leg = _on_platform(leg, top, instance.vector('platform_point', 3), place, tips[number], freedom)
        elif closed:
            frame = Placement(instance.vector('platform_point', 3), _rotation(instance, 'platform_rpy'))
            bodies = chains[chain].bodies
            closures = read_closures(chains[chain].closures, place, bodies, link, frame, freedom)
            leg = replace(leg, closures=closures)
        legs.append(leg)
    return tuple(legs)


def _on_platform(leg: Leg, top: Section, point: Array, place: LegPlace, tip: Array, freedom: str) -> Leg:
    """The leg, closed at its tip on a point (3,) m of the platform."""
    kind, cone = 'pin' if freedom == 'planar' else 'ball', np.inf
    if 'ball_joint' in top.content:
        section = top.section('ball_joint')
        section.expect_keys(['cone'])
        if freedom == 'planar':
            raise top.error(
                'ball_joint', section.content, 'planar machines end in pins, not in ball joints; leave it out'
            )
        cone = read_cone(section, place)
    return Leg.to_platform(leg.name, leg.joints, kind, tip, top.section('platform').text('link'), point, cone)


def _chain(section: Section, freedom: str) -> _Chain:
    if freedom == 'none':
        section.expect_keys(['joints'])
    else:
        section.expect_keys(['joints', 'closures'])
    joints = section.section('joints').named_sections()
    if not joints:
        raise section.error('joints', {}, 'a leg needs joints; add them from base to platform')
    closures = section.section('closures').named_sections() if freedom != 'none' else {}
    if freedom != 'none' and not any(part.content.get('to', 'platform') == 'platform' for part in closures.values()):
        raise section.error(
            'closures', section.content['closures'],
            'does not reach the platform: one closure of the leg needs to: platform (the default)',
        )  # fmt: skip
    return _Chain(joints, closures)


def _rotation(section: Section, key: str) -> Array:
    return read_rotation(section, key) if key in section.content else np.eye(3)


def read_closures(
    sections: dict[str, Section], place: LegPlace, bodies: list[str], platform: str, platform_frame: Placement,
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
            there = frame @ there
        links = {'platform': platform, 'base': 'base_link'}
        closures.append(
            Closure(
                name=f'{place.leg}_{name}', kind=kind, body=f'{place.leg}_{body}', point=here.position,
                other=links.get(other, f'{place.leg}_{other}'), other_point=there.position,
                rotation_body=here.rotation, rotation_other=there.rotation, cone=_cone(section, kind, place),
            )
        )  # fmt: skip
    return tuple(closures)


def _body(section: Section, key: str, default: str, known: list[str]) -> str:
    name = section.text(key, default)
    if name not in known:
        raise section.error(key, name, f'is no body of this chain; choose one of: {", ".join(known)}')
    return name


def _frame(section: Section, point: str, turn: str, place: LegPlace) -> Placement:
    """Closure frame on one of its bodies; where the file is silent, the body's own."""
    position = np.zeros(3)
    if point in section.content:
        position = section.vector_per_leg(point, 3, place.count)[place.index]
    return Placement(position, _rotation(section, turn))


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
