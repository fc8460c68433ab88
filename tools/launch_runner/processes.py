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
# loaded here: between fork and exec as little as possible
_LIBC = ctypes.CDLL(None)


def _die_with_parent() -> None:
    """Have the kernel send SIGTERM should the runner be killed without a chance to clean up (Linux only)."""
    if sys.platform == 'linux':
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


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
        self._held_back: list[str] = []
        # set once the process id may belong to somebody else
        self._reaped = threading.Event()
        self._lock = threading.Lock()
        self._ended = threading.Event()
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
        say(f'[launch] {label}: process started with pid [{self.pid}]')  # before anything that it says itself
        self._printer = threading.Thread(target=self._print_output, daemon=True)
        self._printer.start()
        threading.Thread(target=self._wait, daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return not self._ended.is_set()

    @property
    def returncode(self) -> int:
        """Exit code; negative: ended by that signal."""
        self._ended.wait()
        return int(self._popen.returncode)

    @property
    def pid(self) -> int:
        """Process id, also of the group."""
        return self._popen.pid

    def interrupt(self) -> None:
        """Ask it to end (SIGINT to the process itself, as launch does)."""
        self._interrupted = True
        with self._lock:
            if not self._reaped.is_set():
                os.kill(self.pid, signal.SIGINT)

    def signal_group(self, number: int) -> None:
        """Send a signal to the process and all that it has started."""
        with self._lock:
            if not self._reaped.is_set():
                os.killpg(self.pid, number)

    def _wait(self) -> None:
        # as long as it is not reaped, no other process or group can get its number
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            # what it started and left behind goes with it, and no longer holds its output open
            os.killpg(self.pid, signal.SIGKILL)
            self._popen.wait()
            self._reaped.set()
        # a descendant in a session of its own may still hold it open: that is not waited for
        self._printer.join(timeout=2.0)
        # a program that is interrupted while it still imports modules ends by the signal, with a traceback that
        # says nothing else; whoever handles the signal has its last words printed
        if self._popen.returncode != -signal.SIGINT:
            for line in self._held_back:
                say(line)
        self._ended.set()
        self._on_exit(self)

    def _print_output(self) -> None:
        assert self._popen.stdout is not None
        for raw in self._popen.stdout:
            line = f'[{self.label}] {raw.decode(errors="replace").rstrip()}'
            if self._interrupted:
                self._held_back.append(line)
            else:
                say(line)


_PRINT_LOCK = threading.Lock()


def say(text: str) -> None:
    """Print a line at once; a reader that has gone away does not matter."""
    with _PRINT_LOCK:
        try:
            sys.stdout.write(text + '\n')
            sys.stdout.flush()
        except BrokenPipeError:
            pass
