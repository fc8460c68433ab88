"""Ends of the axes of the paper's figures: of its curves no more is known, the text has no figures of them.

In the paper's units and axes (z down); by motion, quantity after quantity as in the panels of :mod:`curves`.
"""

from __future__ import annotations

Range = tuple[float, float]


def _even(*ends: float) -> tuple[Range, ...]:
    return tuple((-end, end) for end in ends)


#: by number of the figure, then by motion
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
