"""Output of the demo to terminal and log file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


class Journal:
    """Prints lines at once and appends them to a file.

    Parameters
    ----------
    path : log file, its directory is made; None prints only
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)

    def say(self, text: str = '') -> None:
        """Print and log; a terminal that went away does not stop the run."""
        if self._path is not None:
            with self._path.open('a', encoding='utf-8') as file:
                file.write(text + '\n')
        with suppress(OSError):
            print(text, flush=True)
