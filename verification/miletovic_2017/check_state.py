"""Check state of the model (worked out independently): velocity, biases, input, f and G (z down, SI units).

Position, attitude and lengths are in :mod:`verification.miletovic_2017.data`.
"""

from __future__ import annotations

import numpy as np

VELOCITY = np.array([0.3, -0.2, 0.1])
BIASES = np.array([0.4898, -0.009023, -0.1894, -0.01822, -0.005067, -0.02159])
INPUT = np.array([0.5, 0.2, -9.9, 0.1, -0.05, 0.02])
RATE = np.array(
    [0.310289962, -0.175820075, 0.113169962, 0.818363462, 0.756067559, 0.057180850]
    + [0.059253565, -0.020078613, 0.022433352]
    + [0.0] * 6
)
#: rows of V and of q, last three columns
G_VELOCITY = np.array([[0.0, -0.1, -0.2], [0.1, 0.0, -0.3], [0.2, 0.3, 0.0]])
G_ATTITUDE = np.array([[0.498748434, -0.025, -0.02], [0.025, 0.498748434, -0.015], [0.02, 0.015, 0.498748434]])
