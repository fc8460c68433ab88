"""Range of motion of single drives from home."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kinematics.closed_legs import close_legs, mean_leg_length
from pkm_description.kinematics.forward import forward_kinematics
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.joint_limits import position_limits, tilt_limits
from pkm_description.kinematics.joint_motion import joint_positions
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
    start = at_home[0, machine.drive_columns]
    directions = np.vstack([np.eye(machine.actuated_count), np.ones(machine.actuated_count)])
    reaches = []
    for name, direction in zip((*machine.actuated_joint_names, 'all together'), directions, strict=True):
        ends = [_reach(machine, start, sign * direction, tolerance) for sign in (-1.0, 1.0)]
        closed = forward_kinematics(machine, start + np.outer([-ends[0], ends[1]], direction))
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
    near, far = 0.0, _farthest(machine, direction)
    while far - near > tolerance:
        steps = np.linspace(near, far, _SCAN)
        closed = forward_kinematics(machine, start + np.outer(steps, direction))
        bad = ~_allowed(machine, closed)
        if not bad.any():
            return far
        first = int(np.argmax(bad))
        if first == 0:
            return near
        near, far = float(steps[first - 1]), float(steps[first])
    return near


def _farthest(machine: Machine, direction: Array) -> float:
    """Step beyond the limits of the drives that move: their strokes, half a turn, or twice the machine's size."""
    farthest = 0.0
    for joint, moves in zip(machine.actuated_joints, direction, strict=True):
        if not moves:
            continue
        stroke = joint.limits.upper - joint.limits.lower
        if joint.kind == 'revolute':
            step = np.pi
        elif np.isfinite(stroke):
            step = 1.1 * stroke
        else:
            step = 4.0 * (mean_leg_length(machine) + float(machine.model.radius[0]))
        farthest = max(farthest, step)
    return farthest


def _allowed(machine: Machine, closed: ForwardKinematicsResult) -> NDArray[np.bool_]:
    """Which configurations are closed, regular, on the home branch and inside all joint limits."""
    joints = closed.joint_positions.reshape(len(closed), -1)
    good = closed.trusted & ~position_limits(machine, joints).outside().any(axis=1)
    chosen = np.flatnonzero(good)
    if len(chosen):
        legs = close_legs(machine, closed.position[chosen], closed.rotation_base_platform[chosen], joints[chosen])
        good[chosen] = ~tilt_limits(machine, legs, len(chosen)).outside().any(axis=1)
    return good
