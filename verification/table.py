"""The table of checks as text."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from verification.check import Check, Status, count_by_status
from verification.requirements import REQUIREMENT_STATUSES, RequirementStatus, requirement_statuses
from verification.run import Run

#: widths of status, id, quantity, required figure; what is longer pushes the rest to the right
_WIDTHS = (17, 10, 76, 24)

#: of continued lines
_LINE = 158


def header() -> str:
    """Headings of the columns."""
    return _row(('status', 'id', 'what', 'required', 'measured'))


def suite_lines(run: Run) -> list[str]:
    """All lines of a suite but its last one, with a blank line before each heading."""
    lines = ['', f'=== {run.suite.name}: {run.suite.title} ===']
    for heading, checks in sections(run):
        lines += ['', *textwrap.wrap(heading, _LINE), *check_lines(checks)]
    if not run.is_complete:
        left = [part.title for part, done in zip(run.plan.parts, run.results, strict=True) if done is None]
        return [*lines, '', f'interrupted before: {", ".join(left)}']
    remarks = run.plan.remarks()
    lines += ['', *remarks] if remarks else []
    failed = [check for check in run.checks if check.failed]
    if failed:
        lines += ['', 'not met:', *(f'  {_where(check)}{check.id}: {check.what}' for check in failed)]
    return [*lines, '', *requirement_lines(run)]


def sections(run: Run) -> Iterator[tuple[str, list[Check]]]:
    """Headings with their checks: the requirements of the suite's list, or else its parts."""
    requirements = run.suite.requirements
    if not requirements:
        for part, checks in run.checks_by_part:
            yield part.title, checks
        return
    several = len({check.machine for check in run.checks}) > 1
    statuses = requirement_statuses(requirements, run.checks)
    for requirement in requirements:
        own = [check for check in run.checks if check.id == requirement.id]
        if own:
            heading = f'{requirement.id} ({statuses[requirement.id]}): {requirement.sentence}'
            yield heading, [_with_machine(check) for check in own] if several else own
    rest = [check for check in run.checks if check.id not in statuses]
    if rest:
        yield 'without a requirement', [_with_machine(check) for check in rest]


def check_lines(checks: Iterable[Check]) -> list[str]:
    """One line per check; figures, reasons and errors that are long go on below."""
    lines = []
    for check in checks:
        row = _row((check.status, check.id, check.what, check.required, check.measured))
        if len(row) <= _LINE:
            lines.append(row)
            continue
        lines.append(_row((check.status, check.id, check.what, '', '')))
        for name, text in (('required', check.required), ('measured', check.measured)):
            lead = f'{"":{_WIDTHS[0] + _WIDTHS[1] + 1}} {name}  '
            lines += textwrap.wrap(text, _LINE, initial_indent=lead, subsequent_indent=' ' * len(lead))
    return lines


def requirement_lines(run: Run) -> list[str]:
    """How many requirements of the suite's list have which status, and which of them have no check."""
    requirements = run.suite.requirements
    if not requirements:
        return []
    statuses = requirement_statuses(requirements, run.checks)
    unchecked = [id for id, status in statuses.items() if status == 'without a check']
    lines = [f'without a check: {", ".join(unchecked)}'] if unchecked else []
    count = Counter(statuses.values())
    return [*lines, f'requirements of {run.suite.name}: {_counted({one: count[one] for one in REQUIREMENT_STATUSES})}']


def last_line(run: Run) -> str:
    """Count the lines of a suite."""
    return f'{run.suite.name}: {_counted(count_by_status(run.checks))}'


def _counted(numbers: Mapping[RequirementStatus, int] | Mapping[Status, int]) -> str:
    return ', '.join(f'{number} {status.removeprefix("not met, ")}' for status, number in numbers.items())


def _with_machine(check: Check) -> Check:
    return replace(check, what=f'{_where(check)}{check.what}')


def _where(check: Check) -> str:
    return f'{check.machine}: ' if check.machine else ''


def _row(cells: tuple[str, str, str, str, str]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=False)]
    return ' '.join([*padded, cells[-1]]).rstrip()
