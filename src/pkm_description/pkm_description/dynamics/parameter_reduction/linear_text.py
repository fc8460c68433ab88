"""Linear combinations of named parameters as readable text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_description.arrays import Array


def linear_text(factors: Array, names: Sequence[str], first: int | None = None, digits: int = 4) -> str:
    """Text such as ``leg_rod.m + 0.5 platform_link.mx - leg_rod.Ixx``.

    Parameters
    ----------
    factors : (P,)
    names : P names
    first : index of the parameter to begin with; otherwise in the order of names
    digits : significant digits of the factors
    """
    order = [int(index) for index in np.flatnonzero(factors)]
    if first in order:
        order = [first, *(index for index in order if index != first)]
    text = ''
    for index in order:
        number = f'{abs(factors[index]):.{digits}g}'
        term = names[index] if number == '1' else f'{number} {names[index]}'
        negative = bool(factors[index] < 0.0)
        text += (f' {"-" if negative else "+"} ' if text else '-' * negative) + term
    return text or '0'
