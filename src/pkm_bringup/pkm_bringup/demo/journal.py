"""Output of the demo to terminal and log file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pkm_description.writing import make_folder, unwritable


class Journal:
    """Prints lines at once and appends them to a file.

    Parameters
    ----------
    path : log file, its directory is made; None prints only
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        if path is not None:
            make_folder(path.parent)

    def say(self, text: str = '') -> None:
        """Print and log; a terminal that went away, or a full disk, does not stop the run."""
        if self._path is not None:
            try:
                with self._path.open('a', encoding='utf-8') as file:
                    file.write(text + '\n')
            except OSError as error:  # the run is worth more than its log
                text = f'{text}\nno log from here on: {unwritable(self._path, error)}'
                self._path = None
        with suppress(OSError):
            print(text, flush=True)
