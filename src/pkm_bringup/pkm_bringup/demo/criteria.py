"""Limits of a run, each with its result."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.report.words import JudgedFigure, figure_text, keeps_limit, limit_text, verdict

#: words of the demo's table and of ``verdict.json``
_WORDS = {'met': 'ok', 'failed': 'FAILED', 'not reachable': 'not judged'}

_DIGITS = 3


@dataclass(frozen=True)
class Criterion(JudgedFigure):
    """A judged figure with its numbers, for ``verdict.json``; made by :func:`criterion`.

    Attributes
    ----------
    value : figure in SI units
    limit : what it must not exceed, or must reach
    baseline : the same figure of the conventional estimator, for comparison
    measured_baseline : the same as text
    excuse : why the limit cannot be judged in this run (a shortened one); empty if it can
    """

    value: float
    limit: float
    baseline: float | None
    measured_baseline: str
    excuse: str

    @property
    def verdict(self) -> str:
        """One word for the table."""
        return _WORDS[self.status]


def criterion(
    what: str,
    value: float,
    limit: float,
    unit: str = '',
    scale: float = 1.0,
    at_least: bool = False,
    baseline: float | None = None,
    excuse: str = '',
) -> Criterion:
    """Judge a figure by its limit.

    Parameters
    ----------
    what : what is measured
    value : figure; NaN counts as failed
    limit : what it must not exceed (or reach, if ``at_least``)
    unit, scale : shown as ``value * scale`` followed by ``unit``
    at_least : the figure must be as large as the limit
    baseline : the same figure of the conventional estimator, for comparison
    excuse : why the limit cannot be judged in this run (a shortened one); empty if it can
    """
    return Criterion(
        what=what,
        required=limit_text(limit * scale, unit, at_least, _DIGITS),
        measured=figure_text(value * scale, unit, _DIGITS),
        status='not reachable' if excuse else verdict(keeps_limit(value, limit, at_least)),
        value=value,
        limit=limit,
        baseline=baseline,
        measured_baseline='' if baseline is None else figure_text(baseline * scale, unit, _DIGITS),
        excuse=excuse,
    )
