"""Resolution of encoders, measured: all changes of a position are multiples of its step.

An encoder whose step is larger than its noise has errors of a twelfth of the step's square, which the machine file may
not state (``position_resolution``). A few readings show the step: the greatest common divisor of their differences,
which is next to nothing where there is noise instead.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine

#: changes of each position that are looked at; part of the noise below which a remainder is none
_CHANGES, _REMAINDER = 10, 0.01


class EncoderResolution:
    """Looks at the first positions of the drives for which the machine file states no resolution.

    Parameters
    ----------
    machine : noise and resolution of its drives' sensors

    Attributes
    ----------
    is_known : whether it needs to look no further
    steps : (A,) m or rad, largest steps that explain the positions
    """

    def __init__(self, machine: Machine) -> None:
        sensors, count = machine.leg_sensors, machine.actuated_count
        self._noise = np.broadcast_to(sensors.position_noise, count)
        stated = np.broadcast_to(sensors.position_resolution, count)
        self._missing = np.where((stated > 0.0) | (self._noise <= 0.0), 0, _CHANGES)
        self._last, self.steps = np.full(count, np.nan), np.zeros(count)
        self.is_known = not self._missing.any()

    def add(self, positions: Array) -> None:
        """Look at positions (A,), NaN where a leg has none."""
        for leg, (value, last) in enumerate(zip(positions.tolist(), self._last.tolist(), strict=True)):
            if self._missing[leg] and abs(value - last) > 0.0:
                least = _REMAINDER * float(self._noise[leg])
                self.steps[leg] = _common_divisor(abs(value - last), float(self.steps[leg]), least)
                self._missing[leg] -= 1
        self._last = np.where(np.isfinite(positions), positions, self._last)
        self.is_known = not self._missing.any()

    @property
    def unstated(self) -> Array:
        """Steps (A,) m or rad that are larger than the noise and not in the machine file, else 0."""
        return np.where(self.steps > self._noise, self.steps, 0.0)


def _common_divisor(one: float, other: float, least: float) -> float:
    """Greatest common divisor of two numbers, of which remainders below ``least`` are none (Euclid)."""
    while other > least:
        one, other = other, abs(one - round(one / other) * other)
    return one
