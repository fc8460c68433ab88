"""The type ``Array``: NumPy arrays of floats; and how kernels take them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: array of floats, of any shape; docstrings give shape and unit
Array = NDArray[np.float64]


def packed(values: ArrayLike) -> Array:
    """Numbers in the one layout that kernels are compiled for; any other would be compiled again, for minutes.

    That is rows without gaps, aligned, and writeable: of what ``np.broadcast_to`` or ``np.frombuffer`` gives, a copy.
    """
    array: Array = np.ascontiguousarray(values, dtype=float)
    return array if array.flags.carray else array.copy()
