"""Progress on stderr: what runs, how much is done, for how long. The table on stdout can go into a file."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import TextIO


class Progress:
    """One line that is rewritten on a terminal, and a line per step elsewhere.

    Parameters
    ----------
    total : number of parts
    stream : where it is written
    """

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total, self._stream = total, sys.stderr if stream is None else stream
        self._began = time.monotonic()
        self._is_terminal = self._stream.isatty()

    @property
    def seconds(self) -> float:
        """Time since the beginning [s]."""
        return time.monotonic() - self._began

    def show(self, done: int, running: Sequence[str]) -> None:
        """Say what is running after ``done`` parts."""
        line = f'{self.seconds:5.0f} s  {done} of {self._total} done  {", ".join(running)}'
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f'\r\x1b[K{line[:width]}')
        else:
            self._stream.write(f'{line}\n')
        self._stream.flush()

    def clear(self) -> None:
        """Clear the line before something else is printed."""
        if self._is_terminal:
            self._stream.write('\r\x1b[K')
            self._stream.flush()
