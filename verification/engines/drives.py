"""Drives that determine the motion of a machine which may have more of them than it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import reduced_jacobian
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_joints
from scipy.linalg import qr


def independent_drives(machine: Machine) -> list[int]:
    """Numbers of as many drives as there are degrees of freedom, those that determine the motion at home best."""
    home = machine.home
    legs = close_legs(machine, home.position[None], home.rotation_base_platform[None])
    jacobian = reduced_jacobian(legs)[0]
    pivots = qr(jacobian.T, mode='r', pivoting=True)[1]
    return sorted(int(drive) for drive in pivots[: jacobian.shape[1]])


def driven_by(machine: Machine, drives: Sequence[int]) -> Machine:
    """The machine with some of its drives only."""
    names = {machine.actuated_joint_names[drive] for drive in drives}
    if len(names) == machine.actuated_count:
        return machine
    chosen = with_joints(machine, lambda joint: replace(joint, actuated=joint.name in names))
    return replace(chosen, drive_weights=())
