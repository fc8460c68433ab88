"""Samples of an IMU that are not where those before lead to: a shock, or a sensor that fails.

Which of both, the legs tell a few samples later. Until then the input is uncertain by as much as the sample jumped: a
step between two samples happened at any time between them, and a sensor that fails is wrong by it. A sample that
repeats the one before in all six numbers is uncertain by what samples usually change.
"""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import Integers

#: samples with the same value in a row that count; samples from which on an extreme is one
RUN, ENOUGH = 6, 50
#: rows of the memory: the last samples, the newest first; extremes so far; smallest step so far of any axis of the
#: sensor; ends that were found
HIGHEST, LOWEST, STEP, UPPER, LOWER, END_ROWS = RUN, RUN + 1, RUN + 2, RUN + 3, RUN + 4, RUN + 5
#: smallest steps of a number by which it must have moved before it stops: one that is quantised moves by one or two
_FAST = 4.0
#: samples whose usual jumps and changes are remembered; how many times larger than the largest of them one has to be
WINDOW, UNUSUAL = 16, 6.0
#: a longer interval than so many of the one before: what a sample should be is not known
LATE = 1.5
#: places in ``counts``: last two stamps [ns], samples so far (at most two), jumps so far (at most WINDOW), repeats now,
#: usual repeats, stamp of the first repeated sample [ns]
LAST, BEFORE, SAMPLES, JUMPS, REPEATS, USUAL, BEGAN = 0, 1, 2, 3, 4, 5, 6
COUNTS = 7
#: rows of ``memory``: last two samples; then as many jumps, and changes, as are remembered: force and rate
ROWS = 2 + 2 * WINDOW
#: repeats beyond the usual ones that count: a sensor that is frozen for longer is known, or at rest
COUNTED = 8
#: ns, repeats of a driver that publishes faster than its sensor last at most
LONGEST_USUAL = 100_000_000


@kernel
def find_jumps(counts: Integers, memory: Array, stamps: Integers, samples: Array, least: Array, jumps: Array) -> None:
    """How far samples in order jumped, where that is unusual, else 0.

    Parameters
    ----------
    counts, memory : (:data:`COUNTS`,) and (:data:`ROWS`, 6), what is known of the samples before; changed in place
    stamps, samples : (N,) ns, (N, 6) specific force and angular rate
    least : (2,) what never counts
    jumps : (N, 2) of force and rate, largest axis, to write
    """
    for k in range(len(stamps)):
        jumps[k, 0], jumps[k, 1] = 0.0, 0.0
        same = counts[SAMPLES] > 0
        for axis in range(6):
            same = same and samples[k, axis] == memory[0, axis]
        if same:
            _repeat(counts, memory, stamps[k], least, jumps[k])
            continue
        if counts[REPEATS] > 0:
            if stamps[k] - counts[BEGAN] < LONGEST_USUAL:
                counts[USUAL] = max(counts[USUAL], counts[REPEATS])
            counts[REPEATS] = 0
        interval, earlier = stamps[k] - counts[LAST], counts[LAST] - counts[BEFORE]
        if counts[SAMPLES] == 2 and 0 < interval <= LATE * earlier:
            _compare(counts, memory, interval / earlier, samples[k], least, jumps[k])
        for axis in range(6):
            memory[1, axis] = memory[0, axis]
            memory[0, axis] = samples[k, axis]
        counts[BEFORE], counts[LAST] = counts[LAST], stamps[k]
        counts[SAMPLES] = min(2, counts[SAMPLES] + 1)


@kernel
def _compare(counts: Integers, memory: Array, ratio: float, sample: Array, least: Array, jump: Array) -> None:
    """Compare a sample (6,) with the straight line through the two before, ``ratio`` of their interval further."""
    known = counts[JUMPS] == WINDOW
    for group in range(2):
        bend, change, usual = 0.0, 0.0, 0.0
        for axis in range(3 * group, 3 * group + 3):
            step = memory[0, axis] - memory[1, axis]
            bend = max(bend, abs(sample[axis] - (memory[0, axis] + ratio * step)))
            change = max(change, abs(sample[axis] - memory[0, axis]))
        for row in range(2, 2 + WINDOW):
            usual = max(usual, memory[row, group])
        if known and bend > UNUSUAL * usual and bend > least[group]:
            jump[group] = bend
        for row in range(1 + WINDOW, 2, -1):
            memory[row, group] = memory[row - 1, group]
            memory[row + WINDOW, group] = memory[row + WINDOW - 1, group]
        memory[2, group], memory[2 + WINDOW, group] = bend, change
    counts[JUMPS] = min(WINDOW, counts[JUMPS] + 1)


@kernel
def _repeat(counts: Integers, memory: Array, stamp: int, least: Array, jump: Array) -> None:
    """A sample that repeats the one before: by as many usual changes as there are repeats."""
    if counts[REPEATS] == 0:
        counts[BEGAN] = counts[LAST]
    counts[REPEATS] += 1
    counts[BEFORE], counts[LAST] = counts[LAST], stamp
    unusual = counts[REPEATS] - counts[USUAL]
    if unusual <= 0 or unusual > COUNTED or counts[JUMPS] < WINDOW:
        return
    for group in range(2):
        usual = 0.0
        for row in range(2 + WINDOW, 2 + 2 * WINDOW):
            usual = max(usual, memory[row, group])
        size = counts[REPEATS] * usual
        if size > least[group]:
            jump[group] = size


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
    memory : (END_ROWS, 6)
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
        for axis in range(values.shape[1]):
            for k in range(RUN - 1, 0, -1):
                memory[k, axis] = memory[k - 1, axis]
            memory[0, axis] = values[sample, axis]
        count[0] += 1
