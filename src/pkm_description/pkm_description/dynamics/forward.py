"""Forward dynamics: how the platform accelerates under given drive forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.dynamics.energy import mass_matrix_of
from pkm_description.dynamics.inverse import generalised_force
from pkm_description.dynamics.projection import actuated_jacobian
from pkm_description.kinematics.leg_motion import close_legs
from pkm_description.mechanism import Mechanism
from pkm_description.motion.platform_motion import PlatformMotion

Array = NDArray[np.float64]


def forward_dynamics(
    mechanism: Mechanism,
    position: Array,
    rotation_base_platform: Array,
    twist: Array,
    forces: Array,
    friction: bool = True,
    sign_smoothing: float = 0.0,
) -> Array:
    """Platform acceleration (N, 6) [linear, angular], base axes: solves ``M a + h = J^T f``.

    Defined in singular poses of the drives too, unlike the inverse dynamics. Coulomb friction at exactly zero
    velocity is zero: sticking is not modelled.

    Parameters
    ----------
    position, rotation_base_platform : (N, 3) m, (N, 3, 3)
    twist : (N, 6), base axes
    forces : (N, L) N, of the drives
    friction, sign_smoothing : as in :func:`pkm_description.dynamics.inverse_dynamics`
    """
    still = np.zeros((len(position), 3))
    motion = PlatformMotion(
        np.zeros(len(position)), position, rotation_base_platform, twist[:, :3], twist[:, 3:], still, still
    )
    legs = close_legs(mechanism, position, rotation_base_platform)
    bias = generalised_force(mechanism, legs, motion, friction, sign_smoothing)
    drive = (forces[:, None] @ actuated_jacobian(mechanism, legs))[:, 0]
    mass = mass_matrix_of(mechanism, legs, rotation_base_platform)
    return np.asarray(np.linalg.solve(mass, (drive - bias)[..., None]), dtype=float)[..., 0]
