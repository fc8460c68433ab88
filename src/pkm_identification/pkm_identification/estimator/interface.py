"""One interface for all estimators, and their names: what the pipeline's setting ``estimator`` chooses from.

An estimator never becomes another one on its own: what was asked for is what the result's ``solver.method`` says, or
there is an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError

from pkm_identification.estimator.generalised import generalised
from pkm_identification.estimator.least_squares import (
    Estimate,
    SolverRecord,
    conditions,
    noise_floor,
    ordinary,
    relative_gradient,
    solve,
    weighted,
)
from pkm_identification.estimator.maximum_likelihood import maximum_likelihood
from pkm_identification.estimator.recursive import recursive
from pkm_identification.estimator.residual_covariance import RowNoise, autocorrelation, honest_covariance

#: of normal residuals: standard deviation over median absolute deviation
MAD_TO_STD = 1.482602218505602

#: residuals, in standard deviations, from which rows lose weight (Huber) or count nothing (Tukey): 95 % efficiency for
#: normal residuals
TUNING = {'huber': 1.345, 'tukey': 4.685}


# Robust regression by iteratively re-weighted least squares: a few wrong rows no longer decide.
#
# M-estimators after Huber (1981): rows whose residual is large against their leg's scale lose weight. The scale of a
# leg is the median absolute residual, which outliers up to half of the rows do not move.
class Influence(NamedTuple):
    """Of standardised residuals: their weights, and the slopes of their scores."""

    weights: Array
    slopes: Array


def influence(standard: Array, loss: str, tuning: float) -> Influence:
    """Weights ``psi(r) / r`` and slopes ``psi'(r)`` of standardised residuals for ``huber`` or ``tukey``."""
    size = np.abs(standard)
    if loss == 'huber':
        inside = size <= tuning
        return Influence(np.where(inside, 1.0, tuning / np.maximum(size, 1e-300)), inside.astype(float))
    square = np.minimum((size / tuning) ** 2, 1.0)
    return Influence((1.0 - square) ** 2, (1.0 - square) * (1.0 - 5.0 * square))


def robust(
    observation: Array,
    force: Array,
    row_weights: Array | None = None,
    force_std: Array | None = None,
    loss: str = 'huber',
    tuning: float | None = None,
    iterations: int = 100,
    tolerance: float = 1e-10,
    correlation_lags: int = 0,
) -> Estimate:
    """M-estimate by iteratively re-weighted least squares.

    The covariance is that of the scores: ``H^-1 S H^-1`` with the mean slope of each leg's scores in H (Huber 1981,
    section 7.6) and S as of :func:`~pkm_identification.estimator.residual_covariance.honest_covariance`.

    Parameters
    ----------
    observation : (N, L, B)
    force : (N, L)
    row_weights : (N, L) factors in [0, 1] on rows; 0 drops a row
    force_std : (L,) known noise without outliers; ``None`` takes the median absolute residual of each leg
    loss : ``'huber'`` (convex, one solution) or ``'tukey'`` (outliers count nothing; starts from Huber's solution)
    tuning : see :data:`TUNING`
    iterations : at most
    tolerance : change of the parameters, in their standard deviations, at which iterations end
    correlation_lags : K
    """
    tuning = TUNING[loss] if tuning is None else tuning
    mask = np.ones(force.shape) if row_weights is None else np.asarray(row_weights, dtype=float)
    used = mask > 0.0
    start = weighted(observation, force, mask, force_std)
    parameters, steps = start.parameters, 0
    change = np.inf
    for stage in dict.fromkeys(('huber', loss)):
        limit = tuning if stage == loss else TUNING[stage]
        for _ in range(iterations):
            residuals = (force - observation @ parameters) * mask
            scale = _scales(residuals, used, force) if force_std is None else np.asarray(force_std, dtype=float)
            factors = np.sqrt(influence(residuals / scale, stage, limit).weights)
            weight = mask * factors / scale
            before = parameters
            parameters = solve((observation * weight[..., None]).reshape(-1, len(before)), (force * weight).ravel())
            steps += 1
            change = float(np.abs((parameters - before) / start.std).max())
            if change <= tolerance:
                break
    residuals = (force - observation @ parameters) * mask
    scale = _scales(residuals, used, force) if force_std is None else np.asarray(force_std, dtype=float)
    standard = residuals / scale
    found = influence(standard, loss, tuning)
    scores = found.weights * standard
    rows = observation * (mask / scale)[..., None]
    slopes = np.array([_mean(found.slopes[used[:, leg], leg]) for leg in range(force.shape[1])])
    return Estimate(
        parameters,
        honest_covariance(rows, scores, used, correlation_lags, slopes),
        scale,
        residuals,
        autocorrelation(scores, used, max(correlation_lags, 1)),
        *conditions((rows * np.sqrt(found.weights)[..., None]).reshape(-1, len(parameters))),
        SolverRecord(
            f'irls, {loss} loss with limit {tuning:g}, scale per leg by '
            f'{"median absolute residual" if force_std is None else "known noise"}',
            steps, change <= tolerance,
            {'gradient': relative_gradient(rows, scores, force * mask / scale), 'last change in sigmas': change},
            steps, 'change below tolerance' if change <= tolerance else f'{iterations} iterations',
        ),
        np.sqrt(found.weights) * used,
    )  # fmt: skip


def _mean(slopes: Array) -> float:
    """Mean slope of a leg's scores; that of rows which all are outliers is kept from zero."""
    return max(float(slopes.mean()), 0.05) if len(slopes) else 1.0


def _scales(residuals: Array, used: NDArray[np.bool_], force: Array) -> Array:
    """Scale (L,) of each leg's residuals by their median absolute value."""
    columns = [np.abs(residuals[used[:, leg], leg]) for leg in range(used.shape[1])]
    found = np.array([np.median(column) if len(column) else 1.0 for column in columns])
    return np.maximum(MAD_TO_STD * found, noise_floor(force))


class Estimator(Protocol):
    """Parameters from rows ``force = observation @ parameters + error``."""

    def __call__(
        self, observation: Array, force: Array, row_weights: Array | None = None, force_std: Array | None = None
    ) -> Estimate:
        """Estimate B parameters.

        Parameters
        ----------
        observation : (n, A, B)
        force : (n, A)
        row_weights : (n, A) factors in [0, 1]; 0 drops a row
        force_std : (A,) known noise of the rows; ``None`` takes it from the residuals
        """
        ...


@dataclass(frozen=True)
class _Kind:
    """An estimator's function, and the settings that it takes by keyword."""

    function: Callable[..., Estimate]
    what: str

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings."""
        own = tuple(inspect.signature(self.function).parameters)
        return tuple(name for name in own if name not in ('observation', 'force', 'row_weights', 'force_std'))


_KINDS = {
    'ls': _Kind(ordinary, 'least squares, all legs alike'),
    'wls': _Kind(weighted, 'weighted least squares (Gauss-Markov), noise per leg from the residuals'),
    'gls': _Kind(generalised, 'generalised least squares, noise per leg and its correlation in time'),
    'irls': _Kind(robust, 'robust: iteratively re-weighted least squares with Huber or Tukey loss'),
    'ml': _Kind(maximum_likelihood, 'maximum likelihood with a noisy, periodic motion'),
    'rls': _Kind(recursive, 'recursive least squares, with or without forgetting'),
}

#: names that the setting ``estimator`` takes
ESTIMATORS = tuple(_KINDS)


def estimator_by_name(name: str = 'wls', settings: Mapping[str, object] | None = None) -> Estimator:
    """Return the estimator of a name, with its settings.

    Parameters
    ----------
    name : see :data:`ESTIMATORS`
    settings : keywords of the estimator's function, e.g. ``{'loss': 'tukey'}`` of ``irls``

    Raises
    ------
    ConfigurationError
        Unknown name or setting, with what there is.
    """
    settings = dict(settings or {})
    if name not in _KINDS:
        choice = '; '.join(f'{key} ({kind.what})' for key, kind in _KINDS.items())
        raise ConfigurationError(f'estimator = {name!r}: there is no such estimator; choose {choice}')
    kind = _KINDS[name]
    for key in settings:
        if key not in kind.settings:
            raise ConfigurationError(
                f'estimator {name} has no setting {key!r} (= {settings[key]!r}); it has {", ".join(kind.settings)}'
            )
    if name == 'irls' and settings.get('loss', 'huber') not in TUNING:
        raise ConfigurationError(f'estimator irls: loss = {settings["loss"]!r}; choose {" or ".join(TUNING)}')
    if name == 'ls':
        return _without_known_noise(partial(kind.function, **settings))
    return partial(kind.function, **settings)


def estimator_after(name: str, noise: RowNoise, correlation_lags: int) -> Estimator:
    """Return the estimator of a name for rows whose noise an earlier fit has estimated: one that can, begins there."""
    begin = {'begin': noise} if name in _KINDS and 'begin' in _KINDS[name].settings else {}
    return estimator_by_name(name, {'correlation_lags': correlation_lags, **begin})


def _without_known_noise(function: Callable[..., Estimate]) -> Estimator:
    """Ordinary least squares: the noise of the legs has no say."""

    def estimate(
        observation: Array, force: Array, row_weights: Array | None = None, force_std: Array | None = None
    ) -> Estimate:
        del force_std
        return function(observation, force, row_weights)

    return estimate
