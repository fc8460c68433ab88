"""The filter that makes rows of samples, the same for forces and regressor (parallel filtering).

A row is a weighted mean of the samples around it. So columns of a regressor that are far larger than their rows need
not be there all at once: each block of samples adds what it has to the rows within the filter's reach. At the ends of
a recording the low-pass itself makes the rows, which continues the samples beyond them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.blocks import BLOCK, OfPart, blocks
from pkm_identification.motion_source.filters import (
    UNFILTERED,
    answer_samples,
    decimation_factor,
    low_pass,
    parallel_filter,
)

#: most rows that begin in a block of samples, and columns that go through the low-pass together
ROWS, COLUMNS = 128, 256


class RowFilter(NamedTuple):
    """Turns samples (N, ...) of a whole recording into rows (n, ...), as those of the forces and the regressor."""

    sample_rate: float
    cutoff: float
    kept: NDArray[np.bool_]

    def __call__(self, values: Array) -> Array:
        """Filter, decimate and leave out the ends."""
        return self.in_blocks(lambda part: values[part], len(values))

    def in_blocks(self, values: OfPart, count: int) -> Array:
        """Rows of ``count`` samples whose values are only computed part by part."""
        step, reach = self.step, self.reach
        if self.cutoff >= UNFILTERED * self.sample_rate:
            return np.concatenate([values(part) for part in blocks(count)])[self.kept]
        if count <= 4 * reach:
            return self._low_passed(values(slice(0, count)))[self.kept]
        # rows of the beginning, of the end, and between them
        first, end = reach // step, (count - 1 - reach) // step + 1
        begin = self._low_passed(values(slice(0, 2 * reach)))
        rows = np.zeros((len(self.kept), *begin.shape[1:]))
        rows[:first] = begin[:first]
        rows[end:] = self._low_passed(values(slice(end * step - reach, count)))[first:]
        size = max(1, min(BLOCK // step, ROWS)) * step
        weights = _weights(self.sample_rate, self.cutoff, size, reach)
        for part in blocks(count, size):
            own = values(part)
            begins = part.start // step - first
            low, high = max(begins, first), min(begins + len(weights), end)
            if low < high:
                means = weights[low - begins : high - begins, : len(own)] @ own.reshape(len(own), -1)
                rows[low:high] += means.reshape(high - low, *own.shape[1:])
        return rows[self.kept]

    def _low_passed(self, values: Array) -> Array:
        """Rows of all values, some columns at a time: a filter needs room for several copies of them."""
        flat = values.reshape(len(values), -1)
        rows = np.empty((-(-len(flat) // self.step), flat.shape[1]))
        for part in blocks(flat.shape[1], COLUMNS):
            rows[:, part] = parallel_filter(flat[:, part], self.sample_rate, self.cutoff)
        return rows.reshape(len(rows), *values.shape[1:])

    @property
    def step(self) -> int:
        """Samples from row to row."""
        return decimation_factor(self.sample_rate, self.cutoff)

    @property
    def reach(self) -> int:
        """Samples, whole rows, beyond which the filter's answer to an impulse is lost in rounding."""
        return -(-answer_samples(self.sample_rate, self.cutoff) // self.step) * self.step


@lru_cache(maxsize=4)
def _weights(sample_rate: float, cutoff: float, size: int, reach: int) -> Array:
    """Weights (r, size) of a block's samples in the rows within ``reach`` of it, the same for all blocks."""
    step = decimation_factor(sample_rate, cutoff)
    impulse = np.zeros(4 * reach + 1)
    impulse[2 * reach] = 1.0
    answer = low_pass(impulse, sample_rate, cutoff)[reach : 3 * reach + 1]
    distance = np.arange(-reach, size + reach, step)[:, None] - np.arange(size)
    return np.where(np.abs(distance) <= reach, answer[np.clip(distance, -reach, reach) + reach], 0.0)
