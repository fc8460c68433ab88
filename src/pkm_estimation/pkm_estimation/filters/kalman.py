"""Interface of the Kalman filters: predict, update, innovation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers

from pkm_estimation.filters.interface import MeasurementModel, ProcessStep
from pkm_estimation.kernels.carried import add_claim, add_found
from pkm_estimation.kernels.unscented import CARRIED_NOISES, NO_CHANGES

Indices = NDArray[np.intp]


class CovarianceError(Exception):
    """A covariance is no longer positive definite (or not finite); the filter must be started again."""


def solved(covariance: Array, right: Array) -> Array:
    """Solution x (m, ...) of ``covariance @ x = right``; raises CovarianceError where there is none."""
    try:
        return np.asarray(np.linalg.solve(covariance, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise CovarianceError('innovation covariance is not positive definite') from None


class Innovation(NamedTuple):
    """Innovation of one measurement.

    Attributes
    ----------
    residual : (m,) measured minus predicted; NaN where an entry was not used
    variance : (m,) of the residual
    nis : normalised innovation squared
    shared : part (m,) of the variance that constants of the machine have: an error that hardly changes with time
    """

    residual: Array
    variance: Array
    nis: float
    shared: Array | float = 0.0

    @property
    def std(self) -> Array:
        """Standard deviation (m,) of the residual."""
        deviation: Array = np.sqrt(self.variance)
        return deviation


class Reading(NamedTuple):
    """What was measured, m numbers.

    Attributes
    ----------
    model : predicts it
    values : (m,)
    noise : (m, m) covariance
    used : indices of the entries to use, ascending, all by default; the others come back as NaN in the innovation
    """

    model: MeasurementModel
    values: Array
    noise: Array
    used: Indices | None = None

    @property
    def rows(self) -> Indices:
        """Indices of the entries to use."""
        return np.arange(len(self.values)) if self.used is None else self.used


class KalmanFilter(ABC):
    """A Gaussian estimate that is predicted and corrected.

    Attributes
    ----------
    state : (n,)
    covariance : (n, n)
    carried : (n, c) covariances of the state with causes of process noise that act in more than one step; behind them
        the columns of :attr:`sensitivity`
    carried_count : columns of it that are in use for noise
    claim, judge : (p,) weights of the constants in what is claimed, and in how innovations are judged
    scale : (1,) factor on the covariance in what is claimed
    found : (p,) constants in what is claimed, in their units
    changes, at_zero, elapsed, rates : as in :class:`~pkm_estimation.kernels.unscented.FilterData`
    """

    state: Array
    covariance: Array
    carried: Array
    carried_count: int
    claim: Array
    judge: Array
    scale: Array
    found: Array
    changes: Integers = NO_CHANGES
    at_zero: Array
    elapsed: Array
    rates: Array

    @property
    def sensitivity(self) -> Array:
        """Sensitivity (n, p) of the state to constants of the machine, in their standard deviations."""
        return self.carried[:, CARRIED_NOISES:]

    @property
    def noise_carried(self) -> Array:
        """Covariances (n, 18) with causes of process noise."""
        return self.carried[:, :CARRIED_NOISES]

    def seen_constants(self, reading: Reading, points: Array, slope: Array) -> Array:
        """``D = H B + H_g``: sensitivity (m, p) of an innovation to the constants, with the slope H (m, n).

        ``points`` are those that the model observed last, ``slope`` has the rows of its predictions that are used.
        """
        seen: Array = slope @ self.sensitivity
        slopes = reading.model.slopes_by_constants(points) if seen.size else None
        if slopes is None:
            return seen
        by_constants = np.zeros((len(slopes), seen.shape[1]))
        by_constants[:, : slopes.shape[1]] = slopes
        rows = reading.rows
        if len(self.changes):
            columns, zeros, drives, kinds = self.changes.T
            speeds = np.zeros(len(slopes))
            speeds[rows] = slope @ self.rates
            positions = (reading.values[: len(self.at_zero)] - self.at_zero)[drives]
            factors = np.choose(kinds, [self.elapsed, positions, speeds[drives]])
            by_constants[drives, columns] = factors * by_constants[drives, zeros]
        return np.asarray(seen + by_constants[rows])

    @property
    def claimed_state(self) -> Array:
        """State (n,) with what was found of the constants of the machine."""
        state = self.state.copy()
        add_found(self.carried, CARRIED_NOISES, self.found, state)
        return state

    @property
    def claimed(self) -> Array:
        """Covariance (n, n) with what the constants of the machine make of the estimate."""
        claimed = self.covariance.copy()
        if len(self.claim) or self.scale[0] != 1.0:
            add_claim(self.carried, CARRIED_NOISES, self.claim, self.scale.item(), claimed)
        return claimed

    @abstractmethod
    def predict(self, step: ProcessStep) -> None:
        """Move the state by a step of a process. Raises CovarianceError."""

    @abstractmethod
    def update(self, reading: Reading, limit: float = inf) -> Innovation:
        """Correct the state, unless the normalised innovation squared is beyond a limit.

        Raises
        ------
        CovarianceError
            A covariance is not positive definite, or not finite.
        """

    def update_iterated(self, reading: Reading, limit: float = inf) -> Innovation:
        """Do the same; filters that can do so linearise a measurement that surprises them around its own result."""
        return self.update(reading, limit)

    def update_from(self, begin: Array | None, reading: Reading) -> Innovation:
        """Correct the state, linearised first at the state (n,) ``begin`` by filters that can choose."""
        return self.update(reading)

    @abstractmethod
    def predicted_innovation(self, reading: Reading) -> tuple[Array, Array]:
        """Residual (m,) of a measurement and its covariance (m, m); changes nothing."""
