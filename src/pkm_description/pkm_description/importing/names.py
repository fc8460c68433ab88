"""Names of a file as names that machine files take."""

from __future__ import annotations

import re
from collections.abc import Iterable


def plain(name: str) -> str:
    """Letters, digits and underscores of a name, a letter first."""
    text = re.sub(r'[^A-Za-z0-9]+', '_', name).strip('_') or 'part'
    return text if text[0].isalpha() else f'n{text}'


def plain_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Plain names of all, no two alike, and none of ``taken``."""
    found: dict[str, str] = {}
    used = set(taken)
    for name in names:
        text, number = plain(name), 2
        while text in used:
            text, number = f'{plain(name)}_{number}', number + 1
        used.add(text)
        found[name] = text
    return found
