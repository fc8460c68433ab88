"""Numerical continuation along straight lines of drive positions, to find the assembly mode of a configuration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array, packed
from pkm_description.errors import KinematicsError
from pkm_description.kernels.forward import struts_alone
from pkm_description.kernels.forward_samples import follow_samples, paths_are_regular
from pkm_description.kinematics.arguments import poses
from pkm_description.kinematics.forward import checked_drives
from pkm_description.kinematics.forward_start import Start, home_branch, starts
from pkm_description.machine import Machine


@dataclass(frozen=True)
class Continuation:
    """How far N samples could be followed.

    Attributes
    ----------
    position, rotation_base_platform : (N, 3) m, (N, 3, 3), pose at the last drive positions reached
    joint_positions : (N, J) rad, m
    fraction : (N,), part of the line that was followed; 1 where the end was reached
    """

    position: Array
    rotation_base_platform: Array
    joint_positions: Array
    fraction: Array

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Samples (N,) followed to the end."""
        return np.asarray(self.fraction >= 1.0)


def follow_drives(machine: Machine, drive_positions: Array, initial: Start | None = None) -> Continuation:
    """Follow each configuration while its drives go on a straight line to the given positions.

    The step along the line adapts to every sample. It is repeated at half its length unless Newton's steps shrink fast,
    and the determinant of the closing equations keeps its sign: then the configuration found is the one that the
    machine would move to, and no other. A sample ends where the line's next configuration is singular. The end is
    accurate to 1e-8 of the platform radius.

    Parameters
    ----------
    drive_positions : (N, A) or (A,) m, rad, ends of the lines
    initial : where they begin, one or N; default home

    Raises
    ------
    KinematicsError, ShapeError
        As :func:`pkm_description.kinematics.forward_kinematics`.
    """
    drives = checked_drives(machine, drive_positions)
    joints, position, rotation = starts(machine, initial, len(drives))
    fraction = np.zeros(len(drives))
    follow_samples(machine.compiled_model, machine.scratch[1], drives, joints, position, rotation, fraction)
    return Continuation(position, rotation, joints, fraction)


def regular_from_home(machine: Machine, position: Array, rotation: Array, samples: int = 32) -> NDArray[np.bool_]:
    """Tell which poses (N,) the platform reaches from home on a straight path without passing a singular pose.

    Straight is the line of the position together with the turn about one axis. The sign of the length Jacobian's
    determinant is looked at in ``samples`` places of the path, so it proves no more than their spacing allows; and
    where the straight path is singular, another one may not be.

    Parameters
    ----------
    position, rotation : (N, 3) m and (N, 3, 3)

    Raises
    ------
    KinematicsError
        A machine of other legs than driven struts: it may not admit the poses of a straight path.
    """
    if not struts_alone(machine.compiled_model):
        raise KinematicsError(f'{machine.name}: it may not admit straight paths, not all legs are driven struts')
    position, rotation, _ = poses(position, rotation)
    regular = np.zeros(len(position), dtype=bool)
    paths_are_regular(
        machine.compiled_model, machine.scratch[1], packed(position), packed(rotation),
        samples, home_branch(machine), regular,
    )  # fmt: skip
    return regular
