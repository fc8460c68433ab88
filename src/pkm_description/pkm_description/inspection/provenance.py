"""Counts of the provenance entries of a machine file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

#: kinds of origin in the order in which they are listed
ORIGINS = ('printed', 'derived', 'assumed', 'overlay', 'other', 'not stated')

#: keys whose content is no number of the machine
_NOT_COUNTED = ('schema', 'provenance')


def count_origins(content: Mapping[str, Any], provenance: Mapping[str, str]) -> dict[str, int]:
    """How many numbers of a machine file have which origin.

    Parameters
    ----------
    content : machine file as read
    provenance : dotted key -> ``printed: ...`` / ``derived: ...`` / ``assumed: ...``; the longest key that holds a
        number's key wins

    Returns
    -------
    dict
        Origins that occur, in the order of :data:`ORIGINS`.
    """
    counted: Counter[str] = Counter()
    for key in _number_keys(content, ''):
        counted[_origin(key, provenance)] += 1
    return {origin: counted[origin] for origin in ORIGINS if counted[origin]}


def _number_keys(content: object, place: str) -> Iterator[str]:
    """Dotted key of every number; of numbers in lists the key of the list."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            if place or key not in _NOT_COUNTED:
                yield from _number_keys(value, f'{place}.{key}' if place else str(key))
    elif isinstance(content, list):
        for value in content:
            yield from _number_keys(value, place)
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield place


def _origin(key: str, provenance: Mapping[str, str]) -> str:
    parts = key.split('.')
    for length in range(len(parts), 0, -1):
        text = provenance.get('.'.join(parts[:length]))
        if text is not None:
            word = text.split(':')[0].strip().lower()
            return word if word in ORIGINS else 'other'
    return 'not stated'
