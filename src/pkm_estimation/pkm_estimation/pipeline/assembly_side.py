"""Which side of the base plane the platform is on: the sign of the mirror assembly of a hexapod."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.kinematics import length_jacobian
from pkm_description.mechanism import Mechanism

Array = NDArray[np.float64]


class AssemblySide:
    """What tells the home assembly mode: the side of the base plane, and the sign of the length Jacobian's determinant.

    Only hexapods with struts have their mirror image there; of all other machines every pose is taken.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        machine = mechanism.machine
        self._struts = mechanism.has_closed_form
        self._centre = machine.base_points.mean(axis=0)
        normal = np.linalg.svd(machine.base_points - self._centre)[2][-1]
        self._normal = normal * np.sign(normal @ (machine.home.position - self._centre))
        self._mechanism = mechanism
        home = machine.home
        self._sign = self._determinant_sign(home.position, home.rotation_base_platform) if self._struts else 1.0

    def is_home_side(self, position: Array) -> bool:
        """Whether a point (3,) of the platform lies on the side of the base where the machine was built (S3-34)."""
        return not self._struts or bool((position - self._centre) @ self._normal > 0.0)

    def is_home_mode(self, position: Array, rotation_base_platform: Array) -> bool:
        """Whether a pose (3,), (3, 3) can be reached from home without passing a singular one; necessary only."""
        if not self.is_home_side(position):
            return False
        return not self._struts or self._determinant_sign(position, rotation_base_platform) == self._sign

    def _determinant_sign(self, position: Array, rotation_base_platform: Array) -> float:
        return float(np.sign(np.linalg.det(length_jacobian(self._mechanism, position, rotation_base_platform))))
