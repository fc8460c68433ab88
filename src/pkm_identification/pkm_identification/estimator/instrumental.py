"""Instrumental variables: consistent where noise of the motion is in the observation matrix.

Least squares need rows whose noise is independent of the matrix. Noise of encoders is in both, through the derivatives,
and shrinks parameters however long the recording is. Instruments Z are another matrix that follows the same motion with
other noise, or none: ``Z' W (force - A x) = 0`` is free of that bias (Young 2011; Janot, Vandanjon, Gautier 2014).

Three kinds are at hand, and the record says which was used:

* ``delay``: the matrix of rows before and after, at a distance at which its noise is independent. A whole period of a
  periodic motion is best, for there the noise-free part is the same;
* an array: for example the regressor along the commanded motion, which has no noise;
* a function of the parameters: IDIM-IV, where the identified machine is simulated along the commanded motion and its
  regressor is the next instrument, until parameters stay.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError, ShapeError

from pkm_identification.errors import NotExcitedError
from pkm_identification.estimator.least_squares import Estimate, SolverRecord, conditions, noise_floor, weighted
from pkm_identification.estimator.residual_covariance import autocorrelation, degrees_of_freedom, honest_covariance

#: instruments from the parameters: (B,) -> (n, A, B)
Simulated = Callable[[Array], Array]

#: smallest canonical correlation of instruments and columns from which on they say something
WEAKEST = 1e-6


def instrumental(
    observation: Array,
    force: Array,
    row_weights: Array | None = None,
    force_std: Array | None = None,
    delay: int = 0,
    instruments: Array | Simulated | None = None,
    iterations: int = 20,
    tolerance: float = 1e-6,
    correlation_lags: int = 0,
) -> Estimate:
    """Estimate by instrumental variables, weighted per leg, with the covariance of correlated residuals.

    Parameters
    ----------
    observation, force, row_weights, force_std, correlation_lags : as of
        :func:`~pkm_identification.estimator.least_squares.weighted`
    delay : rows; instruments are the mean of the matrices so many rows before and after
    instruments : (n, A, B), or a function of the parameters (B,) that gives them
    iterations : of re-weighting, and of the function, at most
    tolerance : change of the parameters, in standard deviations, at which they end

    Raises
    ------
    ConfigurationError
        Neither ``delay`` nor ``instruments`` is given, or both are.
    NotExcitedError
        The instruments do not follow the matrix.
    """
    kind = _kind(delay, instruments, len(observation))
    mask = np.ones(force.shape) if row_weights is None else np.asarray(row_weights, dtype=float)
    used = mask > 0.0
    start = weighted(observation, force, mask, force_std)
    parameters = start.parameters
    noise = np.maximum(start.force_std, noise_floor(force)) if force_std is None else np.asarray(force_std, dtype=float)
    change, steps = np.inf, 0
    for _ in range(iterations):
        weight = (mask / noise)[..., None]
        rows, others = observation * weight, _instruments(observation, mask, delay, instruments, parameters) * weight
        before = parameters
        parameters = _solve(others, rows, force * weight[..., 0])
        residuals = (force - observation @ parameters) * mask
        estimated = _scales(residuals, used, len(parameters))
        steps += 1
        change = float(np.abs((parameters - before) / start.std).max())
        if change <= tolerance:
            break
        if force_std is None:
            noise = np.maximum(estimated, noise_floor(force))
    gradient = np.abs(_flat(others).T @ (residuals / noise).ravel())
    size = np.linalg.norm(_flat(others), axis=0) * np.linalg.norm(force * weight[..., 0])
    return Estimate(
        parameters,
        honest_covariance(rows, residuals / noise, used, correlation_lags, instruments=others),
        estimated,
        residuals,
        autocorrelation(residuals, used, max(correlation_lags, 1)),
        *conditions(_flat(rows)),
        SolverRecord(
            f'iv, instruments: {kind}', steps, change <= tolerance,
            {
                'gradient': float((gradient / size).max()),
                'last change in sigmas': change,
                'smallest canonical correlation': _weakest(others, rows),
            },
            steps, 'change below tolerance' if change <= tolerance else f'{iterations} iterations',
        ),
    )  # fmt: skip


def _kind(delay: int, instruments: Array | Simulated | None, count: int) -> str:
    if (delay == 0) == (instruments is None):
        raise ConfigurationError(
            f'estimator iv: delay = {delay}, instruments = {"given" if instruments is not None else None}: give one of '
            'them; delay in rows (best: those of one period of the motion), or instruments from a noise-free motion'
        )
    if instruments is None and not 0 < 2 * delay <= count:
        raise ConfigurationError(f'estimator iv: delay = {delay}: must be from 1 to {count // 2}, half of the rows')
    if callable(instruments):
        return 'regressor of the identified machine, simulated again with every estimate (IDIM-IV)'
    return f'rows {delay} before and after' if instruments is None else 'given matrix'


def _instruments(
    observation: Array, mask: Array, delay: int, instruments: Array | Simulated | None, parameters: Array
) -> Array:
    if instruments is None:
        # rows that were dropped may hold anything: they are no instruments
        kept = observation * (mask > 0.0)[..., None]
        found = np.zeros_like(observation)
        found[delay:] += 0.5 * kept[:-delay]
        found[:-delay] += 0.5 * kept[delay:]
        return found
    found = np.asarray(instruments(parameters) if callable(instruments) else instruments, dtype=float)
    if found.shape != observation.shape:
        raise ShapeError('instruments', f'that of the observation matrix, {observation.shape}', found.shape)
    return found


def _flat(rows: Array) -> Array:
    return rows.reshape(-1, rows.shape[-1])


def _weakest(others: Array, rows: Array) -> float:
    """Smallest canonical correlation between the spaces of instruments and columns."""
    return float(np.linalg.svd(_basis(others).T @ _basis(rows), compute_uv=False)[-1])


def _basis(rows: Array) -> Array:
    """Orthonormal basis of the columns; a column that others contain, or an empty one, becomes zero."""
    flat = _flat(rows)
    basis, triangle = np.linalg.qr(flat / np.maximum(np.linalg.norm(flat, axis=0), 1e-300))
    return np.asarray(basis * (np.abs(np.diag(triangle)) > WEAKEST), dtype=float)


def _solve(others: Array, rows: Array, force: Array) -> Array:
    """Solution (B,) of ``Z' (A x - f) = 0``, by the orthogonal basis of Z."""
    size = np.linalg.norm(_flat(rows), axis=0)
    basis = _basis(others)
    core = basis.T @ (_flat(rows) / size)
    weakest = np.linalg.svd(core, compute_uv=False)[-1]
    if not weakest > WEAKEST:
        raise NotExcitedError(
            ['a combination of parameters'],
            f'the instruments do not follow the observation matrix (smallest singular value {weakest:.2g}); take a '
            'whole period as delay, or instruments from a noise-free motion',
        )
    return np.asarray(np.linalg.solve(core, basis.T @ force.ravel()) / size, dtype=float)


def _scales(residuals: Array, used: NDArray[np.bool_], count: int) -> Array:
    freedom = degrees_of_freedom(used, count)
    return np.asarray(np.sqrt((residuals**2).sum(axis=0) / np.maximum(used.sum(axis=0), 1) / freedom), dtype=float)
