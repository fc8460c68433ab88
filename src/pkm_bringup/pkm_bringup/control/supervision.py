"""Supervision of the tracking error of the drives (Heimann & Abdellatif on their hexapod MSI; R4-08)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pkm_description.arrays import Array


class TrackingSupervision:
    """Says when the position error of a drive has exceeded its limit for too long.

    Parameters
    ----------
    names : of the drives
    limits : (A,) m or rad; infinite: not supervised
    delay_ns : how long an error must exceed its limit; 0 trips at once

    """

    def __init__(self, names: Sequence[str], limits: Array, delay_ns: int) -> None:
        self._names = tuple(names)
        self._limits = limits
        self._delay_ns = delay_ns
        self._since_ns: int | None = None

    def restart(self) -> None:
        """Forget errors so far."""
        self._since_ns = None

    def judge(self, time_ns: int, error: Array) -> str:
        """Reason to stop, from the position errors (A,) at a time; empty while there is none."""
        excess = np.abs(error) / self._limits
        if not (excess > 1.0).any():
            self._since_ns = None
            return ''
        if self._since_ns is None or time_ns < self._since_ns:
            self._since_ns = time_ns
        if time_ns - self._since_ns < self._delay_ns:
            return ''
        worst = int(np.argmax(excess))
        return (
            f'{self._names[worst]}: tracking error {error[worst]:.4g} exceeds {self._limits[worst]:.4g} '
            f'at t = {time_ns * 1e-9:.3f} s'
        )
