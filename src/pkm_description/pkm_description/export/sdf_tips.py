"""Small links where legs end, for detachable joints, which close the loops in Gazebo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.machine import Machine, RigidBody
from pkm_description.machine.closure_ends import ClosureEnd, closure_ends

#: share of a body's mass that each link gets first: much lighter ones make the equations of motion worse conditioned
_FIRST_SHARE = 1e-3

#: below this mass [kg] physics engines and converters take a link for massless
_LEAST_MASS = 1e-5

#: kg and kg m^2 of bodies without mass, and of links at the base, whose mass no force shows
SMALL_MASS, _SMALL_INERTIA = 1e-4, 1e-7


class ExportError(PkmError):
    """A machine that the format cannot hold."""


def with_least_masses(machine: Machine) -> Machine:
    """The machine as SDF has it: bodies without mass get a little, because engines take no others."""
    legs = tuple(
        replace(leg, joints=tuple(
            joint if joint.body.mass > 0.0 else replace(joint, body=_small(joint.body.name)) for joint in leg.joints
        ))
        for leg in machine.legs
    )  # fmt: skip
    return replace(machine, legs=legs)


def moving_bodies(machine: Machine) -> list[RigidBody]:
    """Leg bodies, and the platform where there is one."""
    return [joint.body for joint in machine.joints] + ([machine.platform] if machine.has_platform else [])


def welded_ends(machine: Machine) -> list[ClosureEnd]:
    """Closures that are closed by welds: all but the first on the platform, whose joint carries the platform."""
    ends = closure_ends(machine)
    carrier = next((end for end in ends if end.closure.other == machine.platform.name), None)
    return [end for end in ends if end is not carrier]


def split_bodies(
    machine: Machine, ends: Sequence[ClosureEnd]
) -> tuple[dict[str, RigidBody], dict[str, RigidBody]]:
    """Take a small body out of what each closure holds.

    Welded to it again, they give the machine file's bodies: mass, centre of mass and inertia.

    Returns
    -------
    bodies : link name -> what is left of a body
    small : closure name -> small body, its frame that of the closure on the other body

    Raises
    ------
    ExportError
        A body's inertia is too small to take anything away (or it is flat and the legs end above it).
    """
    bodies = {body.name: body for body in moving_bodies(machine)}
    small: dict[str, RigidBody] = {}
    for name in {end.closure.other: None for end in ends}:
        held = [end for end in ends if end.closure.other == name]
        if name == 'base_link':
            small |= {end.closure.name: _small(end.link) for end in held}
            continue
        bodies[name], taken = _split(machine, bodies[name], held)
        small |= taken
    return bodies, small


def _small(name: str) -> RigidBody:
    return RigidBody(name, SMALL_MASS, np.zeros(3), _SMALL_INERTIA * np.eye(3))


def _split(machine: Machine, body: RigidBody, ends: Sequence[ClosureEnd]) -> tuple[RigidBody, dict[str, RigidBody]]:
    share = _FIRST_SHARE
    while (mass := share * body.mass) > _LEAST_MASS:
        # like the body's, so that a flat plate stays one
        inertia = 0.1 * share * body.inertia
        rest = _without(body, np.array([end.closure.other_point for end in ends]), mass, inertia)
        if _is_physical(rest):
            small = {}
            for end in ends:
                turn = end.closure.rotation_other
                small[end.closure.name] = RigidBody(end.link, mass, np.zeros(3), turn.T @ inertia @ turn)
            return rest, small
        share *= 0.1
    what = 'the platform' if body.name == machine.platform.name else body.name
    raise ExportError(
        f'{machine.name}: {what} ({body.mass:g} kg) has too little inertia for the links that '
        "detachable joints need; choose loop 'native'"
    )


def _without(body: RigidBody, points: Array, mass: float, inertia: Array) -> RigidBody:
    """A body without small ones of a mass [kg] and inertia (3, 3) in points (K, 3) m."""
    left = body.mass - mass * len(points)
    center = (body.mass * body.center_of_mass - mass * points.sum(axis=0)) / left
    tensor = body.inertia + body.mass * _steiner(body.center_of_mass)
    tensor = tensor - len(points) * inertia - mass * sum((_steiner(point) for point in points), np.zeros((3, 3)))
    return RigidBody(body.name, left, center, tensor - left * _steiner(center))


def _steiner(point: Array) -> Array:
    """Inertia (3, 3) about the origin of a unit mass in a point."""
    return np.dot(point, point) * np.eye(3) - np.outer(point, point)


def _is_physical(body: RigidBody) -> bool:
    """Some distribution of positive mass has this inertia; a flat plate is the limit."""
    principal = np.linalg.eigvalsh(body.inertia)
    flat = principal[0] + principal[1]
    return bool(body.mass > 0.0 and principal[0] > 0.0 and principal[2] <= flat * (1.0 + 1e-9))
