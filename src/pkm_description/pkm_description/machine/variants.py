"""Variants of a machine: with a payload, another gravity vector, other friction or without rotors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from pkm_description.arrays import Array
from pkm_description.machine.machine import Machine
from pkm_description.machine.parts import Joint, JointFriction, RigidBody


def with_gravity(machine: Machine, gravity: Array) -> Machine:
    """Machine in another gravity (3,) m/s^2, ``base_link`` axes, zero included."""
    gravity = np.asarray(gravity, dtype=float)
    if gravity.shape != (3,) or not np.isfinite(gravity).all():
        raise ValueError(f'gravity = {gravity}: expected three numbers, m/s^2 in base_link axes')
    return dataclasses.replace(machine, gravity=gravity)


def with_payload(machine: Machine, payload: RigidBody) -> Machine:
    """Machine with a body fixed to its platform.

    Parameters
    ----------
    payload : centre of mass and inertia (about the centre of mass) in ``platform_link`` axes

    Raises
    ------
    ValueError
        An open chain, which has no platform.
    """
    if not machine.has_platform:
        raise ValueError(f'{machine.name} is an open chain: there is no platform to carry a payload')
    return dataclasses.replace(machine, platform=joined(machine.platform, payload))


def with_friction(machine: Machine, friction: Callable[[Joint], JointFriction]) -> Machine:
    """Machine with other friction, joint by joint.

    Parameters
    ----------
    friction : friction of a joint; ``lambda joint: joint.friction`` changes nothing
    """
    legs = tuple(
        dataclasses.replace(
            leg, joints=tuple(dataclasses.replace(joint, friction=friction(joint)) for joint in leg.joints)
        )
        for leg in machine.legs
    )
    return dataclasses.replace(machine, legs=legs)


def without_rotors(machine: Machine) -> Machine:
    """Machine whose rotors have no inertia, as formats and simulators have it that cannot express rotors."""
    legs = tuple(
        dataclasses.replace(leg, joints=tuple(dataclasses.replace(joint, rotor_inertia=0.0) for joint in leg.joints))
        for leg in machine.legs
    )
    return dataclasses.replace(machine, legs=legs)


def joined(first: RigidBody, second: RigidBody) -> RigidBody:
    """One body of two that are fixed to each other, both in the same frame; named like the first."""
    mass = first.mass + second.mass
    center = (first.mass * first.center_of_mass + second.mass * second.center_of_mass) / mass
    inertia = np.zeros((3, 3))
    for body in (first, second):
        arm = body.center_of_mass - center
        inertia += body.inertia + body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return RigidBody(first.name, mass, center, inertia)
