"""Command: compile all kernels of the installed packages, so that no node and no program has to wait for that."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import entry_points

from pkm_description.errors import PkmError

#: entry points of packages that have kernels: functions that give calls which reach all of them
GROUP = 'pkm.first_calls'


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
    from pkm_description.kernels import cache
    from pkm_description.kernels.jit import COMPILED

    if not COMPILED:
        print('error: NUMBA_DISABLE_JIT is set, so nothing is compiled', file=sys.stderr)
        return 1
    packages = {entry.value: entry for entry in entry_points(group=GROUP)}  # a package may be found twice
    cache.say_once('compiling')
    print(f'compiling for every {platform.machine()} processor, a minute or two if nothing is there', flush=True)
    for entry in sorted(packages.values(), key=lambda entry: entry.name):
        begin, compiled, loaded = time.monotonic(), len(cache.compiled), len(cache.loaded)
        for call in entry.load()():
            call()
        compiled, loaded = len(cache.compiled) - compiled, len(cache.loaded) - loaded
        print(f'{entry.name}: {compiled} compiled, {loaded} were there; {time.monotonic() - begin:.0f} s', flush=True)
    for folder in sorted(cache.kept):
        print(f'kept in {folder}')
    return int(bool(cache.compiled) and not cache.kept)
