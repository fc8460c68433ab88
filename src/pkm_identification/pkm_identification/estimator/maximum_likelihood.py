"""Maximum likelihood where the motion is noisy, too: parameters and motion estimated together.

A periodic motion is a finite Fourier series, whose coefficients are unknowns beside the base parameters (Swevers et al.
1997; Heimann & Abdellatif: maximum likelihood proper, in place of Gauss-Markov, which takes the motion as known)::

    min over x, p of  |(measured - positions(x)) / position noise|^2 + |(forces - observation(x) p) / force noise|^2

Both noises must be known: residuals alone cannot tell them apart. Gauss-Newton with derivatives to 3e-8, by SciPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.derivatives import inverse_dynamics_derivatives
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.errors import ConfigurationError, ShapeError
from pkm_description.kinematics import motion_from_drives
from pkm_description.machine import Machine, PlatformMotion
from scipy.optimize import least_squares

from pkm_identification.columns.observation import ObservationModel
from pkm_identification.estimator.bodies import (
    covariance_of_relative,
    machine_with,
    places_of_bodies,
    pseudo_inertia,
    share_out,
)
from pkm_identification.estimator.least_squares import (
    Estimate,
    SolverRecord,
    all_or,
    conditions,
    relative_gradient,
    weighted,
)
from pkm_identification.estimator.residual_covariance import autocorrelation, honest_covariance
from pkm_identification.motion_source.filters import fourier_basis


@dataclass(frozen=True)
class DriveSeries:
    """Fourier series of the drives' positions, of machines with one drive per degree of freedom.

    Attributes
    ----------
    model, base : columns, and the base parameters that are estimated
    time, positions : (N,) s, (N, A) measured; whole periods are best
    position_std : (A,) noise of the positions
    base_frequency, harmonics : Hz, number
    """

    model: ObservationModel
    base: BaseParameters
    time: Array
    positions: Array
    position_std: Array
    base_frequency: float
    harmonics: int

    def __post_init__(self) -> None:
        machine = self.model.machine
        if machine.actuated_count != machine.degrees_of_freedom:
            raise ConfigurationError(
                f'{machine.name} has {machine.actuated_count} drives for {machine.degrees_of_freedom} degrees of '
                "freedom: their series are not independent; use estimator 'wls'"
            )
        if self.positions.shape != (len(self.time), machine.actuated_count):
            raise ShapeError('positions', f'({len(self.time)}, {machine.actuated_count})', self.positions.shape)
        if len(self.time) < 1 + 2 * self.harmonics:
            raise ConfigurationError(
                f'{len(self.time)} samples cannot determine {1 + 2 * self.harmonics} coefficients per drive'
            )

    @cached_property
    def _bases(self) -> tuple[Array, Array, Array]:
        first, second, third = (
            fourier_basis(self.time, self.base_frequency, self.harmonics, order) for order in range(3)
        )
        return first, second, third

    @property
    def start(self) -> Array:
        """Least-squares fit of the positions, drive by drive (A (1 + 2 n),)."""
        return np.asarray(np.linalg.lstsq(self._bases[0], self.positions, rcond=None)[0].T.ravel(), dtype=float)

    def position_errors(self, coefficients: Array) -> tuple[Array, Array]:
        """Errors of the positions in standard deviations (N, A), and their derivatives (N, A, C) by C coefficients."""
        basis, count = self._bases[0], self.positions.shape[1]
        errors = (basis @ coefficients.reshape(count, -1).T - self.positions) / self.position_std
        slopes = np.zeros((len(basis), count, count, basis.shape[1]))
        for drive in range(count):
            slopes[:, drive, drive] = basis / self.position_std[drive]
        return errors, slopes.reshape(len(basis), count, -1)

    def observation(self, coefficients: Array) -> tuple[Array, Array]:
        """Observation matrix (N, A, B), and forces (N, A) that do not depend on the parameters."""
        regressor, known = self.model.regressor(self._motion(coefficients))
        return self.base.columns(regressor), known

    def force_derivatives(self, coefficients: Array, parameters: Array) -> Array:
        """Derivatives (N, A, C) of the forces by the coefficients, to about 3e-8."""
        machine = self._machine(parameters)
        found = inverse_dynamics_derivatives(
            machine, self._motion(coefficients), friction=self.model.friction != 'none'
        )
        parts = zip((found.by_position, found.by_velocity, found.by_acceleration), self._bases, strict=True)
        slopes = sum(derivative[..., None] * basis[:, None, None, :] for derivative, basis in parts)
        return np.asarray(slopes, dtype=float).reshape(*found.forces.shape, -1)

    def _motion(self, coefficients: Array) -> PlatformMotion:
        series = coefficients.reshape(self.positions.shape[1], -1).T
        place, rate, second = (basis @ series for basis in self._bases)
        return motion_from_drives(self.model.machine, self.time, place, rate, second)

    def _machine(self, parameters: Array) -> Machine:
        """The machine with these base parameters whose bodies are nearest to the nominal ones."""
        model, base, free = self.model, self.base, self.model.free
        everything = model.all_parameters(model.machine)
        nominal = everything[free]
        spread = np.diag(np.maximum(np.abs(everything), 1.0) ** 2)
        for at in places_of_bodies(model.all_names).values():
            spread[np.ix_(at, at)] = covariance_of_relative(pseudo_inertia(everything[at]), 1.0)
        spread = spread[np.ix_(free, free)]
        # what a flat or slender body does not have can still head a base parameter
        spread += 1e-6 * np.diag(np.maximum(np.abs(nominal), 1e-2) ** 2)
        everything[free] = share_out(base, parameters, np.zeros((len(base), len(base))), nominal, spread)[0]
        return machine_with(model.machine, model.all_names, everything)


def maximum_likelihood(
    observation: Array,
    force: Array,
    row_weights: Array | None = None,
    force_std: Array | None = None,
    motion: DriveSeries | None = None,
    correlation_lags: int = 0,
    evaluations: int = 50,
) -> Estimate:
    """Estimate base parameters and motion together; the covariance is that of both, residuals correlated or not.

    Parameters
    ----------
    observation : (N, A, B), its shape is checked; the motion makes its own
    force : (N, A) measured at the samples of the motion, neither filtered nor anything subtracted
    row_weights : (N, A), 0 drops a force, e.g. near a reversal
    force_std : (A,) known noise, required
    motion : the measured motion, e.g. :class:`DriveSeries`; required
    correlation_lags : as of :func:`~pkm_identification.estimator.least_squares.weighted`
    evaluations : at most

    Raises
    ------
    ConfigurationError
        The noise of the forces or the motion is not given.
    """
    if motion is None or force_std is None:
        missing = 'motion' if motion is None else 'force_std'
        raise ConfigurationError(
            f'estimator ml: {missing} = None: give the measured motion (DriveSeries) and the known noise of the forces'
        )
    start = motion.start
    first, known = motion.observation(start)
    if first.shape != observation.shape or first.shape[:2] != force.shape:
        raise ShapeError('observation', f'that of the motion, {first.shape}', observation.shape)
    noise = np.asarray(force_std, dtype=float)
    mask = all_or(row_weights, force)
    count = len(start)
    guess = weighted(first, force - known, mask, noise).parameters

    def errors(place: Array) -> tuple[Array, Array]:
        matrix, fixed = motion.observation(place[:count])
        return motion.position_errors(place[:count])[0], (matrix @ place[count:] + fixed - force) * mask / noise

    def slopes(place: Array) -> Array:
        """Derivatives (N, 2 A, C + B) of the errors of positions and forces."""
        drives, weight = force.shape[1], (mask / noise)[..., None]
        found = np.zeros((len(force), 2 * drives, len(place)))
        found[:, :drives, :count] = motion.position_errors(place[:count])[1]
        found[:, drives:, :count] = motion.force_derivatives(place[:count], place[count:]) * weight
        found[:, drives:, count:] = motion.observation(place[:count])[0] * weight
        return found

    found = least_squares(
        lambda place: np.concatenate(errors(place), axis=1).ravel(), np.concatenate([start, guess]),
        lambda place: slopes(place).reshape(-1, len(place)), x_scale='jac', xtol=1e-12, ftol=1e-12, gtol=1e-12,
        max_nfev=evaluations,
    )  # fmt: skip
    rows, residuals = slopes(found.x), np.concatenate(errors(found.x), axis=1)
    used = np.concatenate([np.ones(mask.shape, dtype=bool), mask > 0.0], axis=1)
    covariance = honest_covariance(rows, residuals, used, correlation_lags)[count:, count:]
    forces = -residuals[:, force.shape[1] :] * noise
    record = SolverRecord(
        f'ml, Gauss-Newton over {count} coefficients of the motion and {len(guess)} base parameters', int(found.nfev),
        bool(found.success), {'gradient': relative_gradient(rows, residuals, residuals)},
        int(found.nfev), str(found.message), 2.0 * float(found.cost),
    )  # fmt: skip
    spread = np.sqrt((forces**2).sum(axis=0) / np.maximum((mask > 0.0).sum(axis=0), 1))
    return Estimate(
        np.asarray(found.x[count:], dtype=float), covariance, spread, forces,
        autocorrelation(forces, mask > 0.0, max(correlation_lags, 1)),
        *conditions(rows[:, force.shape[1] :, count:].reshape(-1, len(guess))), record,
    )  # fmt: skip
