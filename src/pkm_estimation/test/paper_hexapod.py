"""SIMONA as Miletovic et al. print it (z down, table 1), without a machine file; and the map to a z-up base."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from verification.miletovic_2017.data import BASE_POINTS, PLATFORM_POINTS, D

__all__ = ['BASE_POINTS', 'PLATFORM_POINTS', 'D']

GRAVITY = np.array([0.0, 0.0, 9.80665])
IMU_POSITION = np.array([-0.305, 0.0, -0.0105])

#: check state and input
STATE = np.array(
    [0.1, -0.2, -2.4, 0.3, -0.2, 0.1, 0.03, -0.04, 0.05, 0.4898, -0.009023, -0.1894, -0.01822, -0.005067, -0.02159]
)
IMU = np.array([0.5, 0.2, -9.9, 0.1, -0.05, 0.02])
LENGTHS = np.array([2.605980145, 2.630850836, 2.742285239, 2.607813087, 3.028066551, 2.736326055])
LENGTHS_FROM_IMU = np.array([2.676249918, 2.673360468, 2.575541406, 2.681956869, 3.097775986, 2.604091396])
RATE = np.array(
    [0.310289962, -0.175820075, 0.113169962, 0.818363462, 0.756067559, 0.057180850]
    + [0.059253565, -0.020078613, 0.022433352]
    + [0.0] * 6
)
INPUT_MATRIX_VELOCITY = np.array([[0, -0.1, -0.2], [0.1, 0, -0.3], [0.2, 0.3, 0]])
INPUT_MATRIX_ATTITUDE = np.array(
    [[0.498748434, -0.025, -0.02], [0.025, 0.498748434, -0.015], [0.02, 0.015, 0.498748434]]
)


def turn_over(state: Array) -> Array:
    """Change a state (15, ...) or an input (6, ...) between the paper's z-down axes and z-up axes."""
    signs = np.tile(np.diag(D), len(state) // 3)
    return state * signs.reshape(-1, *([1] * (state.ndim - 1)))
