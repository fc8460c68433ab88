"""Applies estimated delay, mounting and position of the IMU to states: motion at the stamp of the legs.

Used by users' measurements and the outputs; the equations are in :mod:`pkm_estimation.kernels.imu_constants`.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array, packed

from pkm_estimation.kernels.imu_constants import with_constants_of_all
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import ImuMotion


def with_constants(layout: StateLayout, states: Array, motion: ImuMotion, gravity: Array) -> ImuMotion:
    """Apply mounting and position, and extrapolate over the remaining delay, by which the states lag.

    Parameters
    ----------
    layout : where the constants lie
    states : (N, n)
    motion : at the states, with nominal mounting and place
    gravity : (3,) m/s^2, axes of the positions
    """
    shapes = [(len(states), 3, 3) if name == 'rotation' else (len(states), 3) for name in motion._fields]
    copies = (np.array(np.broadcast_to(value, shape), order='C') for value, shape in zip(motion, shapes, strict=True))
    moved = ImuMotion(*copies)
    with_constants_of_all(layout.first_rows, packed(states), packed(gravity), *moved)
    return moved
