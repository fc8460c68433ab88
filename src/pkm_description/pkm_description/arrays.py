"""The type ``Array``: NumPy arrays of floats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: array of floats, of any shape; docstrings give shape and unit
Array = NDArray[np.float64]
