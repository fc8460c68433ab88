"""The table of checks as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from verification.check import Check, count

#: widths of status, id, quantity, required figure; what is longer pushes the rest to the right
_WIDTHS = (13, 10, 76, 24)

#: of continued lines
_LINE = 158


def header() -> str:
    """Headings of the columns."""
    return _row(('status', 'id', 'what', 'required', 'measured'))


def table(checks: Iterable[Check]) -> list[str]:
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


def verdict(checks: Sequence[Check]) -> str:
    """Last line of the program."""
    numbers = count(checks)
    return f'machines: {numbers["met"]} met, {numbers["failed"]} failed, {numbers["not reachable"]} not reachable'


def _row(cells: tuple[str, str, str, str, str]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=False)]
    return ' '.join([*padded, cells[-1]]).rstrip()
