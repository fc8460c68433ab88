"""Which branch of the forward kinematics a pose lies on."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pkm_description.kinematics.leg_lengths import length_jacobian
from pkm_description.mechanism import Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HomeBranch:
    """What tells the home branch.

    Attributes
    ----------
    determinant_sign : of the length Jacobian at home
    plane_point, plane_normal : (3,) m, (3,), plane of the base joints, normal towards home
    """

    determinant_sign: float
    plane_point: Array
    plane_normal: Array

    def contains(self, position: Array, jacobian: Array) -> NDArray[np.bool_]:
        """Tell which poses (N,) may lie on the branch: positions (N, 3) m, length Jacobians (N, 6, 6)."""
        same_sign = np.linalg.det(jacobian) * self.determinant_sign > 0.0
        return np.logical_and(same_sign, (position - self.plane_point) @ self.plane_normal > 0.0)


# computed once per mechanism: an SVD and a determinant would double the time of a warm single solve
_HOME_BRANCHES: WeakKeyDictionary[Mechanism, HomeBranch] = WeakKeyDictionary()


def home_branch(mechanism: Mechanism) -> HomeBranch:
    """Branch of the mechanism's home pose."""
    if mechanism not in _HOME_BRANCHES:
        home = mechanism.machine.home
        jacobian = length_jacobian(mechanism, home.position, home.rotation_base_platform)
        center = mechanism.base_points.mean(axis=0)
        normal = np.linalg.svd(mechanism.base_points - center)[2][-1]
        normal = normal * np.sign((home.position - center) @ normal)
        _HOME_BRANCHES[mechanism] = HomeBranch(float(np.sign(np.linalg.det(jacobian))), center, normal)
    return _HOME_BRANCHES[mechanism]
