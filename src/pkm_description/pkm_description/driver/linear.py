"""Values of a driver times a scale plus an offset, drive by drive."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.arrays import Array


@dataclass(frozen=True, eq=False)
class LinearConversion:
    """``value = scale * reading + offset``, drive by drive.

    Attributes
    ----------
    scale : (A,) SI unit per unit of the driver; the sign is that of the driver's direction; not zero
    offset : (A,) in the SI unit
    """

    scale: Array
    offset: Array

    def value(self, reading: Array) -> Array:
        """Values (..., A) in the suite's convention of a driver's readings (..., A)."""
        result: Array = reading * self.scale + self.offset
        return result

    def reading(self, value: Array) -> Array:
        """Readings (..., A) that a driver would give for values (..., A) in the suite's convention."""
        result: Array = (value - self.offset) / self.scale
        return result
