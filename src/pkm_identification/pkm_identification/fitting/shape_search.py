"""Search for nonlinear parameters of which the rows are smooth functions: friction laws, ripples, delays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import Indices
from scipy.optimize import least_squares

#: most evaluations of the rows
EVALUATIONS = 200


def minimised(
    reduced: Callable[[Array], tuple[Array, Array]], start: Array, known: Indices, limits: Array
) -> Array | None:
    """Nonlinear parameters of the least squares, linear ones solved for at each (Kaufman 1975).

    Parameters
    ----------
    reduced : (Q,) -> residuals (M,) of the linear solution, and what is left of the rows' derivatives (M, Q) by the
        nonlinear parameters when the linear ones follow
    start : (Q,)
    known : places of those that are searched for
    limits : (Q, 2)

    Returns
    -------
    (Q,) or ``None``
        ``None``: the search does not settle.
    """
    # positive ones by their logarithm: they are velocities, periods, exponents
    logs = limits[known, 0] > 0.0
    scale = np.where(logs, 1.0, np.ptp(limits[known], axis=1))

    def shaped(unknown: Array) -> Array:
        full = start.copy()
        full[known] = np.where(logs, np.exp(np.where(logs, unknown, 0.0)), unknown * scale)
        return full

    def coordinates(values: Array) -> Array:
        return np.asarray(np.where(logs, np.log(np.where(logs, values, 1.0)), values / scale))

    def residual(unknown: Array) -> Array:
        return reduced(shaped(unknown))[0]

    def jacobian(unknown: Array) -> Array:
        full = shaped(unknown)
        return -reduced(full)[1][:, known] * np.where(logs, full[known], scale)

    low, high = coordinates(limits[known, 0]), coordinates(limits[known, 1])
    inside = np.clip(coordinates(start[known]), low + 1e-9, high - 1e-9)
    found = least_squares(residual, inside, jacobian, bounds=(low, high), xtol=1e-6, ftol=1e-8, max_nfev=EVALUATIONS)
    return shaped(found.x) if found.success else None
