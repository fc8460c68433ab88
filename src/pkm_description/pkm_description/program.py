"""Start and end of programs: without a traceback where Ctrl-C comes, or the user can put right what is wrong."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from types import FrameType

#: exit code of a program that SIGINT has ended
INTERRUPTED = 128 + signal.SIGINT


class LazyProgram:
    """The ``main()`` of a module that is imported only when it is called.

    ``start.pkm_estimation.nodes.estimator`` is the program of that module: so an entry point can name it, and finding
    the entry point imports no more than this file.

    Parameters
    ----------
    module : dotted name
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> LazyProgram:
        if name.startswith('__'):
            raise AttributeError(name)
        return LazyProgram(f'{self._module}.{name}' if self._module else name)

    def __call__(self) -> int:
        """Import the module and run its ``main()``; returns the exit code."""
        # a program in the background of a shell script ignores SIGINT: so it stays
        answers = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
        if answers:
            signal.signal(signal.SIGINT, _leave)
        main = importlib.import_module(self._module).main
        if answers:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return int(main() or 0)
        except KeyboardInterrupt:
            return INTERRUPTED


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: nothing has begun yet, and libraries that are half imported cannot be left otherwise."""
    sys.stdout.flush()
    os._exit(INTERRUPTED)


start = LazyProgram('')


def program(main: Callable[[Sequence[str] | None], int | None]) -> Callable[..., int]:
    """Let a ``main()`` that raises PkmError or OSError return 1, with one line that says what is wrong; else 0.

    Where it returns an exit code of its own, that.
    """

    @wraps(main)
    def run(arguments: Sequence[str] | None = None) -> int:
        from pkm_description.errors import PkmError

        try:
            return main(arguments) or 0
        except (PkmError, OSError) as error:
            print(f'error: {error}', file=sys.stderr)
            return 1

    return run
