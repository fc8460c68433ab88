"""Recursive least squares in square-root form: row by row, for parameters that may drift.

What is kept is the triangle R and the vector z of ``R x = z``; new rows are appended and R is made triangular again
(QR update). That is the information form of Honegger et al. (2000), which Heimann & Abdellatif cite, with twice the
digits: without forgetting the result is that of batch least squares, to rounding.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular

from pkm_identification.errors import NotExcitedError
from pkm_identification.estimator.estimate import Estimate, SolverRecord
from pkm_identification.estimator.least_squares import conditions, noise_floor, ordinary, relative_gradient
from pkm_identification.estimator.residual_covariance import autocorrelation, degrees_of_freedom, honest_covariance


class RecursiveLeastSquares:
    """Least squares of all rows so far, older samples forgotten.

    The cost is ``sum of forgetting^(age in samples) |A_t x - f_t|^2``.

    Parameters
    ----------
    count : number of parameters B
    forgetting : in (0, 1]; 1 forgets nothing. The memory is ``1 / (1 - forgetting)`` samples. Directions that a motion
        no longer excites are forgotten, too: stop updating at rest

    Attributes
    ----------
    samples : how many have been taken
    """

    def __init__(self, count: int, forgetting: float = 1.0) -> None:
        if not 0.0 < forgetting <= 1.0:
            raise ValueError(f'forgetting = {forgetting}: must be above 0 and at most 1')
        self.samples = 0
        self._factor = np.sqrt(forgetting)
        self._kept = np.zeros((count + 1, count + 1))

    def update(self, rows: Array, force: Array) -> None:
        """Take one sample: rows (L, B) and forces (L,), each divided by its noise."""
        new = np.concatenate([rows, force[:, None]], axis=1)
        self._kept = np.asarray(np.linalg.qr(np.concatenate([self._factor * self._kept, new]), mode='r'))
        self.samples += 1

    @property
    def triangle(self) -> Array:
        """The triangle R (B, B)."""
        return self._kept[:-1, :-1]

    @property
    def parameters(self) -> Array:
        """Parameters (B,) so far.

        Raises
        ------
        NotExcitedError
            The samples so far do not determine all of them.
        """
        size = np.linalg.norm(self.triangle, axis=0)
        singular = np.linalg.svd(self.triangle / np.maximum(size, 1e-300), compute_uv=False)
        if not (size.all() and singular[-1] > 1e-12 * singular[0]):
            raise NotExcitedError(
                [f'parameter {index}' for index in np.flatnonzero(size == 0.0)] or ['a combination of parameters'],
                f'{self.samples} samples do not determine all {len(size)} parameters yet',
            )
        return np.asarray(solve_triangular(self.triangle / size, self._kept[:-1, -1]) / size, dtype=float)

    @property
    def covariance(self) -> Array:
        """Covariance (B, B) if the noise of all rows is white and of size 1, and nothing is forgotten."""
        inverse = solve_triangular(self.triangle, np.eye(len(self.triangle)))
        return np.asarray(inverse @ inverse.T, dtype=float)


def recursive(
    observation: Array,
    force: Array,
    row_weights: Array | None = None,
    force_std: Array | None = None,
    forgetting: float = 1.0,
    correlation_lags: int = 0,
) -> Estimate:
    """Recursive least squares over a recording, sample by sample; the estimate at its end, with honest covariance.

    Parameters
    ----------
    observation, force, row_weights, correlation_lags : as of
        :func:`~pkm_identification.estimator.least_squares.weighted`
    force_std : (L,) known noise; ``None`` takes that of the residuals of ordinary least squares of all rows
    forgetting : of :class:`RecursiveLeastSquares`
    """
    samples, legs, count = observation.shape
    mask = np.ones((samples, legs)) if row_weights is None else np.asarray(row_weights, dtype=float)
    used = mask > 0.0
    if force_std is None:
        force_std = np.maximum(ordinary(observation, force, mask).force_std, noise_floor(force))
    weight = mask / np.asarray(force_std, dtype=float)
    rows, scaled = observation * weight[..., None], force * weight
    filter_ = RecursiveLeastSquares(count, forgetting)
    for matrix, target in zip(rows, scaled, strict=True):
        filter_.update(matrix, target)
    parameters = filter_.parameters
    memory = np.sqrt(forgetting) ** np.arange(samples - 1, -1, -1)[:, None]
    residuals = (force - observation @ parameters) * mask
    estimated = np.sqrt((residuals**2).sum(axis=0) / np.maximum(used.sum(axis=0), 1) / degrees_of_freedom(used, count))
    remembered = rows * memory[..., None]
    instruments = remembered * memory[..., None]  # (sum of m^2 A' A) x = sum of m^2 A' f
    return Estimate(
        parameters,
        honest_covariance(rows, residuals / force_std, used, correlation_lags, instruments=instruments),
        estimated,
        residuals,
        autocorrelation(residuals, used, max(correlation_lags, 1)),
        *conditions(remembered.reshape(-1, count)),
        SolverRecord(
            f'rls, square-root form, forgetting {forgetting:g}', samples, True,
            {'gradient': relative_gradient(remembered, residuals / force_std * memory, scaled * memory)}, samples,
            'all samples taken', float(np.sum((residuals / force_std * memory) ** 2)),
        ),
        np.broadcast_to(memory, used.shape) * used,
    )  # fmt: skip
