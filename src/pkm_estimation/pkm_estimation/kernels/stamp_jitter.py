"""Jitter of stamps: how large it is, by the stamps themselves, and what it does to measurements.

A sensor that samples regularly, with stamps ``t_k = k T + e_k`` whose errors e are independent of each other and of
standard deviation s, has second differences ``t_k - 2 t_(k-1) + t_(k-2)`` of variance ``6 s^2``. (Whether samples are
irregular, or only their stamps, cannot be seen in stamps: irregular ones count as jitter.) A sample that was taken at
another time than its stamp says is wrong by ``e`` times its slope.

Few stamps say little: until there are :data:`ENOUGH` second differences, jitter of a usual size is assumed in part, and
wholly before the first. Otherwise the first samples after a start, which determine speed and biases, would be trusted
beyond what they are worth, and nothing later takes that back. Stamps without any scatter end this after a few samples.
"""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import Integers

_NANOSECOND = 1e-9
#: places in ``scatter``: mean square jitter [s^2], number of second differences, usual interval [s], number of
#: intervals, setting [s] (negative: as the stamps say), part of the mean square that counts as the jitter's [s^2]
SQUARE, COUNT, USUAL, INTERVALS, SETTING, VARIANCE = 0, 1, 2, 3, 4, 5
NUMBERS = 6
#: largest number of samples of which a mean remembers, and how many more a mean of few is taken to be short of
MEMORY, DOUBT = 500.0, 4.0
#: an interval above so many usual ones has lost samples
LOST = 1.75
#: s^2, rounding of stamps to whole microseconds and less does not count
NO_JITTER = 2e-6**2
#: s^2, assumed before stamps tell: that of a driver on an ordinary computer
USUAL_JITTER = 3e-4**2
#: second differences after which stamps alone say how large jitter is, and after which they may say that there is none
ENOUGH, CLEAR = 20.0, 3.0


@kernel
def observe_stamp(scatter: Array, last: Integers, stamp: int) -> None:
    """Take the next stamp [ns] of a sensor; one that was taken before changes nothing.

    Parameters
    ----------
    scatter : (6,) statistics, changed in place
    last : (3,) the last two stamps [ns], and how many there are, changed in place
    """
    if last[2] > 0 and stamp <= last[0]:
        return
    if last[2] > 0:
        interval, usual = (stamp - last[0]) * _NANOSECOND, scatter[USUAL]
        is_regular = scatter[INTERVALS] > 0.0 and interval < LOST * usual
        if last[2] > 1 and is_regular and (last[0] - last[1]) * _NANOSECOND < LOST * usual:
            bend = interval - (last[0] - last[1]) * _NANOSECOND
            scatter[COUNT] = min(MEMORY, scatter[COUNT] + 1.0)
            scatter[SQUARE] += (bend * bend / 6.0 - scatter[SQUARE]) / scatter[COUNT]
        scatter[INTERVALS] = min(MEMORY, scatter[INTERVALS] + 1.0)
        scatter[USUAL] += (interval - usual) / scatter[INTERVALS]
    last[1], last[0], last[2] = last[0], stamp, min(2, last[2] + 1)
    if scatter[SETTING] < 0.0:
        scatter[VARIANCE] = jitter_variance(scatter[SQUARE], scatter[COUNT])


@kernel
def jitter_variance(square: float, count: float) -> float:
    """Variance [s^2] of stamps by the mean square that ``count`` second differences showed."""
    if count >= CLEAR and square <= NO_JITTER:
        return 0.0
    if count == 0.0:
        return USUAL_JITTER
    assumed = max(0.0, 1.0 - count / ENOUGH)
    return assumed * USUAL_JITTER + (1.0 - assumed) * square * (1.0 + DOUBT / count)


@kernel
def along_factor(factor: Array, rates: Array, along: Array) -> None:
    """``L^-1 x'`` of a lower triangular L (n, n) and x' (n,)."""
    for i in range(len(rates)):
        rest = rates[i]
        for k in range(i):
            rest -= factor[i, k] * along[k]
        along[i] = rest / factor[i, i]
