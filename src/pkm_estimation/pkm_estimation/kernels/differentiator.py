"""One step of the Butterworth differentiator (Eq. 28), as a state equation."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel

#: rows of the memory: filtered rates, smoothed signals, last samples
RATE, SMOOTHED, LAST = 0, 1, 2


@kernel
def differentiate(memory: Array, values: Array, first: int, interval: float, stiffness: float, drag: float) -> None:
    """Take the samples (k,) ``values[first:]``, ``interval`` s after the last, into the memory (3, k).

    The trapezoidal rule for ``x' = r, r' = stiffness (u - x) - drag r``, solved for the new rate, is
    ``r1 = keep r0 + push (u0 + u1 - 2 x0)`` and ``x1 = x0 + half (r0 + r1)``.
    """
    half = 0.5 * interval
    above, below = half * (drag + half * stiffness), half * stiffness
    keep, push = (1.0 - above) / (1.0 + above), below / (1.0 + above)
    for k in range(memory.shape[1]):
        rate, smooth, value = memory[RATE, k], memory[SMOOTHED, k], values[first + k]
        after = keep * rate + push * (memory[LAST, k] + value - 2.0 * smooth)
        memory[RATE, k], memory[SMOOTHED, k], memory[LAST, k] = after, smooth + half * (rate + after), value
