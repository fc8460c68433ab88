"""Plain tables for terminal and log file."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = '  ') -> str:
    """Align columns: the first to the left, the others to the right."""
    table = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = []
    for row in table:
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + '  '.join(cells)).rstrip())
    lines.insert(1, indent + '  '.join('-' * width for width in widths))
    return '\n'.join(lines)
