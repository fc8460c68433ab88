"""One line of a verification table, and helpers that judge a measured figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from pkm_description.report.words import JudgedFigure, Status, figure_text, keeps_limit, limit_text, verdict


@dataclass(frozen=True)
class Check(JudgedFigure):
    """A required and a measured figure of a machine or an estimator.

    Attributes
    ----------
    what, required, measured, status : of the judged figure
    id : of the requirement in the list of its suite, e.g. ``T3`` (Oh), ``R4-11`` (Heimann and Abdellatif), ``S3-02``
        (Miletovic); a plain word in suites without a list
    machine : name of the machine; filled in where the checks are run
    """

    id: str = ''
    machine: str = ''


def at_most(id: str, what: str, limit: float, value: ArrayLike, unit: str = '') -> Check:
    """Largest absolute value against a limit; NaN fails, and so does an empty array."""
    values = np.abs(np.asarray(value, dtype=float)).ravel()
    # np.max passes NaN on, and NaN keeps no limit
    worst = float(np.max(values)) if values.size else np.nan
    return Check(what, limit_text(limit, unit), figure_text(worst, unit), verdict(keeps_limit(worst, limit)), id)


def at_least(id: str, what: str, limit: float, value: ArrayLike, unit: str = '') -> Check:
    """Smallest value against a limit; NaN fails, and so does an empty array."""
    values = np.asarray(value, dtype=float).ravel()
    least = float(np.min(values)) if values.size else np.nan
    good = keeps_limit(least, limit, at_least=True)
    return Check(what, limit_text(limit, unit, at_least=True), figure_text(least, unit), verdict(good), id)


def within(id: str, what: str, lower: float, upper: float, value: float, unit: str = '') -> Check:
    """One figure between two limits, both included."""
    required = f'{figure_text(lower)} .. {figure_text(upper, unit)}'
    return Check(what, required, figure_text(value, unit), verdict(lower <= value <= upper), id)


def near(id: str, what: str, expected: float, value: float, tolerance: float, unit: str = '') -> Check:
    """One figure against a printed one with the tolerance of its last digit."""
    required = f'{expected:.8g} +- {figure_text(tolerance, unit)}'
    return Check(what, required, figure_text(value, unit, 8), verdict(abs(value - expected) <= tolerance), id)


def near_each(id: str, what: str, expected: ArrayLike, value: ArrayLike, tolerance: float, unit: str = '') -> Check:
    """Several figures, each against a printed one, with the same tolerance."""
    printed, found = (np.asarray(figures, dtype=float).ravel() for figures in (expected, value))
    good = printed.shape == found.shape and bool(np.all(np.abs(found - printed) <= tolerance))
    ending = f' {unit}' if unit else ''
    required = f'{" ".join(f"{figure:.10g}" for figure in printed)}{ending} +- {tolerance:.2g}'
    return Check(what, required, ' '.join(f'{figure:.10g}' for figure in found) + ending, verdict(good), id)


def equal(id: str, what: str, expected: object, value: object) -> Check:
    """Whole numbers, names, lists: the same or not."""
    return Check(what, _plain(expected), _plain(value), verdict(bool(expected == value)), id)


def holds(id: str, what: str, required: str, measured: str, good: bool) -> Check:
    """Any other requirement, with figures as text."""
    return Check(what, required, measured, verdict(bool(good)), id)


def refused(id: str, what: str, error: type[Exception], caught: Exception | None) -> Check:
    """An input that must be refused with a certain error, whose text is shown."""
    measured = 'accepted' if caught is None else f'{type(caught).__name__}: {caught}'
    return Check(what, error.__name__, measured, verdict(isinstance(caught, error)), id)


def not_reachable(id: str, what: str, required: str, reason: str) -> Check:
    """Something that cannot be judged here, and why; a figure that falls short is :func:`short_of`."""
    return Check(what, required, reason, 'not reachable', id)


def short_of(id: str, what: str, required: str, measured: str, reached: bool, as_known: bool, reason: str) -> Check:
    """Require a figure that is not reached for a known reason: it fails only where it is worse than is known.

    Parameters
    ----------
    required, measured : figures as text, the requirement's own
    reached : whether the requirement holds after all
    as_known : whether the figure is no worse than the reason explains
    reason : why it is not reached
    """
    if reached:
        return Check(what, required, measured, 'met', id)
    text = f'{measured}: not reached, {reason}'
    return Check(what, required, text, 'not reachable' if as_known else 'failed', id)


def relative_error(value: ArrayLike, reference: ArrayLike) -> float:
    """Largest difference over the reference's largest absolute value."""
    first, second = np.asarray(value, dtype=float), np.asarray(reference, dtype=float)
    return float(np.max(np.abs(first - second)) / np.max(np.abs(second)))


def _plain(value: object) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return ', '.join(str(entry) for entry in value) or 'none'
    return str(value)


def count_by_status(figures: Iterable[Check]) -> dict[Status, int]:
    """How many figures have each status."""
    result: dict[Status, int] = {'met': 0, 'failed': 0, 'not reachable': 0}
    for figure in figures:
        result[figure.status] += 1
    return result
