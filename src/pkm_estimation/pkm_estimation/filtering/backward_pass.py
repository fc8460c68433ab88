"""Fixed-interval smoothing: the estimate at an instant given all measurements, also those after it.

Rauch, Tung and Striebel 1965 with the cross-covariance of the unscented smoother (Särkkä 2008, Eq. 11)::

    G = P F^T P'^-1,   x_s = x + G (x_s' - x'),   P_s = P + G (P_s' - P') G^T

of an estimate x, P at an instant, its prediction x', P' for the next one, and the smoothed x_s', P_s' there. The
vectors hold the state and the errors of IMU samples that act again (:mod:`pkm_estimation.kernels.input_noise`).

The filter considers these errors and does not estimate them. That is no basis for smoothing: its covariance of state
and errors together does not shrink with each measurement, so that G may amplify. So the measurements are used again,
and correct the errors, too. What they say of the state is what the filter's step from P' to P says::

    P'= L L^T,   L^-1 P L^-T = U diag(mu) U^T,   H = diag(1 / mu - 1)^(1/2) U^T L^-1,   R = I

which holds however it was corrected: with some of the legs, iterated, with constraints, by other sensors. Where mu is
above 1 the filter's covariance was raised, and it is raised here as much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from scipy.linalg import cho_factor, cho_solve, cholesky, pinvh, solve_triangular

#: directions below this part of the greatest variance are not corrected, where a covariance is singular
_SINGULAR = 1e-13
#: a variance that changes by a smaller part is as it was
_UNCHANGED = 1e-9


class Gaussian(NamedTuple):
    """Mean (m,) and covariance (m, m)."""

    mean: Array
    covariance: Array


class Passage(NamedTuple):
    """From the estimate at one instant to the prediction for the next.

    Attributes
    ----------
    begin, end : the estimate, of m numbers, and the prediction, of k numbers
    slope : (k, m) of the prediction
    """

    begin: Gaussian
    end: Gaussian
    slope: Array


def predicted(passage: Passage, estimate: Gaussian) -> Gaussian:
    """Prediction from another estimate than that at the begin of a passage, with the same noise."""
    begin, end, slope = passage
    noise = end.covariance - slope @ begin.covariance @ slope.T
    covariance = slope @ estimate.covariance @ slope.T + noise
    return Gaussian(end.mean + slope @ (estimate.mean - begin.mean), 0.5 * (covariance + covariance.T))


def corrected(estimate: Gaussian, before: Gaussian, after: Gaussian, size: int) -> Gaussian:
    """Correct an estimate by what took a filter's from ``before`` to ``after``, in the first ``size`` numbers.

    Raises
    ------
    numpy.linalg.LinAlgError
        The covariance before is not positive definite.
    """
    root = cholesky(before.covariance[:size, :size], lower=True, check_finite=False)
    half = solve_triangular(root, after.covariance[:size, :size], lower=True, check_finite=False)
    ratios, directions = np.linalg.eigh(solve_triangular(root, half.T, lower=True, check_finite=False))
    step = directions.T @ solve_triangular(root, after.mean[:size] - before.mean[:size], lower=True, check_finite=False)
    along = solve_triangular(root, directions, trans='T', lower=True, check_finite=False).T
    seen, raised = ratios < 1.0 - _UNCHANGED, ratios > 1.0 + _UNCHANGED
    mean, covariance = estimate.mean.copy(), estimate.covariance
    # without a measurement: the shift of the filter's estimate
    mean[:size] += root @ (directions[:, ~seen] @ step[~seen])
    if seen.any():
        precision = np.sqrt(1.0 / ratios[seen] - 1.0)
        slope = precision[:, None] * along[seen]
        value = step[seen] / (1.0 - ratios[seen]) * precision + slope @ before.mean[:size]
        towards = covariance[:, :size] @ slope.T
        spread = slope @ towards[:size] + np.eye(len(slope))
        gain = np.linalg.solve(spread, towards.T).T
        mean += gain @ (value - slope @ mean[:size])
        kept = np.eye(len(mean))
        kept[:, :size] -= gain @ slope
        covariance = kept @ covariance @ kept.T + gain @ gain.T
    if raised.any():
        covariance = covariance.copy()
        more = root @ (directions[:, raised] * np.sqrt(ratios[raised] - 1.0))
        covariance[:size, :size] += more @ more.T
    return Gaussian(mean, covariance)


def smoothed_before(estimate: Gaussian, slope: Array, prediction: Gaussian, after: Gaussian) -> Gaussian:
    """Smoothed estimate at the begin of a passage from that at its end, ``after``."""
    gain = _divided(estimate.covariance @ slope.T, prediction.covariance)
    covariance = estimate.covariance + gain @ (after.covariance - prediction.covariance) @ gain.T
    return Gaussian(estimate.mean + gain @ (after.mean - prediction.mean), 0.5 * (covariance + covariance.T))


def _divided(cross: Array, covariance: Array) -> Array:
    """``cross covariance^-1``, with numbers of different units scaled to standard deviations."""
    deviations = np.sqrt(covariance.diagonal())
    scale = np.where(deviations > 0.0, deviations, 1.0)
    correlation = covariance / np.outer(scale, scale)
    try:
        gain = cho_solve(cho_factor(correlation, check_finite=False), (cross / scale).T, check_finite=False).T
    except np.linalg.LinAlgError:
        gain = cross / scale @ pinvh(correlation, rtol=_SINGULAR)
    result: Array = gain / scale
    return result
