"""Units in which a quantity is easy to read: micrometres for errors, metres for motions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

_DEGREES = 180.0 / np.pi


class Scale(NamedTuple):
    """Factor from the SI unit, and the unit's name."""

    factor: float
    unit: str


#: by SI unit, the largest unit first; the first one in which the largest value is at least 1 is taken, or else the last
_UNITS: dict[str, tuple[Scale, ...]] = {
    'm': (Scale(1.0, 'm'), Scale(1e3, 'mm'), Scale(1e6, 'um')),
    'm/s': (Scale(1.0, 'm/s'), Scale(1e3, 'mm/s'), Scale(1e6, 'um/s')),
    'm/s^2': (Scale(1.0, 'm/s^2'), Scale(1e3, 'mm/s^2'), Scale(1e6, 'um/s^2')),
    'rad': (Scale(_DEGREES, 'deg'), Scale(1e3, 'mrad'), Scale(1e6, 'urad')),
    'rad/s': (Scale(_DEGREES, 'deg/s'), Scale(1e3, 'mrad/s'), Scale(1e6, 'urad/s')),
    's': (Scale(1.0, 's'), Scale(1e3, 'ms'), Scale(1e6, 'us')),
}


def scale_of(unit: str, values: ArrayLike, least: float = 1.0) -> Scale:
    """Scale for values (any shape) in an SI unit; the unit itself where no others are known.

    Parameters
    ----------
    unit : ``m``, ``m/s``, ``m/s^2``, ``rad``, ``rad/s``, ``s`` or any other
    values : those that are shown; what is not finite does not count
    least : of the largest of them in the unit that is taken
    """
    scales = _UNITS.get(unit, (Scale(1.0, unit),))
    sizes = np.abs(np.asarray(values, dtype=float))
    finite = sizes[np.isfinite(sizes)]
    largest = float(finite.max()) if finite.size else 0.0
    if largest == 0.0:
        return scales[0]
    return next((scale for scale in scales if largest * scale.factor >= least), scales[-1])
