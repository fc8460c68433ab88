"""Long recordings in blocks: what is large for every sample is computed for some thousand samples at a time.

A function of a part of the samples stands where an array over all of them would not fit into memory: columns of the
regressor, motions of all joints, forces in them. What is made of it is small: rows, forces of the drives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

#: samples per block: bounds the memory of what is computed for each
BLOCK = 4000

#: what is needed several times is kept for all samples up to this size, else computed again
KEPT_BYTES = 200_000_000

#: values (n, ...) of the samples of a part
OfPart = Callable[[slice], Array]


def blocks(count: int, size: int | None = None) -> Iterator[slice]:
    """Parts of ``count`` samples one after the other, of ``size`` samples each; default: :data:`BLOCK`."""
    size = size or BLOCK
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def joined(values: OfPart, count: int) -> Array:
    """Values (N, ...) of all samples, computed in blocks."""
    found = np.zeros((count, 0))
    for part in blocks(count):
        own = values(part)
        if part.start == 0:
            found = np.empty((count, *own.shape[1:]))
        found[part] = own
    return found


def kept(values: OfPart, count: int) -> OfPart:
    """The same values, computed once where those of all samples are no more than :data:`KEPT_BYTES`."""
    if not count or count * values(slice(0, 1)).nbytes > KEPT_BYTES:
        return values
    everything = joined(values, count)
    return lambda part: everything[part]


def runs_of(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and stop of all runs of flags (N,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]
