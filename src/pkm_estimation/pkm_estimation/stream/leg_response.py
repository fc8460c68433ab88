"""How innovations respond to many small errors of the legs' positions at once, along a replay.

To first order an error ``e`` (A,) of the positions changes the whitened innovation by w' and the state by s'::

    w' = C^-1 e - W s',   s'+ = s' + K w',   then s' = F s'+ up to the next measurement

with the filter's own root C of the innovations' covariance, slope W of the whitened innovations, gain K, and slope F of
the prediction, all as its sigma points give them. One pass takes any number of errors along as columns, where a replay
for each of them would cost a pass each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Pose
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.step_record import step_slope
from pkm_estimation.filters import UnscentedKalmanFilter
from pkm_estimation.models import ATTITUDE, POSITION

#: errors (A, p) of the positions by each of p parameters, at a measurement, where the platform is at a pose
LegErrors = Callable[[int, Pose], Array]
_POSE = [*range(POSITION.start, POSITION.stop), *range(ATTITUDE.start, ATTITUDE.stop)]


class LegResponse:
    """Watches the steps of a filter, and takes the response along.

    Parameters
    ----------
    errors : of the positions, of all causes together
    count, drives : numbers N of measurements, A of drives

    Attributes
    ----------
    white : (N, A, p) change of the whitened innovations; NaN where a measurement was no ordinary one
    """

    def __init__(self, errors: Sequence[LegErrors], count: int, drives: int) -> None:
        self._errors, self._shape = errors, (count, drives)
        self.white: Array = np.zeros((count, drives, 0))
        self._state: Array = np.zeros((0, 0))
        self._covariance: Array = np.zeros((0, 0))

    def corrected(self, k: int, filter_: PlatformFilter) -> None:
        """The filter was corrected by all drives at measurement ``k``, and nothing came between."""
        if not self._covariance.size:
            return
        pose = filter_.pose
        error = np.hstack([one(k, pose) for one in self._errors])
        ukf = filter_.ukf
        assert isinstance(ukf, UnscentedKalmanFilter)
        if not self.white.size:
            self.white = np.full((*self._shape, error.shape[1]), np.nan)
        data = ukf.correction(self._shape[1])
        white = solve_triangular(data.root, error, lower=True, check_finite=False)
        # W = K^T P^-1, as K = P W^T
        slope = cho_solve(cho_factor(self._covariance, check_finite=False), data.gain.T, check_finite=False).T
        if not self._state.size:  # the start has the same error: it is that of its pose
            self._state = np.zeros((filter_.layout.size, error.shape[1]))
            self._state[_POSE] = np.linalg.lstsq(slope[:, _POSE], white, rcond=None)[0]
            return
        white -= slope @ self._state
        self.white[k] = white
        self._state += data.gain.T @ white

    # -- what the filter tells ---------------------------------------------------------------------------------------

    def started(self, state: Array) -> None:
        """Begin anew."""
        self._state = self._covariance = np.zeros((0, 0))

    def pause(self) -> None:
        """Nothing is paused."""

    def go_on(self) -> None:
        """Nothing is paused."""

    def before_step(self, filter_: PlatformFilter) -> None:
        """Nothing is needed of it."""

    def after_step(self, filter_: PlatformFilter, end: float, duration: float) -> None:
        """Take the response along a prediction."""
        if self._state.size:
            self._state = step_slope(filter_.ukf) @ self._state

    def moved(self, transport: Array) -> None:
        """Express it in the new chart."""
        if self._state.size:
            self._state = transport @ self._state

    def settled(self, filter_: PlatformFilter) -> None:
        """Keep the predicted covariance."""
        self._covariance = filter_.covariance.copy()

    def estimated(self, filter_: PlatformFilter, known: tuple[Any, ...]) -> None:
        """Nothing is needed of it."""
