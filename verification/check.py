"""One line of the verification table, and helpers that judge a measured figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Status = Literal['met', 'failed', 'not reachable']


@dataclass(frozen=True)
class Check:
    """What was asked of a machine, and what came out.

    Attributes
    ----------
    id : of the requirement, e.g. ``T3`` (Oh), ``R4-11`` (Heimann), ``S3-02`` (Miletovic), or a plain word
    what : the checked quantity in a few words
    required, measured : figures as text, with units
    status : ``'not reachable'`` is for what cannot be judged, for the reason given in ``measured``
    machine : name of the machine; filled in where the checks are run
    """

    id: str
    what: str
    required: str
    measured: str
    status: Status
    machine: str = ''


def at_most(id: str, what: str, limit: float, value: ArrayLike, unit: str = '') -> Check:
    """Largest absolute value against a limit; anything that is not a number fails, and so does nothing at all."""
    values = np.abs(np.asarray(value, dtype=float)).ravel()
    # np.max passes NaN on, and no comparison with NaN holds
    worst = float(np.max(values)) if values.size else np.nan
    return Check(id, what, f'<= {_figure(limit, unit)}', _figure(worst, unit), _verdict(worst <= limit))


def at_least(id: str, what: str, limit: float, value: ArrayLike, unit: str = '') -> Check:
    """Smallest value against a limit; anything that is not a number fails, and so does nothing at all."""
    values = np.asarray(value, dtype=float).ravel()
    least = float(np.min(values)) if values.size else np.nan
    return Check(id, what, f'>= {_figure(limit, unit)}', _figure(least, unit), _verdict(least >= limit))


def within(id: str, what: str, lower: float, upper: float, value: float, unit: str = '') -> Check:
    """One figure between two limits, both included."""
    required = f'{_figure(lower, "")} .. {_figure(upper, unit)}'
    return Check(id, what, required, _figure(value, unit), _verdict(lower <= value <= upper))


def near(id: str, what: str, expected: float, value: float, tolerance: float, unit: str = '') -> Check:
    """One figure against a printed one with the tolerance of its last digit."""
    required = f'{expected:.8g} +- {_figure(tolerance, unit)}'
    measured = f'{value:.8g}{" " + unit if unit else ""}'
    return Check(id, what, required, measured, _verdict(abs(value - expected) <= tolerance))


def near_each(id: str, what: str, expected: ArrayLike, value: ArrayLike, tolerance: float, unit: str = '') -> Check:
    """Several figures, each against a printed one, with the same tolerance."""
    printed, found = (np.asarray(figures, dtype=float).ravel() for figures in (expected, value))
    good = printed.shape == found.shape and bool(np.all(np.abs(found - printed) <= tolerance))
    ending = f' {unit}' if unit else ''
    required = f'{" ".join(f"{figure:.10g}" for figure in printed)}{ending} +- {tolerance:.2g}'
    return Check(id, what, required, ' '.join(f'{figure:.10g}' for figure in found) + ending, _verdict(good))


def equal(id: str, what: str, expected: object, value: object) -> Check:
    """Whole numbers, names, lists: the same or not."""
    return Check(id, what, _plain(expected), _plain(value), _verdict(bool(expected == value)))


def holds(id: str, what: str, required: str, measured: str, verdict: bool) -> Check:
    """Any other requirement, with figures that the caller words."""
    return Check(id, what, required, measured, _verdict(bool(verdict)))


def refused(id: str, what: str, error: type[Exception], caught: Exception | None) -> Check:
    """An input that must be refused with a certain error, whose text is shown."""
    measured = 'accepted' if caught is None else f'{type(caught).__name__}: {caught}'
    return Check(id, what, error.__name__, measured, _verdict(isinstance(caught, error)))


def not_reachable(id: str, what: str, required: str, reason: str) -> Check:
    """Something that cannot be judged here, and why."""
    return Check(id, what, required, reason, 'not reachable')


def relative_error(value: ArrayLike, reference: ArrayLike) -> float:
    """Largest difference over the reference's largest absolute value."""
    first, second = np.asarray(value, dtype=float), np.asarray(reference, dtype=float)
    return float(np.max(np.abs(first - second)) / np.max(np.abs(second)))


def count(checks: Iterable[Check]) -> dict[Status, int]:
    """How many checks have each status."""
    result: dict[Status, int] = {'met': 0, 'failed': 0, 'not reachable': 0}
    for check in checks:
        result[check.status] += 1
    return result


def _verdict(good: bool) -> Status:
    return 'met' if good else 'failed'


def _figure(value: float, unit: str) -> str:
    return f'{value:.4g}{" " + unit if unit else ""}'


def _plain(value: object) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return ', '.join(str(entry) for entry in value) or 'none'
    return str(value)
