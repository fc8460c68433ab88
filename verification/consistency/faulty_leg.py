"""Faults of one leg's sensor, or of two that are swapped, applied to good measurements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array

LEG_FAULTS = ('offset', 'spikes', 'stuck', 'end_of_stroke', 'swapped', 'millimetres', 'not_a_number', 'missing_name')

#: part of the samples that are spikes, and their size [m]
_SPIKE_PART, _SPIKE = 0.3, 0.1


@dataclass(frozen=True)
class FaultyLeg:
    """A fault from now on.

    Attributes
    ----------
    kind : one of :data:`LEG_FAULTS`
    leg, other : which leg; the one that it is swapped with
    offset : m
    held : m, where it is stuck
    end : m, of its stroke
    """

    kind: str
    leg: int
    other: int = -1
    offset: float = 0.0
    held: float = 0.0
    end: float = 0.0

    def spoil(self, names: list[str], positions: Array, random: np.random.Generator) -> tuple[list[str], Array]:
        """Names and positions (L,) as the faulty sensor sends them; the input is not changed."""
        kind, leg, x = self.kind, self.leg, positions.copy()
        if kind == 'offset':
            x[leg] += self.offset
        elif kind == 'spikes' and random.random() < _SPIKE_PART:
            x[leg] += random.choice([-_SPIKE, _SPIKE])
        elif kind == 'stuck':
            x[leg] = self.held
        elif kind == 'end_of_stroke':
            x[leg] = self.end
        elif kind == 'swapped':
            x[[leg, self.other]] = x[[self.other, leg]]
        elif kind == 'millimetres':
            x[leg] *= 1e3
        elif kind == 'not_a_number':
            x[leg] = random.choice([np.nan, np.inf, -np.inf, 1e300])
        elif kind == 'missing_name':
            return names[:leg] + names[leg + 1 :], np.delete(x, leg)
        return names, x
