"""Shortfalls that are accepted: each with its figure, the day it was measured, and why; none may grow by a tenth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
from pkm_description.bounded_yaml import bounded_file

from verification.check import Check

#: the one list of what is not met and accepted
FILE = Path(__file__).with_name('accepted.yaml')
#: by which a shortfall may differ from the accepted one before it fails
GROWTH = 1.1
_KEYS = {'id', 'what', 'date', 'why'}
_FIGURES = {'full', 'quick'}


@dataclass(frozen=True)
class Accepted:
    """One entry of ``accepted.yaml``.

    Attributes
    ----------
    id, what : of the check; the words name machine and case
    full, quick : figures that were measured by full runs and by ``--quick``, in the unit of the check; NaN: none
    date : of the measurement
    why : it falls short
    """

    id: str
    what: str
    date: date
    why: str
    full: float = np.nan
    quick: float = np.nan


Known = Mapping[tuple[str, str], Accepted]


@cache
def accepted_in(path: Path = FILE) -> Known:
    """Entries of a file, by id and words of their checks.

    Raises
    ------
    ValueError
        An entry has other keys than :class:`Accepted`, no number as a figure, no date, or stands there twice.
    """
    result: dict[tuple[str, str], Accepted] = {}
    for number, entry in enumerate(bounded_file(path) or (), start=1):
        keys = entry.keys() if isinstance(entry, dict) else set()
        if not (keys >= _KEYS and keys - _KEYS <= _FIGURES and keys & _FIGURES):
            raise ValueError(f'{path}: entry {number} needs {", ".join(sorted(_KEYS))}, and full or quick or both')
        try:
            figures = {name: float(entry[name]) for name in keys & _FIGURES}
            known = Accepted(**{**entry, **figures, 'date': _date(entry['date'])})
        except (TypeError, ValueError) as error:
            raise ValueError(f'{path}: entry {number} ({entry["id"]}): {error}') from error
        key = known.id, known.what
        if key in result:
            raise ValueError(f'{path}: {known.id}: {known.what!r} stands there twice')
        result[key] = known
    return result


def _date(value: object) -> date:
    return value if isinstance(value, date) else date.fromisoformat(str(value))


def with_acceptance(checks: Iterable[Check], quick: bool, known: Known | None = None) -> list[Check]:
    """Mark shortfalls that are accepted; one that has grown by a tenth stays what it is: not met.

    Parameters
    ----------
    quick : whether they are of a quick run
    known : of :func:`accepted_in`; the project's own if none is given
    """
    return [_judged(check, quick, accepted_in() if known is None else known) for check in checks]


def _judged(check: Check, quick: bool, known: Known) -> Check:
    one = known.get((check.id, check.what))
    if one is None or check.status != 'not met':
        return check
    figure = one.quick if quick else one.full
    before, now = _shortfall(check, figure), _shortfall(check, check.figure)
    if now <= GROWTH * before:
        return replace(check, status='not met, accepted', measured=f'{check.measured} ({one.date}: {one.why})')
    return replace(check, measured=f'{check.measured}; accepted on {one.date} was {figure:g}')


def _shortfall(check: Check, figure: float) -> float:
    """How far a figure is from the nearer limit; of NaN NaN, which is never accepted."""
    lower, upper = check.limits
    return float(np.maximum(lower - figure, figure - upper))
