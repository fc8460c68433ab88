"""A measured value with its requirement and verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

#: ``'not reachable'`` is for what cannot be judged here, for a reason that is given
Status = Literal['met', 'failed', 'not reachable']


@dataclass(frozen=True)
class JudgedFigure:
    """What was asked, and what came out.

    Attributes
    ----------
    what : the judged quantity in a few words
    required, measured : figures as text, with units
    status : the verdict
    """

    what: str
    required: str
    measured: str
    status: Status

    @property
    def failed(self) -> bool:
        """Whether the requirement applies and is broken."""
        return self.status == 'failed'


def verdict(good: bool) -> Status:
    """Status of a requirement that could be judged."""
    return 'met' if good else 'failed'


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


def count_by_status(figures: Iterable[JudgedFigure]) -> dict[Status, int]:
    """How many figures have each status."""
    result: dict[Status, int] = {'met': 0, 'failed': 0, 'not reachable': 0}
    for figure in figures:
        result[figure.status] += 1
    return result
