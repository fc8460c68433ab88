"""Innovations of the legs beside what they should be, as rows of named numbers: the same ones live and offline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.stream.output import EstimatorOutput

#: per leg: measured minus predicted [m, rad], its standard deviation, and the square of their ratio
PARTS = ('innovation', 'sigma', 'nis')
#: normalised innovation squared of all legs together
TOTAL = 'nis'


def innovation_names(drives: Sequence[str]) -> list[str]:
    """Names of the numbers of a row, e.g. ``leg1_prismatic/sigma``; the last is that of all legs."""
    return [*(f'{drive}/{part}' for drive in drives for part in PARTS), TOTAL]


def innovation_rows(innovation: Array, std: Array, nis: Array) -> Array:
    """Numbers (N, 3 A + 1) in the order of the names; NaN at starts and for legs that were not used.

    Parameters
    ----------
    innovation, std : (N, A) m or rad
    nis : (N,)
    """
    per_leg = np.stack([innovation, std, np.square(innovation / std)], axis=2)
    return np.concatenate([per_leg.reshape(len(nis), -1), nis[:, None]], axis=1)


def innovation_row(output: EstimatorOutput) -> Array:
    """Numbers (3 A + 1,) of one estimate."""
    innovation = output.innovation
    if innovation is None:
        return np.full(len(PARTS) * len(output.drive_positions) + 1, np.nan)
    row: Array = innovation_rows(innovation.residual[None], innovation.std[None], np.array([innovation.nis]))[0]
    return row
