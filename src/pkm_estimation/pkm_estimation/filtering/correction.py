"""Correction of a platform filter with leg lengths, or with drive positions and constraints."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.linalg import block_diag

from pkm_estimation.filtering.constants import ConstantStates
from pkm_estimation.filters import CovarianceError, ExtendedKalmanFilter, Innovation, UnscentedKalmanFilter
from pkm_estimation.filters.posterior_linearisation import iterated_update
from pkm_estimation.models import LegLengthModel
from pkm_estimation.models.calibrated_legs import CalibratedLegModel
from pkm_estimation.models.drives import DriveModel

Indices = NDArray[np.intp]


class LegCorrection:
    """Corrects a filter with what the legs measure.

    Parameters
    ----------
    ukf : the filter
    legs : the measurement model; "lengths" are positions of the drives where that is a :class:`DriveModel`
    constants : what keeps claims about further states honest
    iteration_nis : normalised innovation squared beyond which a measurement is linearised anew around its own result;
        infinite: never
    longest_step : (n,) largest change of each state in one such iteration

    Attributes
    ----------
    noise : (m, m) covariance of what the legs measure, of constraints too
    """

    def __init__(
        self,
        ukf: UnscentedKalmanFilter | ExtendedKalmanFilter,
        legs: LegLengthModel | CalibratedLegModel | DriveModel,
        constants: ConstantStates | None,
        iteration_nis: float,
        longest_step: Array,
    ) -> None:
        self._ukf, self._legs, self._constants = ukf, legs, constants
        self._iteration_nis, self._longest_step = iteration_nis, longest_step
        self._constraint_count = legs.constraint_count if isinstance(legs, DriveModel) else 0
        self.noise: Array = np.zeros((0, 0))

    def set_noise(self, length_covariance: Array, constraint_deviation: float) -> None:
        """Take the covariance (L, L) m^2 of the lengths and how exactly constraints hold [m]."""
        constraints = constraint_deviation**2 * np.eye(self._constraint_count)
        self.noise = block_diag(length_covariance, constraints) if self._constraint_count else length_covariance

    def update(
        self, lengths: Array, used: Indices | None = None, limit: float = inf, noise_scale: float = 1.0
    ) -> Innovation:
        """Correct the filter; parameters and result as :meth:`PlatformFilter.update`."""
        if self._constraint_count:
            return self._update_with_constraints(lengths, used, limit, noise_scale)
        if self._constants is None:
            return self._update(lengths, used, limit, noise_scale)
        state, covariance = self._ukf.state.copy(), self._ukf.covariance.copy()
        innovation = self._update(lengths, used, limit, noise_scale)
        if innovation.nis <= limit:
            self._constants.after_update(self._ukf, state, covariance)
        return innovation

    def update_from(self, begin: Array, lengths: Array) -> Innovation:
        """Iterate an update, linearised first at a state (n,) ``begin``; of an unscented filter only."""
        assert isinstance(self._ukf, UnscentedKalmanFilter)
        return iterated_update(
            self._ukf, self._legs.observe, lengths, self._total_noise(), self._longest_step, begin=begin
        )

    def predicted(self, lengths: Array, noise_scale: float) -> tuple[Array, Array]:
        """Lengths (L,) less the predicted ones and the covariance (L, L) of that; the state stays."""
        ukf, observe, noise = self._ukf, self._legs.observe, noise_scale * self._total_noise()
        if not self._constraint_count:
            return ukf.predicted_innovation(observe, lengths, noise)
        drives, values = len(lengths), self._with_constraints(lengths)
        state, covariance = ukf.state.copy(), ukf.covariance.copy()
        self._update(values, np.arange(drives, len(values)))
        residual, spread = ukf.predicted_innovation(observe, values, noise)
        ukf.state[:], ukf.covariance[:] = state, covariance
        return residual[:drives], spread[:drives, :drives]

    def _with_constraints(self, positions: Array) -> Array:
        return np.concatenate([positions, np.zeros(self._constraint_count)])

    def _update_with_constraints(
        self, positions: Array, used: Indices | None, limit: float, noise_scale: float
    ) -> Innovation:
        """Bring the state onto the constraints, then correct with the drive positions, whose innovation comes back."""
        drives, values = len(positions), self._with_constraints(positions)
        self._update(values, np.arange(drives, len(values)))
        innovation = self._update(values, np.arange(drives) if used is None else used, limit, noise_scale)
        return Innovation(innovation.residual[:drives], innovation.variance[:drives], innovation.nis)

    def _update(
        self, values: Array, used: Indices | None, limit: float = inf, noise_scale: float = 1.0
    ) -> Innovation:
        ukf, observe, noise = self._ukf, self._legs.observe, self._total_noise()
        if noise_scale != 1.0:
            noise = noise_scale * noise
        innovation = ukf.update(observe, values, noise, used, min(limit, self._iteration_nis))
        if self._iteration_nis < innovation.nis <= limit and isinstance(ukf, UnscentedKalmanFilter):
            state, covariance = ukf.state.copy(), ukf.covariance.copy()
            try:
                iterated_update(ukf, observe, values, noise, self._longest_step, used)
            except CovarianceError:  # no answer that stays: the plain update's is as good as any
                ukf.state[:], ukf.covariance[:] = state, covariance
                ukf.update(observe, values, noise, used)
        return innovation

    def _total_noise(self) -> Array:
        """Covariance (m, m) of the measurement, with what unknown constants make of it."""
        if self._constants is None:
            return self.noise
        return self.noise + self._constants.length_variance(self._ukf) * np.eye(len(self.noise))
