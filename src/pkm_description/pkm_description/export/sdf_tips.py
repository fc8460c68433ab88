"""Small links at the leg tips for detachable joints, which close the loops in Gazebo."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.machine import Machine, RigidBody

#: share of the platform's mass that each tip gets first: much lighter ones make the equations of motion worse
#: conditioned
_FIRST_SHARE = 1e-3

#: below this mass [kg] physics engines and converters take a link for massless
_LEAST_MASS = 1e-5


class ExportError(PkmError):
    """A machine that the format cannot hold."""


def split_platform(machine: Machine) -> tuple[RigidBody, dict[str, RigidBody]]:
    """Take a small body out of the platform for every leg but the first.

    Welded to the platform again, they give the machine file's platform: mass, centre of mass and inertia.

    Returns
    -------
    platform : what is left
    tips : leg name -> body, its frame in the leg's closing point with the platform's axes

    Raises
    ------
    ExportError
        The platform's inertia is too small to take anything away (or it is flat and the legs end above it).
    """
    share = _FIRST_SHARE
    while (mass := share * machine.platform.mass) > _LEAST_MASS:
        # like the platform's, so that a flat plate stays one
        inertia = 0.1 * share * machine.platform.inertia
        tips = {leg.name: RigidBody(f'{leg.name}_ball', mass, np.zeros(3), inertia) for leg in machine.legs[1:]}
        rest = _without(machine, mass, inertia)
        if _is_physical(rest):
            return rest, tips
        share *= 0.1
    raise ExportError(
        f'{machine.name}: the platform ({machine.platform.mass:g} kg) has too little inertia for the links that '
        "detachable joints need; choose loop 'native'"
    )


def _without(machine: Machine, mass: float, inertia: Array) -> RigidBody:
    """The platform without the tips of all legs but the first."""
    platform, points = machine.platform, machine.platform_points[1:]
    left = platform.mass - mass * len(points)
    center = (platform.mass * platform.center_of_mass - mass * points.sum(axis=0)) / left
    tensor = platform.inertia + platform.mass * _steiner(platform.center_of_mass)
    tensor = tensor - len(points) * inertia - mass * sum((_steiner(point) for point in points), np.zeros((3, 3)))
    return RigidBody(platform.name, left, center, tensor - left * _steiner(center))


def _steiner(point: Array) -> Array:
    """Inertia (3, 3) about the origin of a unit mass in a point."""
    return np.dot(point, point) * np.eye(3) - np.outer(point, point)


def _is_physical(body: RigidBody) -> bool:
    """Some distribution of positive mass has this inertia; a flat plate is the limit."""
    principal = np.linalg.eigvalsh(body.inertia)
    flat = principal[0] + principal[1]
    return bool(body.mass > 0.0 and principal[0] > 0.0 and principal[2] <= flat * (1.0 + 1e-9))
