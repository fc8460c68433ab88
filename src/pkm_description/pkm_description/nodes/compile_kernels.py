"""Command: compile all kernels of the installed packages, so that no node and no program has to wait for that."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from multiprocessing import get_context

from pkm_description.errors import PkmError
from pkm_description.program import program

#: entry points of packages that have kernels: functions that give calls which reach all of them
GROUP = 'pkm.first_calls'
#: processes at most: calls share many kernels, for which they wait
MOST_PROCESSES = 2

#: of a package: calls that reach its kernels
FirstCalls = Callable[[], Iterable[Callable[[], object]]]
#: package -> number of kernels that were compiled; then the folders where they are
Done = tuple[dict[str, int], set[str]]


@program
def main(arguments: Sequence[str] | None = None) -> int:
    """Compile what is missing; returns 0, or 1 where it cannot be kept."""
    parser = argparse.ArgumentParser(
        prog='compile_kernels',
        description=__doc__,
        epilog='The code is kept beside the installed packages if they can be written, for all users; else in the '
        "user's cache folder. It is for this model of processor; for all with NUMBA_CPU_NAME=generic, here and later.",
    )
    parser.add_argument(
        'packages', nargs='*', help='default: all that are installed; those that are named need not be installed yet'
    )
    parser.add_argument(
        '--processes', type=int, default=MOST_PROCESSES,
        help='default: %(default)s; one alone for a computer that has something else to do',
    )  # fmt: skip
    options = parser.parse_args(arguments)
    for name in options.packages:
        if find_spec(name) is None or find_spec(f'{name}.first_calls') is None:
            raise PkmError(f'{name}: no such Python package here, or one without a module first_calls')
    return _compile(options.packages, max(1, min(options.processes, os.cpu_count() or 1)))


def _compile(packages: Sequence[str], processes: int) -> int:
    from pkm_description.kernels.jit import COMPILED

    if not COMPILED:
        raise PkmError('NUMBA_DISABLE_JIT is set, so nothing is compiled')
    begin = time.monotonic()
    with ProcessPoolExecutor(processes, mp_context=get_context('spawn')) as pool:
        parts = list(pool.map(partial(compile_share, packages=packages), range(processes)))
    for package in parts[0][0]:
        print(f'{package}: {sum(compiled[package] for compiled, _ in parts)} compiled')
    print(f'{time.monotonic() - begin:.0f} s')
    kept = set().union(*(folders for _, folders in parts))
    for folder in sorted(kept):
        print(f'kept in {folder}')
    return int(not kept)


def compile_share(share: int, packages: Sequence[str] = ()) -> Done:
    """Make all first calls in this process, and find what the others made.

    Every second process makes those of the first package, on which the others build, last, and from their end.

    Parameters
    ----------
    packages : names; default: all that are installed
    """
    from pkm_description.kernels.jit import cache_folder, compiled_kernels

    found: dict[str, int] = {}
    folders: set[str] = set()
    ones = _first_calls(packages)
    for package, first_calls in [*ones[1:], *ones[:1]] if share % 2 else ones:
        before = len(compiled_kernels())
        is_from_end = share % 2 and package == ones[0][0]
        for call in reversed(list(first_calls())) if is_from_end else first_calls():
            call()
        found[package] = len(compiled_kernels()) - before
        if (folder := cache_folder(f'{package}.kernels')) is not None:
            folders.add(str(folder))
    return found, folders


def _first_calls(packages: Sequence[str]) -> list[tuple[str, FirstCalls]]:
    """Packages by name, each with the function that gives its first calls."""
    if packages:
        return [(name, import_module(f'{name}.first_calls').first_calls) for name in packages]
    found = {entry.value: entry for entry in entry_points(group=GROUP)}  # a package may be found twice
    return [(entry.name, entry.load()) for entry in sorted(found.values(), key=lambda entry: entry.name)]


if __name__ == '__main__':
    sys.exit(main())
