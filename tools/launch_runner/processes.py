"""Child processes that never outlive the runner."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """Have the kernel send SIGTERM should the runner be killed without a chance to clean up (Linux only)."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    except (OSError, AttributeError):
        pass


class Process:
    """A running child in a process group of its own; its output appears line by line with its label.

    Parameters
    ----------
    label : e.g. ``simulator-1``
    command : words
    environment : all of it
    cwd : working directory, None for the present one
    on_exit : called from another thread when it has ended

    Raises
    ------
    OSError
        The program cannot be started.
    """

    def __init__(
        self,
        label: str,
        command: list[str],
        environment: dict[str, str],
        cwd: str | None,
        on_exit: Callable[[Process], None],
    ) -> None:
        self.label = label
        self._interrupted = False
        self._popen = subprocess.Popen(
            command,
            env=environment,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
        self._on_exit = on_exit
        threading.Thread(target=self._print_output, daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._popen.poll() is None

    @property
    def returncode(self) -> int:
        """Exit code; negative: ended by that signal."""
        return int(self._popen.wait())

    @property
    def pid(self) -> int:
        """Process id, also of the group."""
        return self._popen.pid

    def interrupt(self) -> None:
        """Ask it to end (SIGINT to the process itself, as launch does)."""
        if self.running:
            self._interrupted = True
            self._popen.send_signal(signal.SIGINT)

    def signal_group(self, number: int) -> None:
        """Send a signal to the process and all that it has started."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass

    def _print_output(self) -> None:
        assert self._popen.stdout is not None
        held_back = []
        for raw in self._popen.stdout:
            line = f'[{self.label}] {raw.decode(errors="replace").rstrip()}'
            if self._interrupted:
                held_back.append(line)
            else:
                say(line)
        # a program that is interrupted while it still imports modules ends by the signal, with a traceback that
        # says nothing else; whoever handles the signal has its last words printed
        if self._popen.wait() != -signal.SIGINT:
            for line in held_back:
                say(line)
        # whatever it started and left behind goes with it
        self.signal_group(signal.SIGKILL)
        self._on_exit(self)


_PRINT_LOCK = threading.Lock()


def say(text: str) -> None:
    """Print a line at once; a reader that has gone away does not matter."""
    with _PRINT_LOCK:
        try:
            sys.stdout.write(text + '\n')
            sys.stdout.flush()
        except BrokenPipeError:
            pass
