"""Derivatives of functions of many coordinates, by central differences of sixth order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pkm_description.arrays import Array

#: places and weights of the first and the second derivative; error step^6 / 140 and step^6 / 560 of the eighth
PLACES = np.array([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
FIRST = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / 60.0
SECOND = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / 180.0

Function = Callable[[Array], Array]


def jacobian(function: Function, at: Array, step: float) -> Array:
    """Derivatives (N, ..., n) of a function (N, n) to (N, ...) by each coordinate."""
    columns = []
    for place in range(at.shape[1]):
        direction = np.zeros_like(at)
        direction[:, place] = 1.0
        columns.append(_along(function, at, direction, step, FIRST) / step)
    return np.stack(columns, axis=-1)


def second_along(function: Function, at: Array, direction: Array, step: float) -> Array:
    """Second derivative (N, ...) along a direction (N, n), whose length counts twice."""
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    unit = np.divide(direction, length, out=np.zeros_like(direction), where=length > 0.0)
    found = _along(function, at, unit, step, SECOND) / step**2
    return np.asarray(found * (length**2).reshape(-1, *[1] * (found.ndim - 1)))


def _along(function: Function, at: Array, direction: Array, step: float, weights: Array) -> Array:
    used = np.flatnonzero(weights)
    values = [np.asarray(function(at + step * PLACES[one] * direction), dtype=float) for one in used]
    return np.asarray(sum(weight * value for weight, value in zip(weights[used], values, strict=True)))
