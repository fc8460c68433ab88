"""Read the legs of a machine file."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.loading.read_closures import read_closures, read_cone
from pkm_description.loading.read_joints import LegPlace, Placed, read_joints
from pkm_description.loading.read_parts import read_rotation
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Closure, Leg


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
    if 'leg_chains' in top.content:
        return _legs_of_chains(top, instances, freedom)
    joints = top.section('leg_chain').named_sections()
    if not joints:
        raise top.error('leg_chain', {}, 'a leg needs joints; add them from base to platform')
    count, closed = len(instances), freedom != 'none'
    tips = top.vector_per_leg('leg_tip', 3, count) if closed else np.zeros((count, 3))
    legs = []
    for index, (name, instance) in enumerate(instances.items()):
        instance.expect_keys(['base_point', 'base_rpy', *(['platform_point'] if closed else [])])
        place = LegPlace(name, index, count, _base(instance))
        leg = Leg(name, read_joints(joints, place))
        legs.append(_on_platform(leg, top, instance, place, tips[index], freedom) if closed else leg)
    return tuple(legs)


def _on_platform(leg: Leg, top: Section, instance: Section, place: LegPlace, tip: Array, freedom: str) -> Leg:
    """The leg, closed at its tip."""
    kind, cone = 'pin' if freedom == 'planar' else 'ball', np.inf
    if 'ball_joint' in top.content:
        section = top.section('ball_joint')
        section.expect_keys(['cone'])
        if freedom == 'planar':
            raise top.error(
                'ball_joint', section.content, 'planar machines end in pins, not in ball joints; leave it out'
            )
        cone = read_cone(section, place)
    platform = top.section('platform').text('link')
    return Leg.to_platform(leg.name, leg.joints, kind, tip, platform, instance.vector('platform_point', 3), cone)


def _legs_of_chains(top: Section, instances: dict[str, Section], freedom: str) -> tuple[Leg, ...]:
    """Legs of a file with several kinds of them."""
    chains = {name: _chain(section, freedom) for name, section in top.section('leg_chains').named_sections().items()}
    if not chains:
        raise top.error('leg_chains', {}, 'legs need joints; add a chain with joints and closures')
    users: dict[str, list[str]] = {name: [] for name in chains}
    closed = freedom != 'none'
    for name, instance in instances.items():
        instance.expect_keys(
            ['chain', 'base_point', 'base_rpy', *(['platform_point'] if closed else [])],
            ['platform_rpy'] if closed else [],
        )
        chain = instance.text('chain')
        if chain not in chains:
            near = difflib.get_close_matches(chain, chains, n=1)
            hint = f'did you mean {near[0]!r}?' if near else f'there are: {", ".join(chains)}'
            raise instance.error('chain', chain, f'is not in leg_chains; {hint}')
        users[chain].append(name)
    for chain, own in users.items():
        if not own:
            raise top.error(f'leg_chains.{chain}', None, 'no leg uses this chain; name it in a leg, or leave it out')
    legs = []
    for name, instance in instances.items():
        chain = instance.text('chain')
        place = LegPlace(name, users[chain].index(name), len(users[chain]), _base(instance))
        joints = read_joints(chains[chain].joints, place)
        closures: tuple[Closure, ...] = ()
        if closed:
            frame = Placed(instance.vector('platform_point', 3), _rotation(instance, 'platform_rpy'))
            link = top.section('platform').text('link')
            bodies = chains[chain].bodies
            closures = read_closures(chains[chain].closures, place, bodies, link, frame, freedom)
        legs.append(Leg(name, joints, closures, chain))
    return tuple(legs)


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


def _base(instance: Section) -> Placed:
    return Placed(instance.vector('base_point', 3), read_rotation(instance, 'base_rpy'))


def _rotation(section: Section, key: str) -> Array:
    return read_rotation(section, key) if key in section.content else np.eye(3)
