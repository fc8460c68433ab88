"""Looks for pre-sliding of the drives' contacts, in the rows near reversals, where alone it shows.

Forces are first fitted to rows that are far from reversals. What they predict nearer says whether friction turns at
once, or over a distance: the distance that predicts best begins the fit to the rows near and far.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

from pkm_identification.columns.friction_term import Presliding, at_levels, presliding_of
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.columns.term import JointSamples
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import NotConvergedError
from pkm_identification.fitting.model_fit import ModelFit, fit_model
from pkm_identification.fitting.pooled_laws import tested_pooling
from pkm_identification.fitting.prediction import (
    deflected,
    efforts_without_friction,
    friction_forces,
    measured_efforts,
    with_forces,
)
from pkm_identification.preparation import PreparedData

#: distances that are tried, as parts of a drive's travel
DISTANCES = np.geomspace(1e-6, 1e-2, 17)
#: nearest rows that tell, in periods of the force cut-off
NEAREST = 0.05
#: probability below which chance does not explain what it gains, part of the residuals' power that it gains at least,
#: and how well the distance must be known, relative
CHANCE, VISIBLE, KNOWN = 1e-6, 0.05, 0.3


def with_presliding(
    data: PreparedData, fit: ModelFit, config: IdentificationConfig
) -> tuple[PreparedData, ModelFit] | None:
    """Model with pre-sliding, fitted to the rows far from reversals with a distance from all rows; else ``None``.

    Parameters
    ----------
    data : a prepared recording
    fit : of the model to its rows, which are far from reversals
    """
    if not fit.model.has_drive_friction or presliding_of(fit.model.terms) is not None:
        return None
    near = data.with_reach(min(NEAREST, data.bands.reversal_reach))
    travel = np.ptp(data.samples.positions, axis=0)
    samples = at_levels(with_forces(fit.model, near, fit.parameters), fit.model.with_parameters(fit.parameters))
    assert samples.levels is not None
    levels = samples.levels.mean(axis=0)
    begins = [Presliding.of(fit.model.machine, part * travel, levels) for part in DISTANCES]
    models = [fit.model.with_terms((*fit.model.terms, begin)) for begin in begins]
    at_once, *errors = _errors(near, fit, samples, [fit.model, *models])
    best = int(np.argmin(errors))
    if best == 0 or errors[best] >= at_once:
        return None
    model = models[best]
    try:
        with_it, without = (fit_model(near.with_model(one), one, config, fit) for one in (model, fit.model))
        if not _is_known(with_it) or not _is_seen(without, with_it, near):
            return None
        with_it = tested_pooling(near.with_model(with_it.model), with_it, config)
        far = data.with_model(with_it.model)
        return far, fit_model(far, with_it.model, config, with_it)
    except NotConvergedError:
        return None


def _is_known(fit: ModelFit) -> bool:
    """Whether the recording determines the distances."""
    term, shape = presliding_of(fit.model.terms), fit.shape
    assert term is not None
    own = np.isin(shape.names, term.shape_names)
    return bool((shape.std[own] < KNOWN * shape.values[own]).all())


def _errors(
    near: PreparedData, fit: ModelFit, samples: JointSamples, models: Sequence[ObservationModel]
) -> list[float]:
    """Mean squares of the weighted residuals in the rows near and far, with the parameters of a fit.

    Models differ in the deflections of contacts only: neither forces without friction nor loads are computed again.
    """
    found = []
    still = efforts_without_friction(fit.model, near, samples, fit.parameters)
    for model in models:
        friction = friction_forces(model, near, deflected(model, near, samples), fit.parameters)
        efforts = measured_efforts(model, near, still + friction)
        residuals = near.row_filter(near.slides * (near.efforts() - efforts)) / fit.estimate.force_std
        found.append(float(np.mean(residuals[near.row_weights > 0.0] ** 2)))
    return found


def _is_seen(without: ModelFit, with_it: ModelFit, near: PreparedData) -> bool:
    """Whether the distances gain much, and more than by chance (F-test on the residuals)."""
    used = near.row_weights > 0.0
    before, after = (_power(fit, with_it, used) for fit in (without, with_it))
    factors = len(with_it.shape.names) - len(without.shape.names)
    left = max(int(used.sum()) - with_it.fitted_columns.shape[-1], 1)
    chance = f_distribution.sf((before - after) / factors / (after / left), factors, left)
    return before - after > VISIBLE * before and float(chance) < CHANCE


def _power(fit: ModelFit, weighed: ModelFit, used: NDArray[np.bool_]) -> float:
    residuals = fit.errors / weighed.estimate.force_std
    return float((residuals[used] ** 2).sum())
