"""Runs the parts of suites, in several processes, and gives their checks back in the order of the catalogue."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, TextIO

from verification.check import Check
from verification.suite import Part, Plan, Request, Suite, failed_part, run_part

#: called with the number of parts done and the titles of those that are running
Show = Callable[[int, Sequence[str]], None]

#: s between looks: a signal that comes just before a wait without end would not be seen
_PATIENCE = 0.5

#: s for a process to end after it was asked to
_GRACE = 5.0


class Processes:
    """Processes that start when they are needed; with one job everything runs in this process.

    Parameters
    ----------
    jobs : how many parts or runs may go on at once
    """

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._pool is None:
            return
        if kind is not None:
            _end(multiprocessing.active_children())  # what is running may take minutes
        self._pool.shutdown(cancel_futures=True)

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Apply a function of a module to items, and yield the results in their order."""
        known = list(items)
        if self.jobs == 1 or len(known) < 2:
            return map(function, known)
        with _interrupts_held():
            futures = [self._submit(function, item) for item in known]
        return (_result(future) for future in futures)

    def submit(self, part: Part) -> Future[list[Check]]:
        """Start a part in one of the processes."""
        with _interrupts_held():
            return self._submit(run_part, part)

    def _submit(self, function: Callable[[Any], Any], item: Any) -> Future[Any]:
        if self._pool is not None:
            try:
                return self._pool.submit(function, item)
            except BrokenExecutor:  # one of the processes died; a new pool goes on with the rest
                self._pool.shutdown()
        # 'spawn': threads of the libraries do not survive a fork
        self._pool = ProcessPoolExecutor(self.jobs, mp_context=multiprocessing.get_context('spawn'))
        return self._pool.submit(function, item)


def _result(future: Future[Any]) -> Any:
    while not future.done():
        wait([future], _PATIENCE)
    return future.result()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back: processes that start meanwhile never see it, although it reaches all of a terminal.

    This process, which ends the others, gets it afterwards.
    """
    # starting it lets Ctrl-C through again (before Python 3.13), for all that starts after it
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(processes: Sequence[BaseProcess]) -> None:
    """Ask processes to end; kill those that do not."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(_GRACE)
        if process.is_alive():
            process.kill()


@dataclass
class Run:
    """A suite with what has been measured.

    Attributes
    ----------
    suite, request, plan : what is run
    results : checks of each part of the plan; None until it is done
    """

    suite: Suite
    request: Request
    plan: Plan
    results: list[list[Check] | None] = field(init=False)

    def __post_init__(self) -> None:
        parts = tuple(replace(part, quick=self.request.quick) for part in self.plan.parts)
        self.plan = replace(self.plan, parts=parts)
        self.results = [None] * len(parts)

    @property
    def is_complete(self) -> bool:
        """Whether all parts are done."""
        return None not in self.results

    @property
    def checks(self) -> list[Check]:
        """Checks of all parts that are done."""
        return [check for result in self.results if result is not None for check in result]

    @property
    def checks_by_part(self) -> list[tuple[Part, list[Check]]]:
        """Parts that are done, each with its checks."""
        return [(part, done) for part, done in zip(self.plan.parts, self.results, strict=True) if done is not None]


def run_all(runs: Sequence[Run], workers: Processes, show: Show) -> Iterator[Run]:
    """Run everything; yield each run as soon as it and those before it are complete.

    Parts go to the processes in the order of the runs. Runs whose parts share results wait for all others before them;
    their parts run here, one after the other, and spread their work over the same processes.
    """
    waiting = list(runs)
    done = 0
    while waiting:
        alone = waiting[0].plan.together or workers.jobs == 1
        batch = [waiting.pop(0)]
        while not alone and waiting and not waiting[0].plan.together:
            batch.append(waiting.pop(0))
        for run in _run_here(batch[0], done, show) if alone else _run_spread(batch, done, workers, show):
            done += len(run.plan.parts)
            yield run


def _run_here(run: Run, done: int, show: Show) -> Iterator[Run]:
    for index, part in enumerate(run.plan.parts):
        show(done + index, [_title(run, part)])
        run.results[index] = run_part(part)
    yield run


def _run_spread(batch: list[Run], done: int, workers: Processes, show: Show) -> Iterator[Run]:
    todo = [(run, index) for run in batch for index in range(len(run.plan.parts))][::-1]
    going: dict[Future[list[Check]], tuple[Run, int]] = {}
    lost: list[tuple[Run, int]] = []
    unfinished = list(batch)
    while True:
        # A process that dies takes those beside it along. What was lost runs once more at the end, one part at a time:
        # only a part that dies alone has failed.
        alone = bool(lost) and not todo and not going
        if alone:
            todo.append(lost.pop(0))
        # only as many as can run: the others are not said to be running
        while todo and len(going) < workers.jobs:
            run, index = todo.pop()
            going[workers.submit(run.plan.parts[index])] = run, index
            show(done, [_title(run, run.plan.parts[index]) for run, index in going.values()])
        while unfinished and unfinished[0].is_complete:
            yield unfinished.pop(0)
        if not going:
            return
        finished, _ = wait(going, _PATIENCE, FIRST_COMPLETED)
        for future in finished:
            run, index = going.pop(future)
            if isinstance(future.exception(), BrokenExecutor) and not alone:
                lost.append((run, index))
                continue
            run.results[index] = _checks_of(run.plan.parts[index], future)
            done += 1


def _checks_of(part: Part, future: Future[list[Check]]) -> list[Check]:
    """Checks of a part that is done; one failed check if its process died, e.g. for want of memory."""
    try:
        return future.result()
    except Exception as error:  # whatever it is, the table says so and goes on
        text = ' '.join(f'{type(error).__name__}: {error}'.split())
        return [failed_part(part, text)]


def _title(run: Run, part: Part) -> str:
    return f'{run.suite.name}: {part.title}'


class Progress:
    """What runs, how much is done, for how long: one line that is rewritten on a terminal, a line per step elsewhere.

    Parameters
    ----------
    total : number of parts
    stream : where it is written; default stderr, so that the table on stdout can go into a file
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
