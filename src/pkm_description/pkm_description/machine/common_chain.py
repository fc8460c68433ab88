"""What all legs of a machine have in common: the kinds of their joints, and the place of the driven one."""

from __future__ import annotations

import numpy as np

from pkm_description.errors import KinematicsError
from pkm_description.machine.parts import Joint, Leg


def common_joint_kinds(name: str, legs: tuple[Leg, ...]) -> tuple[str, ...]:
    """Joint kinds that all legs share."""
    if not legs:
        raise KinematicsError(f'{name}: a machine needs at least one leg')

    def kinds(leg: Leg) -> tuple[str, ...]:
        return tuple(joint.kind for joint in leg.joints)

    first = legs[0]
    for leg in legs:
        if kinds(leg) != kinds(first):
            raise KinematicsError(
                f'{name}: {leg.name} has joints {kinds(leg)}, {first.name} has {kinds(first)}; '
                'all legs need the same joint kinds in the same order'
            )
        for joint in leg.joints:
            _check_joint(joint)
    return kinds(first)


def _check_joint(joint: Joint) -> None:
    if joint.kind not in ('revolute', 'prismatic'):
        raise KinematicsError(f"{joint.name}: kind {joint.kind!r} is neither 'revolute' nor 'prismatic'")
    if abs(np.linalg.norm(joint.axis) - 1.0) > 1e-9:
        raise KinematicsError(f'{joint.name}: axis {joint.axis} is not a unit vector')


def common_actuated_index(name: str, legs: tuple[Leg, ...]) -> int:
    """Place of the one driven joint in each chain."""
    index = None
    for leg in legs:
        driven = [place for place, joint in enumerate(leg.joints) if joint.actuated]
        if len(driven) != 1 or index not in (None, driven[0]):
            raise KinematicsError(
                f'{name}: {leg.name} drives joints {[leg.joints[place].name for place in driven]}; '
                'each leg needs exactly one actuated joint, at the same place in every leg'
            )
        index = driven[0]
    assert index is not None
    return index
