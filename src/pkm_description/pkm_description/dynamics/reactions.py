"""Forces in all joints and closures during a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.inverse import require_dynamics
from pkm_description.kernels.dynamics.inverse_dynamics import all_forces
from pkm_description.kinematics.arguments import run_kernel
from pkm_description.kinematics.joint_motion import packed_motion, start_of
from pkm_description.machine import Machine, PlatformMotion


@dataclass(frozen=True)
class JointReactions:
    """Forces in a moving machine, N samples, base axes.

    In overconstrained machines rigid bodies do not determine all of them; then these are the smallest along the
    dependent constraints.

    Attributes
    ----------
    drive_forces : (N, A) N or N m
    friction_forces : (N, A) friction's share of the drive forces
    closure_forces, closure_moments : (N, C, 3) N, N m about the closure's point, of the closure's body (the end of a
        leg) on the other one (the platform); of planar machines the part in the plane
    joint_forces, joint_moments : (N, J, 3) N, N m about the joint's origin, of the body before the joint (or the
        base) on the body behind it. The part along the axis is what drive and friction do.
    loads : (N, J) N, size of the joint forces across the axes, of planar machines in the plane
    constraint_multipliers : (N, K) along the rows of ``ClosedLegs.constraints``: forces of the legs on the
        platform along the directions that they hold; on planar machines, last, the plane's force along z and its
        moments about x and y
    """

    drive_forces: Array
    friction_forces: Array
    closure_forces: Array
    closure_moments: Array
    joint_forces: Array
    joint_moments: Array
    loads: Array
    constraint_multipliers: Array


def joint_reactions(
    machine: Machine,
    motion: PlatformMotion,
    friction: bool = True,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
    start: Array | None = None,
) -> JointReactions:
    """Forces in all joints during a motion under the drive forces of the inverse dynamics.

    Parameters as :func:`pkm_description.dynamics.inverse_dynamics`, and raises as it does.
    """
    wrench = require_dynamics(machine, motion, external_wrench)
    data = machine.scratch[0]
    count, drives, joints, closures = len(motion), machine.actuated_count, len(data.joints), len(machine.closures)
    forces, shares, loads = np.empty((count, drives)), np.empty((count, drives)), np.empty((count, joints))
    closure_forces, closure_moments = np.empty((count, closures, 3)), np.empty((count, closures, 3))
    wrenches, multipliers = np.empty((count, joints, 6)), np.empty((count, len(data.constraints)))
    run_kernel(
        machine, all_forces, start_of(machine, start), *packed_motion(motion), bool(friction), float(sign_smoothing),
        wrench, forces, shares, loads, closure_forces, closure_moments, wrenches, multipliers,
    )  # fmt: skip
    return JointReactions(
        forces, shares, closure_forces, closure_moments, wrenches[..., :3], wrenches[..., 3:], loads, multipliers
    )
