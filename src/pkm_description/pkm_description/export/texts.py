"""Numbers as text for the exported files."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def numbers(*values: Iterable[float]) -> str:
    """Arrays as one line of text that reads back to the same doubles."""
    flat = np.concatenate([np.asarray(value, dtype=float).ravel() for value in values])
    return ' '.join(repr(float(value)) for value in flat)
