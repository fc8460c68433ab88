"""Deviations that allow for what a fit leaves out, as if it came by chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.fitting.model_fit import ModelFit


def allowing_for(fit: ModelFit, changes: Array) -> ModelFit:
    """The fit with deviations that have further changes of what was fitted, each by chance and by itself.

    Parameters
    ----------
    changes : (B + Q', K) of the base parameters and of the nonlinear parameters that the recording determines, by each
        of K standard deviations
    """
    count, known, std = len(fit.base), np.isfinite(fit.shape.std), fit.shape.std.copy()
    std[known] = np.hypot(std[known], np.linalg.norm(changes[count:], axis=1))
    covariance = fit.estimate.covariance + changes[:count] @ changes[:count].T
    return replace(fit, estimate=replace(fit.estimate, covariance=covariance), shape=replace(fit.shape, std=std))
