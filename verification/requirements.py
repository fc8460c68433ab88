"""Lists of requirements, one per paper: what an id in a table means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from pkm_description.bounded_yaml import bounded_file

from verification.check import Check, Status

RequirementStatus = Literal[Status, 'without a check']
REQUIREMENT_STATUSES: tuple[RequirementStatus, ...] = (*get_args(Status), 'without a check')

_FOLDER = Path(__file__).resolve().parent
_REQUIRED_KEYS = {'id', 'sentence', 'required'}
_KEYS = _REQUIRED_KEYS | {'source', 'note'}


@dataclass(frozen=True)
class Requirement:
    """One entry of ``<suite>/requirements.yaml``.

    Attributes
    ----------
    id : as in the lines of the table
    sentence : the requirement
    required : the figure that decides
    source : section or equation of the paper
    note : e.g. where the paper is misprinted, or that it does not print the figure
    """

    id: str
    sentence: str
    required: str
    source: str = ''
    note: str = ''


def requirements_file(suite: str) -> Path:
    """Path of a suite's list; not every suite has one."""
    return _FOLDER / suite / 'requirements.yaml'


@cache
def requirements_of(suite: str) -> tuple[Requirement, ...]:
    """Read a suite's list; empty if it has none.

    Raises
    ------
    ValueError
        If the file is no list of mappings with the keys of :class:`Requirement`, or names an id twice.
    """
    path = requirements_file(suite)
    if not path.exists():
        return ()
    entries = bounded_file(path)
    if not isinstance(entries, list):
        raise ValueError(f'{path}: is a {type(entries).__name__}; a list of requirements is needed')
    result: list[Requirement] = []
    for number, entry in enumerate(entries, start=1):
        if not (isinstance(entry, dict) and entry.keys() >= _REQUIRED_KEYS and entry.keys() <= _KEYS):
            found = ', '.join(map(str, entry)) if isinstance(entry, dict) else repr(entry)
            raise ValueError(f'{path}: entry {number} has {found}; needs id, sentence, required, may have source, note')
        requirement = Requirement(**{key: str(value).strip() for key, value in entry.items()})
        if requirement.id in {other.id for other in result}:
            raise ValueError(f'{path}: {requirement.id} stands there twice')
        result.append(requirement)
    return tuple(result)


def requirement_statuses(
    requirements: Iterable[Requirement], checks: Iterable[Check]
) -> dict[str, RequirementStatus]:
    """Status of each requirement: that of its worst check: not met, accepted, not reachable, met."""
    found: dict[str, set[Status]] = {}
    for check in checks:
        found.setdefault(check.id, set()).add(check.status)
    return {one.id: _status(found.get(one.id, set())) for one in requirements}


def _status(found: set[Status]) -> RequirementStatus:
    worst_first: tuple[Status, ...] = 'not met', 'not met, accepted', 'not reachable', 'met'
    return next((status for status in worst_first if status in found), 'without a check')
