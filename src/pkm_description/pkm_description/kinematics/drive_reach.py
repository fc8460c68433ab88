"""Range of motion of single drives from home."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kinematics.closure import solve_closure
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.joint_limits import position_limits, tilt_limits
from pkm_description.kinematics.leg_motion import close_legs, joint_positions
from pkm_description.kinematics.rotation import rotation_log
from pkm_description.machine import Machine

#: configurations of one scan; finer scans inside narrow the limit down
_SCAN = 51


@dataclass(frozen=True)
class DriveReach:
    """What a drive, or all together, can do from home.

    Attributes
    ----------
    drive : joint name, or ``all together``
    lower, upper : m or rad from home, up to a joint's limit, a leg's end or a singular configuration
    move : (2, 3) m, how far the platform's origin is from home at both ends
    turn : (2,) rad, how far the platform is turned from home at both ends
    """

    drive: str
    lower: float
    upper: float
    move: Array
    turn: Array


def drive_reaches(machine: Machine, tolerance: float = 1e-5) -> list[DriveReach]:
    """Reach of every drive by itself, the others at home, and of all drives together by the same amount.

    Parameters
    ----------
    tolerance : m or rad of the drive

    Raises
    ------
    KinematicsError
        For open chains.
    """
    home = machine.home
    at_home = joint_positions(machine, home.position[None], home.rotation_base_platform[None])
    start = at_home[0, :, machine.actuated_index]
    directions = np.vstack([np.eye(machine.actuated_count), np.ones(machine.actuated_count)])
    reaches = []
    for name, direction in zip((*machine.actuated_joint_names, 'all together'), directions, strict=True):
        ends = [_reach(machine, start, sign * direction, tolerance) for sign in (-1.0, 1.0)]
        closed = solve_closure(machine, start + np.outer([-ends[0], ends[1]], direction))
        turned = closed.rotation_base_platform @ home.rotation_base_platform.T
        reaches.append(
            DriveReach(
                name, -ends[0], ends[1], closed.position - home.position,
                np.linalg.norm(rotation_log(turned), axis=-1),
            )
        )  # fmt: skip
    return reaches


def _reach(machine: Machine, start: Array, direction: Array, tolerance: float) -> float:
    """Largest step along a direction of the drives before something stops it."""
    near, far = 0.0, _farthest(machine)
    while far - near > tolerance:
        steps = np.linspace(near, far, _SCAN)
        closed = solve_closure(machine, start + np.outer(steps, direction))
        bad = ~_allowed(machine, closed)
        if not bad.any():
            return far
        first = int(np.argmax(bad))
        if first == 0:
            return near
        near, far = float(steps[first - 1]), float(steps[first])
    return near


def _farthest(machine: Machine) -> float:
    """Step beyond the limits of all drives: their strokes, or half a turn, or twice the size of the machine."""
    if machine.joint_kinds[machine.actuated_index] == 'revolute':
        return np.pi
    place = machine.actuated_index
    stroke = machine.leg_position_upper[:, place] - machine.leg_position_lower[:, place]
    if np.isfinite(stroke).all():
        return 1.1 * float(stroke.max())
    home = machine.home
    return 4.0 * float(np.linalg.norm(home.position - machine.base_points, axis=1).max() + machine.platform_radius)


def _allowed(machine: Machine, closed: ForwardKinematicsResult) -> NDArray[np.bool_]:
    """Which configurations are closed, regular, on the home branch and inside all joint limits."""
    good = closed.trusted & ~position_limits(machine, closed.joint_positions).outside().any(axis=1)
    chosen = np.flatnonzero(good)
    if len(chosen):
        rotation = closed.rotation_base_platform[chosen]
        legs = close_legs(machine, closed.position[chosen], rotation, closed.joint_positions[chosen])
        good[chosen] = ~tilt_limits(machine, legs, rotation).outside().any(axis=1)
    return good
