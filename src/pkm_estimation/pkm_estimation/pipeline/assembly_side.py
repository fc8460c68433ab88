"""Which side of the base plane the platform is on: the sign of the mirror assembly of a hexapod."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.mechanism import Mechanism

Array = NDArray[np.float64]


class AssemblySide:
    """Plane through the base joints, with its normal towards the machine's home.

    Only hexapods with struts have their mirror image there; of all other machines every pose is taken.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        machine = mechanism.machine
        self._struts = mechanism.has_closed_form
        self._centre = machine.base_points.mean(axis=0)
        normal = np.linalg.svd(machine.base_points - self._centre)[2][-1]
        self._normal = normal * np.sign(normal @ (machine.home.position - self._centre))

    def is_home_side(self, position: Array) -> bool:
        """Whether a point (3,) of the platform lies on the side of the base where the machine was built (S3-34)."""
        return not self._struts or bool((position - self._centre) @ self._normal > 0.0)
