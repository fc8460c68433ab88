"""Which function measures which requirements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pkm_description.verification.check import Check

from pkm_estimation.reproduction import geometry
from pkm_estimation.reproduction.laboratory import Laboratory
from pkm_estimation.reproduction.requirements import REQUIREMENTS


@dataclass(frozen=True)
class RowGroup:
    """Requirements that one function measures.

    Attributes
    ----------
    ids : of the requirements; each gets at least one check
    checks : yields checks
    """

    ids: tuple[str, ...]
    checks: Callable[[Laboratory], Iterator[Check]]


def _rows(first: int, last: int) -> tuple[str, ...]:
    return tuple(f'S3-{number:02d}' for number in range(first, last + 1))


CATALOGUE: tuple[RowGroup, ...] = (
    RowGroup(_rows(1, 9), geometry.geometry),
    RowGroup(_rows(8, 8), geometry.never_above),
    RowGroup(_rows(10, 10), geometry.differentiator),
    RowGroup(_rows(11, 11), geometry.jacobian_velocity),
    RowGroup(_rows(12, 12), geometry.error_tables),
)


def run_group(group: RowGroup, lab: Laboratory) -> list[Check]:
    """Checks of a group; an error in it, and a requirement without a check, are failed checks."""
    done: list[Check] = []
    try:
        done.extend(group.checks(lab))
    except Exception as error:  # whatever it is, the table says so and goes on
        text = ' '.join(f'{type(error).__name__}: {error}'.split())
        seen = {check.id for check in done}
        done += [
            Check(id, 'the measurement runs to its end', 'no error', text, 'failed')
            for id in group.ids
            if id not in seen or id == group.ids[-1]
        ]
    seen = {check.id for check in done}
    return done + [Check(id, REQUIREMENTS[id], 'a check', 'none', 'failed') for id in group.ids if id not in seen]
