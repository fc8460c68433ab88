"""Docstrings of the suite for napoleon: ``name : text`` is name and description, the type is in the annotation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from sphinx.application import Sphinx

#: sections whose entries are ``name : description``
SECTIONS = ('Parameters', 'Other Parameters', 'Attributes')
_ENTRY = re.compile(r'(?P<indent> *)(?P<names>[*\w]+(?:, [*\w]+)*) : (?P<text>.*)')
_UNDERLINE = re.compile(r'-{3,}\s*')


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect before napoleon, whose priority is 500."""
    app.connect('autodoc-process-docstring', _process, priority=400)
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}


def _process(app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = rewritten(lines)


def rewritten(lines: Iterable[str]) -> Iterator[str]:
    """Lines of a docstring with the descriptions of its entries below their names."""
    rows, section = [_without_substitutions(line) for line in lines], ''
    for row, following in zip(rows, [*rows[1:], ''], strict=True):
        if _UNDERLINE.fullmatch(following.strip()) and row.strip():
            section = row.strip()
        match = _ENTRY.fullmatch(row) if section in SECTIONS else None
        if match:
            yield f'{match["indent"]}{match["names"]}'
            yield f'{match["indent"]}    {match["text"]}'
        else:
            yield row


def _without_substitutions(line: str) -> str:
    """Line in which ``|x|`` is a magnitude, not a substitution of reStructuredText; literals stay as they are."""
    parts = line.split('``')
    return '``'.join(part if index % 2 else part.replace('|', '\\|') for index, part in enumerate(parts))
