"""Joint rates per rate of the coordinates, and how they change along the motion: first and second derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.kinematics.joint_motion import joint_motion
from pkm_description.machine import Machine

from pkm_identification.excitation.coordinates import Mover


@dataclass(frozen=True)
class JointRates:
    """Joint positions q as a function of the coordinates z: Q = dq/dz, H = d2q/dz2.

    Attributes
    ----------
    first : (N, J, C)
    second : (N, J, C, C), symmetric; empty if it was not asked for
    """

    first: Array
    second: Array


def joint_rates_of(machine: Machine, move: Mover, count: int, coordinates: int, second: bool) -> JointRates:
    """Derivatives of the joints by the coordinates of N = ``count`` poses, exact.

    Along constant rates w joints have the velocity ``Q w`` and the acceleration ``H[w, w]``: with unit rates and sums
    of two of them the analytic joint accelerations give all of H.
    """
    time, still = np.zeros(count), np.zeros((count, coordinates))
    joints = len(machine.joints)
    first = np.empty((count, joints, coordinates))
    bent = np.empty((count, joints, coordinates, coordinates) if second else (0, 0, 0, 0))
    for k in range(coordinates):
        found = joint_motion(machine, move(time, _unit(still, k), still))
        first[:, :, k] = found.velocities
        if second:
            bent[:, :, k, k] = found.accelerations
    for k in range(coordinates if second else 0):
        for other in range(k):
            found = joint_motion(machine, move(time, _unit(still, k, other), still))
            both = 0.5 * (found.accelerations - bent[:, :, k, k] - bent[:, :, other, other])
            bent[:, :, k, other] = bent[:, :, other, k] = both
    return JointRates(first, bent)


def _unit(still: Array, *places: int) -> Array:
    rates = still.copy()
    rates[:, list(places)] = 1.0
    return rates


def body_turns(
    machine: Machine, positions: Array, rates: Array, platform: Array, rotation_base_platform: Array
) -> tuple[Array, Array]:
    """Angular velocities (N, J + 2, C, 3) of all bodies per rate of the coordinates, and rotations (N, J + 2, 3, 3).

    Base axes; the platform stands behind the J legs' bodies, and then the base.

    Parameters
    ----------
    positions : (N, J)
    rates : (N, J, C), joint rates per rate of the coordinates
    platform : (N, C, 3) rad/s, of the platform
    rotation_base_platform : (N, 3, 3)
    """
    rotations, _ = body_poses(machine, positions)
    model, count = machine.model, len(machine.joints)
    turns = np.zeros((len(positions), count + 2, rates.shape[2], 3))
    turns[:, count] = platform
    axes = (rotations @ model.axis[..., None])[..., 0]
    for place, joint in enumerate(machine.joints):  # a parent stands before its child
        turns[:, place] = turns[:, model.parent[place]]
        if joint.kind == 'revolute':
            turns[:, place] += rates[:, place, :, None] * axes[:, place, None, :]
    base = np.broadcast_to(np.eye(3), rotation_base_platform.shape)
    return turns, np.concatenate([rotations, rotation_base_platform[:, None], base[:, None]], axis=1)
