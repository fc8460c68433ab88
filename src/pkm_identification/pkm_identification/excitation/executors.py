"""Where the starts run: in this process, in several processes, in any executor, or in a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from pkm_description.errors import ConfigurationError

#: libraries of linear algebra start threads of their own; one per process is enough
_ONE_THREAD = dict.fromkeys(('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'), '1')


class SerialExecutor(Executor):
    """Runs a task at once, in this process: for a debugger, and where a process would take longer to start."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run at once; the future is finished."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def process_executor(workers: int) -> Iterator[Executor]:
    """Executor of so many new processes with one thread of linear algebra each.

    More threads would round otherwise, and so could not give the same result with any number of workers.
    """
    if workers < 1:
        raise ConfigurationError(f'workers = {workers}: at least 1 is needed')
    before = dict(os.environ)
    os.environ.update(_ONE_THREAD)
    try:
        pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context('spawn'))
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    finally:
        for name in _ONE_THREAD:
            os.environ.pop(name)
        os.environ.update({name: before[name] for name in _ONE_THREAD if name in before})


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Executor of the Dask cluster whose scheduler has this address, such as ``tcp://host:8786``.

    Raises
    ------
    ConfigurationError
        Dask is not installed, or nothing answers at the address.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ConfigurationError(
            f'a Dask cluster ({address}) needs the package distributed, which is not installed here: '
            'pip install distributed, or leave the address out to use the processors of this machine'
        ) from error
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f'no Dask scheduler answers at {address}: {error}') from error
    try:
        yield client.get_executor()
    finally:
        client.close()


def finished(
    executor: Executor, task: Callable[..., Any], tasks: Mapping[int, tuple[Any, ...]]
) -> Iterator[tuple[int, Any]]:
    """Results of ``task(*arguments)`` with their keys, as they come; an error of a task is raised here."""
    futures = {executor.submit(task, *arguments): key for key, arguments in tasks.items()}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()
