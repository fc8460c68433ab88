"""Command: compile all kernels of the installed packages, so that no node and no program has to wait for that."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import entry_points
from multiprocessing import get_context

from pkm_description.errors import PkmError

#: entry points of packages that have kernels: functions that give calls which reach all of them
GROUP = 'pkm.first_calls'
#: processes at most: each compiles the kernels that its own call too
MOST_PROCESSES = 2

#: package -> numbers of kernels that were compiled, and that were there; then the folders that were written to
Done = tuple[dict[str, tuple[int, int]], set[str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile what is missing; returns 0, or 1 with one line that says what is wrong."""
    parser = argparse.ArgumentParser(
        prog='compile_kernels',
        description=__doc__,
        epilog='The code is kept beside the installed packages if they can be written, for all users; else in the '
        "user's cache folder. It runs on every processor of this kind, so an image or a folder may move.",
    )
    parser.parse_args(arguments)
    if 'numba' not in sys.modules:  # Numba reads this once
        os.environ.setdefault('NUMBA_CPU_NAME', 'generic')
    try:
        return _compile()
    except PkmError as error:
        print(f'error: {error}', file=sys.stderr)
        return 1


def _compile() -> int:
    from pkm_description.kernels.jit import COMPILED

    if not COMPILED:
        print('error: NUMBA_DISABLE_JIT is set, so nothing is compiled', file=sys.stderr)
        return 1
    print(f'compiling for every {platform.machine()} processor, a minute or two if nothing is there', flush=True)
    begin, shares = time.monotonic(), min(MOST_PROCESSES, os.cpu_count() or 1)
    with ProcessPoolExecutor(shares, mp_context=get_context('spawn')) as pool:
        parts = list(pool.map(partial(compile_share, shares=shares), range(shares)))
    for package in parts[0][0]:
        compiled, loaded = (sum(counts) for counts in zip(*(found[package] for found, _ in parts), strict=True))
        print(f'{package}: {compiled} compiled, {loaded} were there')
    print(f'{time.monotonic() - begin:.0f} s')
    kept = set().union(*(folders for _, folders in parts))
    for folder in sorted(kept):
        print(f'kept in {folder}')
    return int(any(compiled for found, _ in parts for compiled, _ in found.values()) and not kept)


def compile_share(share: int, shares: int) -> Done:
    """Make every ``shares``-th function's first calls, from ``share`` on: in this process, so that it compiles them."""
    from pkm_description.kernels import cache

    cache.say_once('compiling')
    functions: dict[str, int] = {}
    found: dict[str, tuple[int, int]] = {}
    packages = {entry.value: entry for entry in entry_points(group=GROUP)}  # a package may be found twice
    for entry in sorted(packages.values(), key=lambda entry: entry.name):
        compiled, loaded = len(cache.compiled), len(cache.loaded)
        for call in entry.load()():
            name = getattr(call, 'func', call).__qualname__
            if functions.setdefault(name, len(functions)) % shares == share:
                call()
        found[entry.name] = len(cache.compiled) - compiled, len(cache.loaded) - loaded
    return found, {str(folder) for folder in cache.kept}
