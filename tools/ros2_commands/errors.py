"""What the user is told in one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CommandError(Exception):
    """A command that cannot be carried out; the message is for the user."""


def unknown(kind: str, name: str, known: Iterable[str]) -> CommandError:
    """Error that names what was probably meant, or what there is."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return CommandError(f"Unknown {kind} '{name}'; did you mean {' or '.join(close)}?")
    listed = ', '.join(known) or 'none'
    return CommandError(f"Unknown {kind} '{name}'; there are: {listed}")
