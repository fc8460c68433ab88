"""Estimate of linear and nonlinear parameters together, around the solution of a separable least squares."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import Indices

from pkm_identification.estimator.interface import estimator_after
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.estimator.row_noise import RowNoise
from pkm_identification.fitting.weighed_fit import moved_by

#: lags of the residuals' correlation in the covariance: rows are 0.4 periods of the cut-off apart, so this is
#: 4 periods
CORRELATION_LAGS = 10


@dataclass(frozen=True)
class JointProblem:
    """A linear fit, and what its nonlinear parameters would change.

    Attributes
    ----------
    rows : (n, A, B) of the linear parameters
    slopes : (n, A, Q) derivatives by the nonlinear ones
    known : places of the nonlinear parameters that the data determine
    limits : (Q, 2) of the nonlinear parameters
    forces : (n, A)
    weights : (n, A) of the rows
    """

    rows: Array
    slopes: Array
    known: Indices
    limits: Array
    forces: Array
    weights: Array


def joint_estimate(problem: JointProblem, noise: RowNoise, method: str) -> tuple[Estimate, Array, Array]:
    """Estimate with the covariance of linear and nonlinear parameters together.

    Parameters
    ----------
    noise : of the rows, by an earlier fit
    method : name of the estimator

    Returns
    -------
    estimate : of the linear parameters (B,)
    std : (Q,) of the nonlinear ones, infinite where the data do not determine them
    columns : (n, A, B + Q') that were fitted
    """
    count = problem.rows.shape[-1]
    columns = np.concatenate([problem.rows, problem.slopes[..., problem.known]], axis=-1)
    estimator = estimator_after(method, noise, CORRELATION_LAGS)
    joint = estimator(columns, problem.forces, problem.weights)
    std = np.full(len(problem.limits), np.inf)
    std[problem.known] = joint.std[count:]
    covariance = joint.covariance[:count, :count] + _by_open_ones(problem, columns, noise)
    return replace(joint, parameters=joint.parameters[:count], covariance=covariance), std, columns


def _by_open_ones(problem: JointProblem, columns: Array, noise: RowNoise) -> Array:
    """Covariance (B, B) that nonlinear parameters add to the linear ones where the data do not determine them.

    They may be anywhere within their limits, and the fitted parameters with them: a friction coefficient times a
    load of which only the product is seen is not known better than the load.
    """
    others = np.setdiff1d(np.arange(len(problem.limits)), problem.known)
    if not len(others):
        return np.zeros((problem.rows.shape[-1],) * 2)
    ranges = 0.5 * np.ptp(problem.limits[others], axis=1)
    moved = moved_by(problem.slopes[..., others], columns, noise, problem.weights)[: problem.rows.shape[-1]] * ranges
    return np.asarray(moved @ moved.T)
