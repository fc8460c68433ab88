"""One interface for all estimators, and their names: what the pipeline's setting ``estimator`` chooses from.

An estimator never becomes another one on its own: what was asked for is what the result's ``solver.method`` says, or
there is an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial

from pkm_description.errors import ConfigurationError

from pkm_identification.estimator.generalised import generalised
from pkm_identification.estimator.least_squares import Estimate, ordinary, weighted
from pkm_identification.estimator.maximum_likelihood import maximum_likelihood
from pkm_identification.estimator.recursive import recursive
from pkm_identification.estimator.residual_covariance import RowNoise

#: parameters from rows ``force = observation @ parameters + error``: (n, A, B), forces (n, A), row weights, noise;
#: see :func:`~pkm_identification.estimator.least_squares.weighted`
Estimator = Callable[..., Estimate]

#: functions by name, and what they are
_KINDS: dict[str, tuple[Estimator, str]] = {
    'ls': (ordinary, 'least squares, all legs alike'),
    'wls': (weighted, 'weighted least squares (Gauss-Markov), noise per leg from the residuals'),
    'gls': (generalised, 'generalised least squares, noise per leg and its correlation in time'),
    'ml': (maximum_likelihood, 'maximum likelihood with a noisy, periodic motion'),
    'rls': (recursive, 'recursive least squares'),
}

#: names that the setting ``estimator`` takes
ESTIMATORS = tuple(_KINDS)


def estimator_by_name(name: str = 'wls', settings: Mapping[str, object] | None = None) -> Estimator:
    """Return the estimator of a name, with its settings.

    Parameters
    ----------
    name : see :data:`ESTIMATORS`
    settings : keywords of the estimator's function, e.g. ``{'correlation_lags': 8}``

    Raises
    ------
    ConfigurationError
        Unknown name or setting, with what there is.
    """
    settings = dict(settings or {})
    if name not in _KINDS:
        choice = '; '.join(f'{key} ({what})' for key, (_, what) in _KINDS.items())
        raise ConfigurationError(f'estimator = {name!r}: there is no such estimator; choose {choice}')
    for key in settings:
        if key not in _settings(name):
            raise ConfigurationError(
                f'estimator {name} has no setting {key!r} (= {settings[key]!r}); it has {", ".join(_settings(name))}'
            )
    return partial(_KINDS[name][0], **settings)


def estimator_after(name: str, noise: RowNoise, correlation_lags: int) -> Estimator:
    """Return the estimator of a name for rows whose noise an earlier fit has estimated: one that can, begins there."""
    begin = {'begin': noise} if name in _KINDS and 'begin' in _settings(name) else {}
    return estimator_by_name(name, {'correlation_lags': correlation_lags, **begin})


def _settings(name: str) -> list[str]:
    """Names of the settings that an estimator takes by keyword: all but the rows."""
    return list(inspect.signature(_KINDS[name][0]).parameters)[4:]
