"""Detects motion in a recording: when it moves, and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array

#: s over which samples are averaged before they are compared
WINDOW = 0.1
#: standard deviations of such an average that noise is allowed
_NOISE_REACH = 8.0


@dataclass(frozen=True)
class Movement:
    """What a channel did that stands for a constant.

    Attributes
    ----------
    channel : which
    first : s, when it first went beyond what is allowed
    worst : s, when it was farthest away
    distance : how far, from its median
    allowed : how far it may be
    """

    channel: int
    first: float
    worst: float
    distance: float
    allowed: float


def find_movement(time: Array, values: Array, tolerance: float) -> Movement | None:
    """Look for the channel that moves most, in relation to what is allowed.

    Averages over a tenth of a second must stay within ``tolerance`` and eight of their own standard deviations of their
    median. The noise is told by neighbouring samples' differences (their median, so that a platform that stands for
    most of the time may move in the rest).

    Parameters
    ----------
    time : (N,) s
    values : (N, C)
    tolerance : of all channels
    """
    length = min(len(values), max(1, round(WINDOW / float(np.median(np.diff(time))))))
    count = len(values) // length
    averages = values[: count * length].reshape(count, length, -1).mean(axis=1)
    times = time[: count * length : length]
    # the median of |difference| of white noise is 0.6745 sqrt(2) standard deviations
    noise = np.median(np.abs(np.diff(values, axis=0)), axis=0) / 0.9539
    allowed = tolerance + _NOISE_REACH * noise / np.sqrt(length)
    away = np.abs(averages - np.median(averages, axis=0))
    if (away <= allowed).all():
        return None
    channel = int(np.argmax((away / allowed).max(axis=0)))
    outside = np.flatnonzero(away[:, channel] > allowed[channel])
    worst = int(np.argmax(away[:, channel]))
    return Movement(
        channel, float(times[outside[0]]), float(times[worst]), float(away[worst, channel]), float(allowed[channel])
    )
