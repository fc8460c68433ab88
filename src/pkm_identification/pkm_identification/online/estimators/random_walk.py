"""Process noise of parameters: how much they may wander from one sample to the next."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array


class FixedNoise:
    """The same variances before every sample.

    Parameters
    ----------
    variances : (P,) by which the parameters wander in one sample; 0 for constants
    """

    def __init__(self, variances: Array) -> None:
        self.variances = _variances(variances)

    def learn(self, step: Array) -> None:
        """Learn from the step (P,) of a correction: nothing, here."""


class RobbinsMonro:
    """Variances that follow the squares of the corrections: Oh (2003), Eq. 2.75, restricted to a diagonal.

    ``Q <- (1 - gain) Q + gain diag(K e e^T K^T)``, where ``K e`` is the correction of the parameters.

    Parameters
    ----------
    gain : in (0, 1]
    variances : (P,) at the start
    """

    def __init__(self, gain: float, variances: Array) -> None:
        if not 0.0 < gain <= 1.0:
            raise ValueError(f'gain = {gain}: must be above 0 and at most 1')
        self.gain, self.variances = gain, _variances(variances)

    def learn(self, step: Array) -> None:
        """Learn from the step (P,) of a correction."""
        self.variances *= 1.0 - self.gain
        self.variances += self.gain * step**2


#: process noise of a filter
RandomWalk = FixedNoise | RobbinsMonro


def _variances(values: Array) -> Array:
    variances = np.array(values, dtype=float)
    if not (np.isfinite(variances).all() and (variances >= 0.0).all()):
        raise ValueError(f'variances of a random walk must be finite and at least 0, got {values!r}')
    return variances
