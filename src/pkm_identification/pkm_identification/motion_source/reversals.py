"""How far rows are from the reversals of their drives, where Coulomb friction jumps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.ndimage import maximum_filter1d

from pkm_identification.motion_source.sticking import reversing


def near_reversals(velocities: Array, samples: int) -> NDArray[np.bool_]:
    """Which samples (N, A) are at most so many samples from a reversal of velocities (N, A)."""
    return np.asarray(maximum_filter1d(reversing(velocities), 2 * samples + 1, axis=0))


class Reversals(NamedTuple):
    """The reversal that is nearest to each row.

    Attributes
    ----------
    distance : (n, A) s; infinite for a drive that never turns
    direction : (n, A) sign of the drive's velocity after that reversal
    """

    distance: Array
    direction: Array

    def nearest_of_all(self) -> Reversals:
        """The same with the reversals of all drives: what is uncertain in one is shared by redundant drives."""
        distance = np.repeat(self.distance.min(axis=1, keepdims=True), self.distance.shape[1], axis=1)
        return Reversals(distance, self.direction)


def nearest_reversals(velocities: Array, sample_rate: float, places: NDArray[np.intp]) -> Reversals:
    """Distance of some samples to the nearest reversals of each drive.

    Parameters
    ----------
    velocities : (N, A) m/s or rad/s
    sample_rate : Hz
    places : (n,) samples
    """
    distance = np.full((len(places), velocities.shape[1]), np.inf)
    direction = np.zeros_like(distance)
    for drive, turns in enumerate(reversing(velocities).T):
        found = np.flatnonzero(turns)
        if not len(found):
            continue
        after = np.clip(np.searchsorted(found, places), 0, len(found) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(np.abs(found[after] - places) <= np.abs(found[before] - places), after, before)
        distance[:, drive] = np.abs(found[nearest] - places) / sample_rate
        last = np.minimum(found[nearest] + 2, len(velocities) - 1)  # two samples turn: this is beyond both
        direction[:, drive] = np.sign(velocities[last, drive])
    return Reversals(distance, direction)
