"""Force prediction error of a parameter set on a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.errors import RecordingError


@dataclass(frozen=True)
class ForceError:
    """Difference between measured and predicted leg forces.

    Attributes
    ----------
    rms : (L,) N
    force_rms : (L,) N, of the measured force
    variation_rms : (L,) N, of the measured force about its mean: gravity load does not flatter this one
    """

    rms: Array
    force_rms: Array
    variation_rms: Array

    @property
    def relative(self) -> float:
        """Error rms over all legs as a part of the force rms."""
        return _total(self.rms) / _total(self.force_rms)

    @property
    def relative_to_variation(self) -> float:
        """Error rms over all legs as a part of the force's variation about its mean."""
        return _total(self.rms) / _total(self.variation_rms)


def _total(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def force_error(measured: Array, predicted: Array, used: NDArray[np.bool_] | None = None) -> ForceError:
    """Compare forces (N, L) leg by leg, over the ``used`` samples (N, L) only.

    Raises
    ------
    RecordingError
        If there is no such sample.
    """
    if used is not None and not used.any():
        raise RecordingError(
            'forces cannot be compared: no leg moves in this recording (or only within the filter\'s reach of its '
            'reversals); record a longer or livelier motion'
        )
    weight = np.ones_like(measured) if used is None else used.astype(float)
    weight = weight / np.maximum(weight.sum(axis=0), 1.0)

    def rms(values: Array) -> Array:
        return np.sqrt(np.sum(weight * values**2, axis=0))

    mean = np.sum(weight * measured, axis=0)
    return ForceError(rms(measured - predicted), rms(measured), rms(measured - mean))
