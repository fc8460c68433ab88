"""Replace the line ``<!-- generated: NAME -->`` of a page by what NAME generates from the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

GENERATORS: dict[str, Callable[[], str]] = {}
_PLACE = re.compile(r'^<!-- generated: (?P<name>[\w-]+) -->$', re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the reading of pages."""
    app.connect('source-read', _fill)
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = _PLACE.sub(lambda match: _generated(page, match['name']), source[0])


def _generated(page: str, name: str) -> str:
    if name not in GENERATORS:
        raise ExtensionError(f'{page}: nothing generates {name!r}; there are {", ".join(GENERATORS)}')
    return GENERATORS[name]()
