"""How far drives that share a law may be from it.

One drive alone hardly determines at which speed its Stribeck friction fades. Drives of the same kind are built alike,
so these parameters are fitted for all of them together, and Coulomb and viscous friction for each; laws of the drives'
own are a force like others that the recording may show. That it does not show them does not say that the drives are
alike. So the deviations of the single drives are estimated from the residuals, with their covariance, and from these
how far drives of a kind are apart (a random-effects model with a flat prior on the standard deviation, Gelman 2006).
This is part of the error of the shared value as that of a drive, and of whatever is fitted beside it.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import Indices

from pkm_identification.columns.friction_term import Pooled
from pkm_identification.estimator.least_squares import with_noise
from pkm_identification.fitting.aliases import allowing_for
from pkm_identification.fitting.model_fit import ModelFit
from pkm_identification.fitting.prediction import slope_rows
from pkm_identification.fitting.shape_search import CORRELATION_LAGS, moved_by
from pkm_identification.preparation import PreparedData

#: largest standard deviation of the drives of a kind, as a part of the value, and how many are tried
LARGEST, TRIED = 0.5, 200
#: part of a column's length beyond the others from which a deviation is seen
SEEN = 1e-3

def with_spreads(data: PreparedData, fit: ModelFit) -> ModelFit:
    """The fit with standard deviations that allow for drives which differ, of all that drives of a kind share."""
    for term in fit.model.terms:
        if isinstance(term, Pooled) and term.pooled and term.can_be_pooled:
            fit = with_spread(data, fit, term, term.pooling(False))
    return fit


def with_spread(data: PreparedData, fit: ModelFit, shared: Pooled, single: Pooled) -> ModelFit:
    """The fit with standard deviations that allow for drives which differ.

    Parameters
    ----------
    data, fit : a prepared recording, and a fit in which drives share parameters of friction
    shared, single : the friction as it was fitted, and with parameters of the drives' own
    """
    known = [name for name, std in zip(fit.shape.names, fit.shape.std, strict=True) if np.isfinite(std)]
    slopes = slope_rows(fit.model, data, single, fit.samples, fit.parameters)
    for name in set(shared.shape_names) - set(single.shape_names):
        if name not in known:  # it may be anywhere, and the fit knows
            continue
        own = [place for place, other in enumerate(single.shape_names) if shared.shared_name(other) == name]
        column = len(fit.base) + known.index(name)
        others = np.delete(fit.fitted_columns, column, axis=-1)
        value = float(fit.shape.values[fit.shape.names.index(name)])
        std = np.sqrt(_variance(others, slopes[..., own], fit, data.row_weights, value))
        changes = std * moved_by(slopes[..., own], fit.fitted_columns, fit.noise, data.row_weights)
        changes[column] = std * np.eye(len(own))[0]  # it is that of a drive, not of their mean
        fit = allowing_for(fit, changes)
    return fit


def _variance(others: Array, own: Array, fit: ModelFit, row_weights: Array, value: float) -> float:
    """Variance of a parameter among the drives, by columns (n, A, K) of the single ones beside all others (n, A, C)."""
    seen = _seen(others, own, row_weights)
    if len(seen) < 2:
        return (0.5 * LARGEST * value) ** 2  # the prior's
    columns = np.concatenate([others, own[..., seen]], axis=-1)
    found = with_noise(columns, fit.errors, row_weights, fit.noise, CORRELATION_LAGS)
    count = others.shape[-1]
    return spread_variance(found.parameters[count:], found.covariance[count:, count:], LARGEST * value)


def _seen(others: Array, own: Array, row_weights: Array) -> Indices:
    """Places of the columns that are not among the others."""
    flat = (others * row_weights[..., None]).reshape(-1, others.shape[-1])
    basis = np.linalg.qr(flat / np.linalg.norm(flat, axis=0))[0]
    offered = (own * row_weights[..., None]).reshape(len(flat), -1)
    left = offered - basis @ (basis.T @ offered)
    return np.flatnonzero(np.linalg.norm(left, axis=0) > SEEN * np.linalg.norm(offered, axis=0))


def spread_variance(deviations: Array, covariance: Array, largest: float) -> float:
    """Variance of true values by their estimates (K,) with a covariance (K, K): median under a flat prior.

    The mean is that of a long tail, and intervals by it are too wide; those by the median cover 92 to 100 % where they
    should cover 95 (six drives, test_pooled_spread.py).

    Parameters
    ----------
    largest : standard deviation that is possible
    """
    tried = np.linspace(0.0, largest, TRIED)
    sizes, axes = np.linalg.eigh(covariance)
    whole = sizes + tried[:, None] ** 2  # eigenvalues of the covariance with each spread
    ones, told = axes.sum(axis=0), deviations @ axes
    information = (ones**2 / whole).sum(axis=1)
    quadratic = (told**2 / whole).sum(axis=1) - (ones * told / whole).sum(axis=1) ** 2 / information
    likelihoods = -0.5 * (np.log(whole).sum(axis=1) + np.log(information) + quadratic)
    below = np.cumsum(np.exp(likelihoods - likelihoods.max()))
    return float(tried[np.searchsorted(below, 0.5 * below[-1])] ** 2)
