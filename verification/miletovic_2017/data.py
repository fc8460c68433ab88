"""Printed and derived figures of Miletovic et al. (2017), in the paper's axes (z down)."""

from __future__ import annotations

import numpy as np

#: the paper's z-down axes to z-up axes and back: vectors ``D v``, rotations ``D R D``
D = np.diag([1.0, -1.0, -1.0])

#: Table 1: upper and lower joint circle, pair distances, m
PLATFORM_RADIUS, BASE_RADIUS, PLATFORM_PAIR, BASE_PAIR = 1.60, 1.65, 0.20, 0.60
SHORTEST, LONGEST, NEUTRAL_LENGTH = 2.08, 3.33, 2.705

#: joints worked out from Table 1, leg by leg, m
PLATFORM_POINTS = np.array(
    [
        [1.596871942, -0.100000000, 0.0],
        [1.596871942, 0.100000000, 0.0],
        [-0.711833431, 1.432931669, 0.0],
        [-0.885038512, 1.332931669, 0.0],
        [-0.885038512, -1.332931669, 0.0],
        [-0.711833431, -1.432931669, 0.0],
    ]
)
BASE_POINTS = np.array(
    [
        [1.071056658, -1.255124550, 0.0],
        [1.071056658, 1.255124550, 0.0],
        [0.551441416, 1.555124550, 0.0],
        [-1.622498074, 0.300000000, 0.0],
        [-1.622498074, -0.300000000, 0.0],
        [0.551441416, -1.555124550, 0.0],
    ]
)

#: check state: position (m), vector part and scalar of the quaternion, rotation matrix, position of the IMU (m)
POSITION = np.array([0.1, -0.2, -2.4])
QUATERNION_VECTOR = np.array([0.03, -0.04, 0.05])
QUATERNION_SCALAR = 0.9974968671630
ROTATION = np.array(
    [
        [0.9918, -0.102149687, -0.076799749],
        [0.097349687, 0.9932, -0.063849812],
        [0.082799749, 0.055849812, 0.995],
    ]
)
IMU_POSITION = np.array([-0.305, 0.0, -0.0105])
LENGTHS = (2.605980145, 2.630850836, 2.742285239, 2.607813087, 3.028066551, 2.736326055)
LENGTHS_FROM_IMU = (2.676249918, 2.673360468, 2.575541406, 2.681956869, 3.097775986, 2.604091396)

#: Tables 2 and 3: x, y, z (m), roll, pitch, yaw (deg); and the leg lengths there (m)
PRINTED_POSES: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = (
    ((-0.07, -0.49, -2.39, -4.76, -4.75, 0.19), (2.390, 2.833, 2.955, 2.714, 2.880, 2.711)),  # MP1 20.00 s
    ((0.49, -0.07, -2.39, 2.71, 2.70, 0.06), (2.883, 2.929, 2.423, 2.767, 2.921, 2.545)),  # MP1 21.25 s
    ((0.06, 0.49, -2.39, -4.76, -4.75, 0.20), (2.850, 2.431, 2.855, 3.093, 2.542, 2.695)),  # MP1 22.50 s
    ((-0.49, 0.07, -2.39, 2.71, 2.70, 0.06), (2.758, 2.689, 2.882, 2.549, 2.608, 2.999)),  # MP1 23.75 s
    ((0.00, 0.01, -2.38, -2.59, 1.30, -0.14), (2.728, 2.731, 2.739, 2.737, 2.621, 2.628)),  # MP2 11.50 s
    ((0.00, -0.02, -2.41, 3.86, -1.59, -0.23), (2.679, 2.690, 2.656, 2.660, 2.830, 2.828)),  # MP2 16.80 s
    ((0.00, 0.00, -2.39, -0.38, 1.30, -0.67), (2.729, 2.747, 2.692, 2.704, 2.672, 2.692)),  # MP2 55.30 s
    ((0.00, 0.01, -2.38, -3.57, -0.64, -0.82), (2.670, 2.693, 2.773, 2.792, 2.618, 2.637)),  # MP2 69.20 s
)

#: excursions published elsewhere, one axis at a time with 50 mm of buffer: m for x, y, z, deg about them; z down
MOTION_LIMITS = (
    ('surge', -0.981, 1.259),
    ('sway', -1.031, 1.031),
    ('heave', -0.636, 0.678),
    ('roll', -25.9, 25.9),
    ('pitch', -23.7, 24.3),
    ('yaw', -41.6, 41.6),
)

Range = tuple[float, float]


def _even(*ends: float) -> tuple[Range, ...]:
    return tuple((-end, end) for end in ends)


#: ends of the axes of the paper's figures (of its curves no more is known, the text has no figures of them), in its
#: units and axes (z down), by number and motion, quantity after quantity as in the panels of :mod:`curves`
RANGES: dict[int, dict[str, tuple[Range, ...]]] = {
    7: {
        'mp1': ((-1.0, 1.5), (-0.16, 0.16), (2.40, 3.00), (2.40, 3.00), (2.55, 3.00)),
        'mp2': ((-0.5, 0.5), (-0.12, 0.12), (2.64, 2.80), (2.64, 2.80), (2.60, 2.85)),
    },
    9: {'mp1': _even(5e-5, 4e-5, 6e-5), 'mp2': ((-5e-5, 5e-5), (-2e-5, 4e-5), (-5e-5, 5e-5))},
    10: {
        'mp1': _even(2e-5, 2e-5, 1.2e-4, 3e-4, 5e-6, 5e-6),
        'mp2': ((-2e-5, 2e-5), (-0.8e-5, 0.8e-5), (-0.8e-4, 1.6e-4), *_even(1e-4, 6e-6, 6e-6)),
    },
    11: {
        'mp1': ((-3.2e-4, 0.0), (-1.5e-4, 0.0), (-1.2e-5, 0.6e-5), (-0.8e-5, 0.8e-5)),
        'mp2': ((-3.2e-4, 0.0), (-4e-5, 4e-5), (-0.8e-5, 0.8e-5), (-0.6e-5, 1.8e-5)),
    },
    12: {'mp1': ((-1.2e-3, 0.8e-3), (-0.5e-3, 1e-3), (-6e-4, 6e-4)), 'mp2': _even(6e-4, 4e-4, 5e-4)},
    13: {
        'mp1': ((-1.0, 0.25), (-0.5, 0.5), (-0.9, 0.9), (-0.10, 0.05), (-0.04, 0.02), (-0.04, 0.04)),
        'mp2': ((-0.328, -0.296), *_even(0.02, 0.04, 0.06, 0.04), (-0.045, 0.015)),
    },
    14: {
        'mp1': ((0.480, 0.492), (-0.184, -0.152), (-0.0188, -0.0180), (-0.0025, 0.0075)),
        'mp2': ((0.4905, 0.4950), (-0.159, -0.147), (-0.0192, -0.0180), (-0.003, 0.009)),
    },
    15: {'mp1': _even(2e-2, 6e-3, 6e-2), 'mp2': _even(1.6e-3, 3e-3, 1.2e-2)},
}

#: Figs 16 and 17: where the axes of the standard deviations end, m, rad, m/s
DEVIATIONS: dict[str, dict[str, float]] = {
    'mp1': {'position': 1.6e-2, 'attitude': 5e-3, 'velocity': 4e-2},
    'mp2': {'position': 1.2e-3, 'attitude': 2.4e-3, 'velocity': 1.2e-2},
}
