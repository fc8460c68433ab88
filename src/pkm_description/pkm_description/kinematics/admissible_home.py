"""Solve a home pose that the legs admit, and the joint positions there.

Legs with fewer joints than closing equations (3-RPS, 3-PRS, 3-RRS) take freedom from the platform. Where the machine is
not symmetric no simple pose is admissible: a level, centred platform misses its legs by millimetres.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import ConvergenceError, KinematicsError
from pkm_description.kinematics.chain import chain_pose, tip_jacobian
from pkm_description.kinematics.leg_iterations import stretched_positions, wrapped
from pkm_description.kinematics.leg_motion import joint_positions
from pkm_description.kinematics.rotation import rotation_exp, rotation_log, skew
from pkm_description.machine import Machine, Pose

#: m, largest gap between a leg's tip and its platform joint in the result
_TOLERANCE = 1e-12

#: m and rad (times the platform's radius), length of the last step
_LAST_STEP = 1e-10

_MAX_ITERATIONS = 500

#: longest step: rad, and m as a fraction of the platform's radius
_LONGEST_STEP = 0.2

#: weight of the joints' steps beside the pose's: keeps legs that could move by themselves where they are
_JOINT_WEIGHT = 1e-9


@dataclass(frozen=True)
class AdmissibleHome:
    """A configuration in which all legs close.

    Attributes
    ----------
    pose : platform pose
    joint_positions : (L, J) m and rad
    distance, angle : m and rad, how far the pose is from the one that was wished
    """

    pose: Pose
    joint_positions: Array
    distance: float
    angle: float


def admissible_home(machine: Machine, wished: Pose | None = None, drives: Array | None = None) -> AdmissibleHome:
    """Pose next to a wished one that all legs admit, and the joint positions there.

    The least move and turn (turns times the platform's radius) that close all legs: Newton steps on the conditions of
    Lagrange, in the unknowns pose and joints, from the joint positions ``home`` of the machine, which thereby name the
    legs' branches. A wished pose that is admissible is returned as it is. The machine need not pass the checks of a
    machine file.

    Parameters
    ----------
    wished : default the machine's home
    drives : (A,) m or rad, wanted positions of the driven joints; default: those of the pose

    Raises
    ------
    ValueError
        ``drives`` has another shape than one number per drive.
    KinematicsError
        An open chain.
    ConvergenceError
        The legs do not close anywhere near; names leg and distance.
    """
    if not machine.has_platform:
        raise KinematicsError(f'{machine.name} is an open chain: there is no platform, every home is admissible')
    wished = wished or machine.home
    if drives is None:
        positions = _joints_there(machine, wished)
        if positions is not None:
            return AdmissibleHome(wished, positions, 0.0, 0.0)
    else:
        drives = np.asarray(drives, dtype=float)
        if drives.shape != (machine.actuated_count,):
            raise ValueError(f'drives has shape {drives.shape}, expected ({machine.actuated_count},): one per drive')
    pose, positions = _closest(machine, wished, drives)
    move = pose.position - wished.position
    turn = rotation_log(pose.rotation_base_platform @ wished.rotation_base_platform.T)
    return AdmissibleHome(pose, positions, float(np.linalg.norm(move)), float(np.linalg.norm(turn)))


def _joints_there(machine: Machine, pose: Pose) -> Array | None:
    """Joint positions (L, J) at a pose; None where the legs do not close to rounding."""
    try:
        positions = joint_positions(machine, pose.position[None], pose.rotation_base_platform[None])[0]
    except KinematicsError:
        return None
    closed = np.abs(_gaps(machine, pose, positions)[0]).max() <= _TOLERANCE
    return positions if closed else None


def _closest(machine: Machine, wished: Pose, drives: Array | None) -> tuple[Pose, Array]:
    """Pose and joint positions (L, J) at the least distance from a pose."""
    free = np.array([0, 1, 5]) if machine.planar else np.arange(6)
    radius = machine.platform_radius
    scale = np.repeat([1.0, radius], 3)[free]
    position, rotation = wished.position, wished.rotation_base_platform
    anchors = position + machine.platform_points @ rotation.T
    joints = stretched_positions(machine, anchors[None], machine.leg_home_positions[None])[0]
    unit = [radius if kind == 'prismatic' else 1.0 for kind in machine.joint_kinds]
    longest = _LONGEST_STEP * np.concatenate([np.tile(unit, machine.leg_count), radius / scale])
    weights = np.concatenate([np.full(joints.size, _JOINT_WEIGHT), scale**2])
    gap = np.full((machine.leg_count, 1), np.inf)
    for _ in range(_MAX_ITERATIONS):
        gap, matrix = _gaps(machine, Pose(position, rotation), joints)
        rows, right = matrix[..., [*range(joints.size), *(joints.size + free)]], -gap.ravel()
        if drives is not None:
            chosen = np.zeros((machine.leg_count, *joints.shape))
            chosen[np.arange(machine.leg_count), np.arange(machine.leg_count), machine.actuated_index] = 1.0
            fixed = np.concatenate([chosen.reshape(machine.leg_count, -1), np.zeros((machine.leg_count, len(free)))], 1)
            rows = np.concatenate([rows, fixed])
            right = np.concatenate([right, drives - joints[:, machine.actuated_index]])
        away = np.concatenate([position - wished.position, rotation_log(rotation @ wished.rotation_base_platform.T)])
        step = _step(rows, right, weights, np.concatenate([np.zeros(joints.size), away[free]]))
        step /= max(1.0, float(np.abs(step / longest).max()))
        joints = joints + step[: joints.size].reshape(joints.shape)
        move = np.zeros(6)
        move[free] = step[joints.size :]
        position, rotation = position + move[:3], rotation_exp(move[3:]) @ rotation
        if np.abs(gap).max() <= _TOLERANCE and np.abs(step[joints.size :] * scale).max() <= _LAST_STEP:
            return Pose(position, rotation), wrapped(machine, joints[None])[0]
    distance = np.linalg.norm(gap, axis=1)
    worst = int(np.argmax(distance))
    raise ConvergenceError(
        f'{machine.name}: no pose near the wished one at which all legs close; {machine.legs[worst].name} misses its '
        f'platform joint by {distance[worst]:.3g} m. Change the wished pose or drives, or the lengths'
    )


def _gaps(machine: Machine, pose: Pose, joints: Array) -> tuple[Array, Array]:
    """Tips minus platform joints (L, R) m, and their derivative (L R, L J + 6) by joints and twist."""
    legs, rows = machine.leg_count, machine.closing_equations
    chain = chain_pose(machine, joints[None])
    levers = machine.platform_points @ pose.rotation_base_platform.T
    gap = (chain.tip[0] - pose.position - levers)[:, :rows]
    matrix = np.zeros((legs, rows, joints.size + 6))
    by_joints = matrix[..., : joints.size].reshape(legs, rows, *joints.shape)
    each = np.arange(legs)
    by_joints[each, :, each] = tip_jacobian(machine, chain)[0, :, :rows]
    matrix[..., : joints.size] = by_joints.reshape(legs, rows, joints.size)
    matrix[..., joints.size : joints.size + 3] = -np.eye(3)[:rows]
    matrix[..., joints.size + 3 :] = skew(levers)[:, :rows]
    return gap, matrix.reshape(legs * rows, -1)


def _step(rows: Array, right: Array, weights: Array, away: Array) -> Array:
    """Step d with ``rows @ d = right`` that makes ``sum(weights (away + d)^2)`` least."""
    count = len(weights)
    system = np.zeros((count + len(rows),) * 2)
    system[:count, :count] = np.diag(weights)
    system[:count, count:], system[count:, :count] = rows.T, rows
    return np.asarray(np.linalg.lstsq(system, np.concatenate([-weights * away, right]), rcond=1e-14)[0][:count])
