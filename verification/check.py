"""One line of a verification table, and helpers that judge a measured figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from pkm_description.report.words import figure_text, limit_text

#: ``'not reachable'`` is for what the world does not have, which the reason names: data, hardware, a program
Status = Literal['met', 'not met', 'not met, accepted', 'not reachable']


@dataclass(frozen=True)
class Check:
    """A required and a measured figure of a machine or an estimator.

    Attributes
    ----------
    what : the judged quantity in a few words
    required, measured : figures as text, with units
    status : the verdict
    id : of the requirement in the list of its suite, e.g. ``T3`` (Oh), ``R4-11`` (Heimann and Abdellatif), ``S3-02``
        (Miletovic); a plain word in suites without a list
    machine : name of the machine; filled in where the checks are run
    figure : the measured figure; NaN where there is no single one
    limits : between which it must lie, both included
    """

    what: str
    required: str
    measured: str
    status: Status
    id: str = ''
    machine: str = ''
    figure: float = np.nan
    limits: tuple[float, float] = (-np.inf, np.inf)

    @property
    def failed(self) -> bool:
        """Whether the requirement applies, is broken, and nobody has accepted that."""
        return self.status == 'not met'


def at_most(id: str, what: str, limit: float, value: ArrayLike, unit: str = '', note: str = '') -> Check:
    """Largest absolute value against a limit; NaN fails, and so does an empty array."""
    values = np.abs(np.asarray(value, dtype=float)).ravel()
    # np.max passes NaN on, and NaN keeps no limit
    worst = float(np.max(values)) if values.size else np.nan
    return _judged(id, what, limit_text(limit, unit), worst, (-np.inf, limit), figure_text(worst, unit), note)


def at_least(id: str, what: str, limit: float, value: ArrayLike, unit: str = '', note: str = '') -> Check:
    """Smallest value against a limit; NaN fails, and so does an empty array."""
    values = np.asarray(value, dtype=float).ravel()
    least = float(np.min(values)) if values.size else np.nan
    required = limit_text(limit, unit, at_least=True)
    return _judged(id, what, required, least, (limit, np.inf), figure_text(least, unit), note)


def within(id: str, what: str, lower: float, upper: float, value: float, unit: str = '', note: str = '') -> Check:
    """One figure between two limits, both included."""
    required = f'{figure_text(lower)} .. {figure_text(upper, unit)}'
    return _judged(id, what, required, value, (lower, upper), figure_text(value, unit), note)


def near(id: str, what: str, expected: float, value: float, tolerance: float, unit: str = '') -> Check:
    """One figure against a printed one with the tolerance of its last digit."""
    required = f'{expected:.8g} +- {figure_text(tolerance, unit)}'
    limits = expected - tolerance, expected + tolerance
    return _judged(id, what, required, value, limits, figure_text(value, unit, 8))


def near_each(id: str, what: str, expected: ArrayLike, value: ArrayLike, tolerance: float, unit: str = '') -> Check:
    """Several figures, each against a printed one, with the same tolerance."""
    printed, found = (np.asarray(figures, dtype=float).ravel() for figures in (expected, value))
    worst = float(np.max(np.abs(found - printed))) if printed.shape == found.shape and printed.size else np.nan
    ending = f' {unit}' if unit else ''
    required = f'{" ".join(f"{figure:.10g}" for figure in printed)}{ending} +- {tolerance:.2g}'
    measured = ' '.join(f'{figure:.10g}' for figure in found) + ending
    return _judged(id, what, required, worst, (-np.inf, tolerance), measured)


def equal(id: str, what: str, expected: object, value: object) -> Check:
    """Whole numbers, names, lists: the same or not."""
    return holds(id, what, _plain(expected), _plain(value), bool(expected == value))


def holds(id: str, what: str, required: str, measured: str, good: bool) -> Check:
    """Any other requirement, with figures as text."""
    return Check(what, required, measured, 'met' if good else 'not met', id)


def refused(id: str, what: str, error: type[Exception], call: Callable[..., object], *arguments: object) -> Check:
    """A call that must end in a certain error, whose text is shown."""
    try:
        call(*arguments)
    except Exception as caught:  # another error is shown, too
        return holds(id, what, error.__name__, f'{type(caught).__name__}: {caught}', isinstance(caught, error))
    return holds(id, what, error.__name__, 'accepted', False)


def not_reachable(id: str, what: str, required: str, reason: str) -> Check:
    """Something that cannot be judged: the reason names what is missing in the world (data, hardware, a program)."""
    return Check(what, required, reason, 'not reachable', id)


def relative_error(value: ArrayLike, reference: ArrayLike) -> float:
    """Largest difference over the reference's largest absolute value."""
    first, second = np.asarray(value, dtype=float), np.asarray(reference, dtype=float)
    return float(np.max(np.abs(first - second)) / np.max(np.abs(second)))


def agree(id: str, what: str, limit: float, value: ArrayLike, reference: ArrayLike) -> Check:
    """Values against a reference by their :func:`relative_error`."""
    return at_most(id, f'{what}, relative', limit, relative_error(value, reference))


def _judged(
    id: str, what: str, required: str, figure: float, limits: tuple[float, float], measured: str, note: str = ''
) -> Check:
    lower, upper = limits
    # no comparison with NaN holds
    status: Status = 'met' if lower <= figure <= upper else 'not met'
    return Check(what, required, f'{measured}; {note}' if note else measured, status, id, '', float(figure), limits)


def _plain(value: object) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return ', '.join(str(entry) for entry in value) or 'none'
    return str(value)


def count_by_status(figures: Iterable[Check]) -> dict[Status, int]:
    """How many figures have each status."""
    result: dict[Status, int] = dict.fromkeys(get_args(Status), 0)
    for figure in figures:
        result[figure.status] += 1
    return result
