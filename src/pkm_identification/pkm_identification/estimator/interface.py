"""One interface for all estimators, and their names: what the pipeline's setting ``estimator`` chooses from.

An estimator never becomes another one on its own: what was asked for is what the result's ``solver.method`` says, or
there is an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError

from pkm_identification.estimator.estimate import Estimate
from pkm_identification.estimator.generalised import generalised
from pkm_identification.estimator.instrumental import instrumental
from pkm_identification.estimator.least_squares import ordinary, weighted
from pkm_identification.estimator.maximum_likelihood import maximum_likelihood
from pkm_identification.estimator.recursive import recursive
from pkm_identification.estimator.robust import TUNING, robust
from pkm_identification.estimator.row_noise import RowNoise


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
    'iv': _Kind(instrumental, 'instrumental variables: consistent where the observation matrix is noisy'),
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
