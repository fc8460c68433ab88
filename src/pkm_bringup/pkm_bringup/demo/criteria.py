"""Limits that a run must keep, each with its verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Criterion:
    """A figure and its limit.

    Attributes
    ----------
    name : what is measured
    value : figure; NaN counts as failed
    limit : what it must not exceed (or reach, if ``at_least``)
    unit, scale : shown as ``value * scale`` followed by ``unit``
    at_least : the figure must be as large as the limit
    baseline : the same figure of the conventional estimator, for comparison
    excuse : why the limit cannot be judged in this run (a shortened one); empty if it can
    """

    name: str
    value: float
    limit: float
    unit: str = ''
    scale: float = 1.0
    at_least: bool = False
    baseline: float | None = None
    excuse: str = ''

    @property
    def holds(self) -> bool:
        """Whether the limit is kept."""
        if math.isnan(self.value):
            return False
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def failed(self) -> bool:
        """Whether the limit applies and is broken."""
        return not self.excuse and not self.holds

    @property
    def verdict(self) -> str:
        """One word for the table."""
        return 'not judged' if self.excuse else 'ok' if self.holds else 'FAILED'

    def shown(self, number: float | None) -> str:
        """Format a figure in the criterion's unit."""
        return '' if number is None else f'{number * self.scale:.3g} {self.unit}'.rstrip()

    @property
    def shown_limit(self) -> str:
        """Limit with its direction."""
        return f'{">=" if self.at_least else "<="} {self.shown(self.limit)}'
