"""Ends of an IMU's range that no file states: a number that stops at its extreme while it was moving fast."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import Integers

#: samples with the same value in a row that count; samples from which on an extreme is one
RUN, ENOUGH = 6, 50
#: rows of the memory: the last samples, the newest first; extremes so far; smallest step so far of any axis of the
#: sensor; ends that were found
HIGHEST, LOWEST, STEP, UPPER, LOWER, ROWS = RUN, RUN + 1, RUN + 2, RUN + 3, RUN + 4, RUN + 5
#: smallest steps of a number by which it must have moved before it stops: one that is quantised moves by one or two
_FAST = 4.0


@kernel
def stops(memory: Array, sample: Array, axis: int) -> bool:
    """Whether a number was moving fast and has the same value since, while the sensor's other axes go on."""
    if abs(memory[RUN - 2, axis] - memory[RUN - 1, axis]) < _FAST * memory[STEP, axis]:
        return False
    first = axis - axis % 3
    for k in range(RUN - 1):
        newer = sample if k == 0 else memory[k - 1]
        goes_on = False
        for other in range(first, first + 3):
            goes_on = goes_on or newer[other] != memory[k, other]
        if newer[axis] != memory[k, axis] or not goes_on:
            return False
    return True


@kernel
def find_ends(count: Integers, memory: Array, values: Array, found: Integers) -> None:
    """Look at samples (M, 6) that follow those in the memory; ``found`` (M,) 1 plus an axis at its end, or 0.

    A number is at its end where some samples in a row have the same extreme value, to the last bit, after a step of
    several times the smallest one so far, while the sensor's other axes go on. It is none, if the number ever passes
    it.

    Parameters
    ----------
    count : (1,) samples so far
    memory : (ROWS, 6)
    """
    for sample in range(len(values)):
        found[sample] = 0
        for axis in range(6):
            value = values[sample, axis]
            if value > memory[UPPER, axis]:
                memory[UPPER, axis] = float('inf')
            if value < memory[LOWER, axis]:
                memory[LOWER, axis] = float('-inf')
            step, first = abs(value - memory[0, axis]), axis - axis % 3
            if count[0] > 0 and 0.0 < step < memory[STEP, axis]:
                for k in range(first, first + 3):
                    memory[STEP, k] = step
            memory[HIGHEST, axis] = max(memory[HIGHEST, axis], value)
            memory[LOWEST, axis] = min(memory[LOWEST, axis], value)
            is_extreme = value >= memory[HIGHEST, axis] or value <= memory[LOWEST, axis]
            if is_extreme and count[0] >= ENOUGH and stops(memory, values[sample], axis):
                if value >= memory[HIGHEST, axis]:
                    memory[UPPER, axis] = value
                else:
                    memory[LOWER, axis] = value
            if value == memory[UPPER, axis] or value == memory[LOWER, axis]:
                found[sample] = axis + 1
        for k in range(RUN - 1, 0, -1):
            memory[k] = memory[k - 1]
        memory[0] = values[sample]
        count[0] += 1
