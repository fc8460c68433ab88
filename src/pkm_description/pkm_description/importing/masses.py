"""Masses for bodies that have none: a point mass that lies on a joint's axis belongs to either body of the joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pkm_description.arrays import Array
from pkm_description.importing.graph import Body, ImportMachineError
from pkm_description.importing.mechanism import BASE, CutJoint, CutLeg, Mechanism

#: kg, the lightest body of a machine file, with some room
_LIGHTEST = 1.001e-3

#: kg m^2 of such a body: a ball of heavy metal
_BALL = 2e-11

#: kg/m^3, osmium; the share of such a ball's inertia that every body has
_DENSEST, _POINT_LIKE = 22600.0, 0.0101


def with_masses(mechanism: Mechanism) -> Mechanism:
    """Return the same mechanism, in which every body has mass and inertia; it moves and pushes as before.

    A body that is too light takes a point mass on its revolute joint's axis from the body before it; of the base it
    may take any.

    Raises
    ------
    ImportMachineError
        A light body on a prismatic joint, or one that has no neighbour with enough mass.
    """
    lent: list[str] = []
    raised: list[str] = []
    legs = tuple(_leg(leg, mechanism, lent, raised) for leg in mechanism.legs)
    notes = []
    if lent:
        notes.append(f'too light for a machine file, so 1 g of a neighbour counts to it: {", ".join(lent)}')
    if raised:
        notes.append(f'inertia raised to what a body of that mass can have: {", ".join(raised)}')
    platform = mechanism.platform
    if platform.mass < _LIGHTEST:
        raise ImportMachineError(
            f'{mechanism.source}: the platform {platform.name!r} has {platform.mass:.3g} kg; machine files take 0.001 '
            'kg and more: choose another link of the mechanism (--platform)'
        )
    return replace(mechanism, legs=legs, platform=_with_inertia(platform)).noting(*notes)


def _leg(leg: CutLeg, mechanism: Mechanism, lent: list[str], raised: list[str]) -> CutLeg:
    joints = list(leg.joints)
    # towards the base first, and what is left to lend by the bodies behind, from there on
    behind = {place: child for place, child in _children(leg).items() if _heavier_behind(leg, place)}
    for place in [*reversed([one for one in range(len(joints)) if one not in behind]), *sorted(behind)]:
        joint = joints[place]
        need = _LIGHTEST - joint.body.mass
        if need <= 0.0:
            continue
        lent.append(joint.body.name)
        if place in behind:
            child = behind[place]
            joints[place] = _with_point(joint, need, joints[child].place.position)
            joints[child] = _with_point(joints[child], -need, np.zeros(3))
            continue
        if joint.kind == 'prismatic' and joint.parent != BASE:
            raise ImportMachineError(
                f'{mechanism.source}: {joint.body.name!r}, which {joint.name!r} moves, has {joint.body.mass:.3g} kg; '
                'machine files take 0.001 kg and more: give it a mass in the source'
            )
        joints[place] = _with_point(joint, need, np.zeros(3))
        if joint.parent != BASE:
            lender = next(one for one in range(place) if joints[one].body.name == joint.parent)
            joints[lender] = _with_point(joints[lender], -need, joint.place.position)
    return replace(leg, joints=tuple(_checked(joint, mechanism, raised) for joint in joints))


def _with_point(joint: CutJoint, mass: float, point: Array) -> CutJoint:
    """Return the joint with a point mass added to its body, at a point (3,) m of it."""
    return replace(joint, body=joint.body.with_point_masses(Body('', mass, point)))


def _children(leg: CutLeg) -> dict[int, int]:
    """Joint -> the only joint that its body carries, where that turns."""
    children: dict[int, int] = {}
    for place, joint in enumerate(leg.joints):
        own = [one for one, other in enumerate(leg.joints) if other.parent == joint.body.name]
        if len(own) == 1 and leg.joints[own[0]].kind == 'revolute':
            children[place] = own[0]
    return children


def _heavier_behind(leg: CutLeg, place: int) -> bool:
    """Whether the first body with mass behind a light one is heavier than the first before it."""
    children, bodies = _children(leg), {joint.body.name: joint for joint in leg.joints}
    behind, before = place, leg.joints[place].parent
    while behind in children and leg.joints[behind].body.mass < _LIGHTEST:
        behind = children[behind]
    while before != BASE and bodies[before].body.mass < _LIGHTEST:
        if bodies[before].kind != 'revolute':
            return True
        before = bodies[before].parent
    lender = leg.joints[behind].body.mass
    return before != BASE and lender >= _LIGHTEST and lender > bodies[before].body.mass


def _checked(joint: CutJoint, mechanism: Mechanism, raised: list[str]) -> CutJoint:
    body = _with_inertia(joint.body)
    if float(np.abs(body.inertia - joint.body.inertia).max()) > 2.0 * _BALL:
        raised.append(body.name)
    moments = np.linalg.eigvalsh(body.inertia)
    if body.mass < 1e-3 or moments[0] <= 0.0:
        raise ImportMachineError(
            f'{mechanism.source}: {body.name!r} has {body.mass:.3g} kg and principal moments of inertia '
            f'{np.array2string(moments, precision=3)} kg m^2, lighter neighbours counted to it; give it, or the bodies '
            'beside it, a possible mass and inertia in the source'
        )
    return replace(joint, body=body)


def _with_inertia(body: Body) -> Body:
    """Return the body with at least the inertia of a heavy ball of a gram, or of a point of its mass."""
    radius = (3.0 * body.mass / (4.0 * np.pi * _DENSEST)) ** (1.0 / 3.0)
    least = max(_POINT_LIKE * 0.4 * body.mass * radius**2, _BALL)
    moments = np.linalg.eigvalsh(body.inertia)
    if moments[-1] > least and moments[0] > 0.0 and moments[0] + moments[1] >= moments[2] * (1.0 - 1e-9):
        return body
    # what lacks to a possible body, the same about all axes
    lack = max(least - moments[0], moments[2] - moments[0] - moments[1], 0.0)
    return replace(body, inertia=body.inertia + lack * np.eye(3))
