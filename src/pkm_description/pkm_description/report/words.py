"""Words and numbers of reports: sentences, tables, units that are easy to read, values with a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

_DEGREES = 180.0 / np.pi
#: s after 1970 below which a stamp is that of a simulator's clock, not of a wall clock: the year 2001
SIMULATED = 1e9


def sentence_of(value: object) -> str:
    """Text of a value as a sentence: capital letter, full stop."""
    text = str(value)
    return f'{text[:1].upper()}{text[1:]}.'


def now_in_words() -> str:
    """Date and time of this moment, by the wall clock."""
    return datetime.now(tz=UTC).isoformat(timespec='seconds')


def time_of_data(start_stamp: int) -> str:
    """First stamp, in ns, as a date, or as seconds of a simulator's clock."""
    seconds = start_stamp / 1e9
    if seconds < SIMULATED:
        return f'begins at {seconds:.3f} s of simulated time'
    return f'begins at {datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec="milliseconds")}'


def text_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = '  ', numbers: bool = True, rule: bool = True
) -> str:
    """Align columns: the first to the left, the others to the right, or to the left if they hold words.

    Parameters
    ----------
    header : one text per column
    rows : of the same length
    indent : before each line
    numbers : whether the columns behind the first hold numbers
    rule : a line below the header
    """
    table = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = []
    for row in table:
        cells = [
            cell.rjust(width) if i and numbers else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + '  '.join(cells)).rstrip())
    if rule:
        lines.insert(1, indent + '  '.join('-' * width for width in widths))
    return '\n'.join(lines)


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


def keeps_limit(value: float, limit: float, at_least: bool = False) -> bool:
    """Whether a figure does not exceed its limit (or reaches it); NaN keeps none."""
    # no comparison with NaN holds
    return bool(value >= limit) if at_least else bool(value <= limit)


def figure_text(value: float, unit: str = '', digits: int = 4) -> str:
    """Figure with its unit."""
    return f'{value:.{digits}g} {unit}'.rstrip()


def limit_text(limit: float, unit: str = '', at_least: bool = False, digits: int = 4) -> str:
    """Limit with its direction."""
    return f'{">=" if at_least else "<="} {figure_text(limit, unit, digits)}'
