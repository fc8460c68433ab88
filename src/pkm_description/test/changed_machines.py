"""Machines with something changed in their joints, all else as it is."""

from __future__ import annotations

import dataclasses

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Joint, JointLimits, Machine, PlatformMotion, Pose
from pkm_description.machine.machine import with_joints
from pkm_description.motion.coordinates import motion_from_coordinates


def with_drive_limits(machine: Machine, **limits: float) -> Machine:
    """Other limits of the drives, by the fields of :class:`JointLimits`."""

    def change(joint: Joint) -> Joint:
        changed = dataclasses.replace(joint.limits, **limits)
        return dataclasses.replace(joint, limits=changed) if joint.actuated else joint

    return with_joints(machine, change)


def unlimited(machine: Machine) -> Machine:
    """No joint has limits."""
    return with_joints(machine, lambda joint: dataclasses.replace(joint, limits=JointLimits()))


def translation(time: Array, home: Pose, *derivatives: Array) -> PlatformMotion:
    """Motion that keeps the attitude of home: offset (N, 3) m, velocity, acceleration; those not given are zero."""
    still = np.zeros((len(time), 3))
    moved = [np.hstack([value, still]) for value in (*derivatives, *[still] * 3)[:3]]
    return motion_from_coordinates(time, *moved, home)
