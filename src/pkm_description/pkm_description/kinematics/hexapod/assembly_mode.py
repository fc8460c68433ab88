"""Test which assembly mode a pose of a hexapod belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kinematics.leg_lengths import length_jacobian
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.machine import Machine, Pose

#: base joints nearer to their common plane than this fraction of their spread are taken for coplanar
COPLANAR = 1e-6


@dataclass(frozen=True)
class Branch:
    """What tells the branch of a reference pose, mostly home.

    Attributes
    ----------
    determinant_sign : of the length Jacobian at the reference pose
    plane_point, plane_normal : (3,) m, (3,), plane of the base joints, normal towards the reference pose; a zero
        normal where the base joints have no common plane
    """

    determinant_sign: float
    plane_point: Array
    plane_normal: Array

    def contains(self, position: Array, jacobian: Array) -> NDArray[np.bool_]:
        """Tell which poses (N,) may lie on the branch: positions (N, 3) m, length Jacobians (N, 6, 6)."""
        same_sign = np.linalg.det(jacobian) * self.determinant_sign > 0.0
        if not self.plane_normal.any():
            return np.asarray(same_sign)
        return np.logical_and(same_sign, (position - self.plane_point) @ self.plane_normal > 0.0)


# computed once per machine: an SVD and a determinant would double the time of a warm single solve
_HOME_BRANCHES: WeakKeyDictionary[Machine, Branch] = WeakKeyDictionary()


def home_branch(machine: Machine) -> Branch:
    """Branch of the machine's home pose."""
    if machine not in _HOME_BRANCHES:
        _HOME_BRANCHES[machine] = branch_of(machine, machine.home)
    return _HOME_BRANCHES[machine]


def branch_of(machine: Machine, reference: Pose) -> Branch:
    """Branch of any pose."""
    jacobian = length_jacobian(machine, reference.position, reference.rotation_base_platform)
    center = machine.base_points.mean(axis=0)
    _, spread, axes = np.linalg.svd(machine.base_points - center)
    normal = axes[-1] if spread[-1] <= COPLANAR * spread[0] else np.zeros(3)
    normal = normal * np.sign((reference.position - center) @ normal)
    return Branch(float(np.sign(np.linalg.det(jacobian))), center, normal)


def regular_from_home(machine: Machine, position: Array, rotation: Array, samples: int = 32) -> NDArray[np.bool_]:
    """Tell which poses (N,) the platform reaches from home on a straight path without passing a singular pose.

    Straight is the line of the position together with the turn about one axis. The sign of the length Jacobian's
    determinant is looked at in ``samples`` places of the path, so it proves no more than their spacing allows; and
    where the straight path is singular, another one may not be.

    Parameters
    ----------
    position, rotation : (N, 3) m and (N, 3, 3)
    """
    home, branch = machine.home, home_branch(machine)
    way = position - home.position
    turn = rotation_log(rotation @ home.rotation_base_platform.T)
    regular = np.ones(len(position), dtype=bool)
    for part in np.arange(1, samples + 1) / samples:  # a loop keeps the memory at one path place for all samples
        jacobian = length_jacobian(
            machine, home.position + part * way, rotation_exp(part * turn) @ home.rotation_base_platform
        )
        regular &= np.linalg.det(jacobian) * branch.determinant_sign > 0.0
    return regular
