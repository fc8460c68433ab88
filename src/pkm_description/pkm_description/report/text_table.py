"""Plain text tables for terminal and log files."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = '  ', numbers: bool = True
) -> str:
    """Align columns: the first to the left, the others to the right, or to the left if they hold words.

    Parameters
    ----------
    header : one text per column
    rows : of the same length
    indent : before each line
    numbers : whether the columns behind the first hold numbers
    """
    table = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = []
    for row in table:
        cells = [
            cell.rjust(width) if i and numbers else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + '  '.join(cells)).rstrip())
    lines.insert(1, indent + '  '.join('-' * width for width in widths))
    return '\n'.join(lines)
