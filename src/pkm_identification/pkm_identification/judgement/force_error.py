"""Force prediction error of a parameter set on a motion, in the figures of the field."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.errors import RecordingError


@dataclass(frozen=True)
class ForceError:
    """Difference between measured and predicted forces of L drives.

    Attributes
    ----------
    rms : (L,) N or N m
    force_rms : (L,) of the measured force
    variation_rms : (L,) of the measured force about its mean: gravity load does not flatter this one
    absolute : (L,) mean size of the difference
    variation_absolute : (L,) mean size of the measured force about its mean
    span : (L,) largest less smallest measured force

    Notes
    -----
    Figures of all drives together are sums over all of them, with each drive's own mean. Where drives of one machine
    push in N and turn in N m, no such sum has a meaning: look at the drives one by one.
    """

    rms: Array
    force_rms: Array
    variation_rms: Array
    absolute: Array
    variation_absolute: Array
    span: Array

    @property
    def relative(self) -> float:
        """Error rms over all drives as a part of the force rms."""
        return _total(self.rms) / _total(self.force_rms)

    @property
    def relative_to_variation(self) -> float:
        """Error rms over all drives as a part of the force's variation about its mean."""
        return _total(self.rms) / _total(self.variation_rms)

    @property
    def relative_absolute(self) -> float:
        """Relative absolute error eps_RA of all drives: ``sum |error| / sum |force - mean|`` (Mata et al., Eq. 33)."""
        return float(self.absolute.sum() / self.variation_absolute.sum())

    @property
    def relative_absolute_of_drives(self) -> Array:
        """The same of each drive (L,)."""
        return _ratio(self.absolute, self.variation_absolute)

    @property
    def normalised_rms(self) -> float:
        """NRMS: error rms over all drives as a part of the largest span of a drive's measured force."""
        return _total(self.rms) / float(self.span.max())

    @property
    def normalised_rms_of_drives(self) -> Array:
        """NRMS of each drive (L,): error rms as a part of the span of its own measured force."""
        return _ratio(self.rms, self.span)


def _ratio(part: Array, whole: Array) -> Array:
    """NaN for a drive that did not move."""
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0.0)


def _total(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def force_error(measured: Array, predicted: Array, used: NDArray[np.bool_] | None = None) -> ForceError:
    """Compare forces (N, L) drive by drive, over the ``used`` samples (N, L) only.

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
    used = np.ones(measured.shape, dtype=bool) if used is None else used
    weight = used / np.maximum(used.sum(axis=0), 1.0)

    def average(values: Array) -> Array:
        return np.asarray(np.sum(weight * values, axis=0))

    error, variation = measured - predicted, measured - average(measured)
    span = np.where(used, measured, -np.inf).max(axis=0) - np.where(used, measured, np.inf).min(axis=0)
    return ForceError(
        np.sqrt(average(error**2)),
        np.sqrt(average(measured**2)),
        np.sqrt(average(variation**2)),
        average(np.abs(error)),
        average(np.abs(variation)),
        np.where(np.isfinite(span), span, 0.0),
    )
