"""Suites of checks and the parts that they are run in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from verification.accepted import with_acceptance
from verification.check import Check, equal, holds
from verification.requirements import Requirement, requirements_of


class Workers(Protocol):
    """Applies a function to items in several processes, in their order."""

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield the results."""


@dataclass(frozen=True)
class Figure:
    """A figure of the report: name of its file, caption, and how it is drawn (a matplotlib figure)."""

    name: str
    caption: str
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Part:
    """Checks that run one after the other in one process.

    Attributes
    ----------
    title : says what is being run
    checks : yields the checks; a function of a module with its arguments (``functools.partial``), so that it can be
        sent to another process
    machine : name of the machine that is judged; empty if there is none, or several
    ids : requirements that must get a check each
    quick : whether it is part of a quick run
    """

    title: str
    checks: Callable[[], Iterable[Check]]
    machine: str = ''
    ids: tuple[str, ...] = ()
    quick: bool = False


@dataclass(frozen=True)
class Plan:
    """What a suite runs.

    Attributes
    ----------
    parts : in the order of the table
    together : the parts share results, so that they run in one process, one after the other
    remarks : lines for the end of the table, after all parts have run
    figures : drawn after all parts have run, if a report is written
    """

    parts: tuple[Part, ...]
    together: bool = False
    remarks: Callable[[], list[str]] = list
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Request:
    """Machines, extent and settings of a run.

    Attributes
    ----------
    machines : names or files in place of the suite's own machines; empty: its own
    quick : fewer samples, seeds and steps, the same limits
    settings : of the suite, an object of the type of its defaults
    """

    machines: tuple[str, ...] = ()
    quick: bool = False
    settings: Any = None


@dataclass(frozen=True)
class Suite:
    """Checks with one source.

    Attributes
    ----------
    name : also of its folder
    title : in words
    plan : parts for a request; what parts share is run by the workers
    machines : that it is about; empty: any machine
    takes_files : whether a file of one of these machines can be judged in place of the suite's own
    settings, quick_settings : data classes with defaults for ``--set``, if the suite has any
    """

    name: str
    title: str
    plan: Callable[[Request, Workers], Plan]
    machines: tuple[str, ...] = ()
    takes_files: bool = False
    settings: Any = None
    quick_settings: Any = None

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """List that the ids of the checks belong to; empty if there is none."""
        return requirements_of(self.name)


def run_part(part: Part) -> list[Check]:
    """Run a part; an error in it, no check at all, and a requirement without a check are failed checks."""
    done: list[Check] = []
    try:
        done.extend(part.checks())
    except Exception as error:  # whatever it is, the table says so and goes on
        text = ' '.join(f'{type(error).__name__}: {error}'.split())
        # the last requirement cannot be complete, nor any that has no check yet
        seen = {check.id for check in done}
        broken = [id for id in part.ids if id not in seen or id == part.ids[-1]] or ['error']
        done += [failed_part(part, text, id) for id in broken]
    seen = {check.id for check in done}
    done += [holds(id, f'"{part.title}" checks it', 'a check', 'none', False) for id in part.ids if id not in seen]
    if not done:
        done.append(equal('empty', f'"{part.title}" checks something', True, False))
    return with_acceptance((replace(check, machine=part.machine) for check in done), part.quick)


def failed_part(part: Part, error: str, id: str = 'error') -> Check:
    """Check of a part that did not run to its end."""
    return Check(f'"{part.title}" runs to its end', 'no error', error, 'not met', id, part.machine)
