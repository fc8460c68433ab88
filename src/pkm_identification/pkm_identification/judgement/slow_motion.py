"""Force errors by speed: friction laws differ where drives are slow (Mata et al. 2008, Table 4, low velocity)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array

#: part of a drive's root mean square of velocity up to which it is slow
SLOW = 0.3


@dataclass(frozen=True)
class ErrorBySpeed:
    """Mean absolute errors over the mean absolute deviation of all measured forces of a drive from their mean.

    Attributes
    ----------
    slow, fast : (A,) NaN for a drive that is never so
    share : (A,) part of the samples in which a drive is slow
    """

    slow: Array
    fast: Array
    share: Array

    @property
    def ratio(self) -> Array:
        """Error at low over that at high speed (A,): well above one where the friction law is not that of the drive."""
        return np.asarray(self.slow / self.fast)


def error_by_speed(measured: Array, predicted: Array, velocities: Array, slow: float = SLOW) -> ErrorBySpeed:
    """Judge forces (N, A) by the speed of the drives, whose velocities are (N, A)."""
    speed = np.abs(velocities)
    is_slow = speed < slow * np.sqrt(np.mean(velocities**2, axis=0))
    error = np.abs(predicted - measured)
    spread = np.abs(measured - measured.mean(axis=0)).mean(axis=0)

    def mean(chosen: Array) -> Array:
        count = chosen.sum(axis=0)
        total = np.where(chosen, error, 0.0).sum(axis=0)
        return np.divide(total, count * spread, out=np.full(len(spread), np.nan), where=count * spread > 0.0)

    return ErrorBySpeed(mean(is_slow), mean(~is_slow), is_slow.mean(axis=0))
