"""Drives and IMU on one grid of times, smoothed alike, with the drives' rates and accelerations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.signal import savgol_coeffs, savgol_filter

#: s between two instants of the grid, and instants of a smoothing polynomial (third degree)
INTERVAL, POINTS = 0.02, 7
#: s without a sample after which the grid has a hole
_HOLE = 0.12


@dataclass(frozen=True)
class Smoothed:
    """A stream on the grid.

    Attributes
    ----------
    value, rate, acceleration : (N, C), smoothed, and its first and second derivative
    good : (N,) False near holes and ends
    noise, rate_noise : (C,) standard deviations that white noise of the samples leaves in values and rates
    """

    value: Array
    rate: Array
    acceleration: Array
    good: NDArray[np.bool_]
    noise: Array
    rate_noise: Array


def grid_of(*times: Array) -> Array:
    """Grid (N,) s over the time that all streams have in common; empty if there is none."""
    begin, end = max(time[0] for time in times), min(time[-1] for time in times)
    return np.asarray(begin + INTERVAL * np.arange(max(0, int((end - begin) / INTERVAL))))


def smoothed(time: Array, values: Array, grid: Array) -> Smoothed:
    """Average samples around each instant of the grid, then fit polynomials; nothing lags.

    Parameters
    ----------
    time : (K,) s, increasing
    values : (K, C); rows that are not finite do not count
    grid : (N,) s, equidistant
    """
    finite = np.isfinite(values).all(axis=1)
    time, values = time[finite], values[finite]
    count = len(grid)
    place = np.rint((time - grid[0]) / INTERVAL).astype(int)
    inside = (place >= 0) & (place < count)
    _, place = np.unique(place[inside], return_inverse=True)
    number = np.bincount(place)
    at = np.bincount(place, time[inside]) / number
    means = np.column_stack([np.bincount(place, column) / number for column in values[inside].T])
    even = np.column_stack([np.interp(grid, at, column) for column in means.T])
    nearest = np.abs(grid[:, None] - at[np.clip(np.searchsorted(at, grid)[:, None] + [-1, 0], 0, len(at) - 1)]).min(1)
    hole = nearest > 0.5 * _HOLE
    good = np.convolve(hole, np.ones(POINTS), 'same') == 0
    good[: POINTS // 2] = good[count - POINTS // 2 :] = False
    parts = [savgol_filter(even, POINTS, 3, deriv=order, delta=INTERVAL, axis=0) for order in range(3)]
    # third differences of smooth signals vanish; of white noise they have a variance of 20
    white = np.median(np.abs(np.diff(even, n=3, axis=0)), axis=0) / 0.6745 / np.sqrt(20.0)
    # what the polynomials leave of the deviation of white noise, in values and rates
    gain = [float(np.linalg.norm(savgol_coeffs(POINTS, 3, deriv=order, delta=INTERVAL))) for order in (0, 1)]
    return Smoothed(parts[0], parts[1], parts[2], good, gain[0] * white, gain[1] * white)
