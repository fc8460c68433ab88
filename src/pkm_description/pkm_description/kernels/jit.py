"""The decorator of all compiled functions, and the folder of their code.

Numba's cache looks at the file of a function, not at those of the functions that are compiled into it. So its folder is
named by a digest of all kernel sources, of Numba and of the processor: code in it is never out of date.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

Function = TypeVar('Function', bound=Callable[..., Any])

#: False with NUMBA_DISABLE_JIT=1: kernels run as plain Python, for a debugger and for test coverage
COMPILED = os.environ.get('NUMBA_DISABLE_JIT', '') in ('', '0')
#: folders of other sources or versions that stay, those used last
KEPT_FOLDERS = 3
_making = threading.RLock()
_kept: list[Any] = []


def kernel(function: Function) -> Function:
    """Compile a function of one sample, once for all processes; the only way to compile in this project.

    No ``fastmath``: the same bits come out of single calls, batches, threads and plain Python. Compiled at the first
    call; the code is kept on the disk for functions in packages of the name ``kernels``.
    """
    if not COMPILED:
        return function
    import numba

    config: Any = numba.config
    package = package_of(function.__module__)
    folder = cache_folder(package) if package else None
    # what was compiled from the sources is found from an installation that links to them, too
    function.__code__ = function.__code__.replace(co_filename=os.path.realpath(function.__code__.co_filename))
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder or '')
    try:
        made: Any = numba.njit(cache=folder is not None, error_model='numpy', nogil=True)(function)
    finally:
        config.CACHE_DIR = before
    if folder is not None:
        made.compile = _one_at_a_time(made.compile, folder / f'{function.__module__}.{function.__name__}.lock')
        _kept.append(made)
    return cast(Function, made)


def compiled_kernels() -> list[str]:
    """Names of the kernels that this process has compiled, by combination of types, and not found on the disk."""
    return [made.__name__ for made in _kept for _ in range(sum(made.stats.cache_misses.values()))]


def _one_at_a_time(compile_for: Callable[[Any], Any], lock: Path) -> Callable[[Any], Any]:
    """Processes wait for each other: Numba mixes up two signatures that are kept at the same moment. So do threads."""
    import numba

    def locked(types: Any) -> Any:
        with _making, lock.open('w') as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _say_that_it_takes_long(lock.parent)
            return compile_for(tuple(map(cast(Any, numba.types).unliteral, types)))  # one for all constants

    return locked


@cache
def _say_that_it_takes_long(folder: Path) -> None:
    if not any(folder.rglob('*.nbi')):
        print(f'pkm: compiling kernels, some minutes, once (kept in {folder})', file=sys.stderr, flush=True)


def package_of(module: str) -> str:
    """Package of kernels that a module belongs to, e.g. ``a.kernels`` for ``a.kernels.b.c``; '' for other modules."""
    head, found, _ = f'{module}.'.partition('.kernels.')
    return f'{head}.kernels' if found else ''


@cache
def sources_digest(package: str) -> str:
    """Digest of the sources of a package of kernels, and of those that it imports, when this process imported them."""
    total, folder = hashlib.sha256(), Path(str(files(package)))
    imported = {__package__}
    for path in sorted(folder.rglob('*.py')):
        text = path.read_text(encoding='utf-8')
        total.update(f'{path.relative_to(folder)} {text}'.encode())
        imported.update(re.findall(r'^from (\w+\.kernels)\b', text, re.MULTILINE))
    total.update(''.join(map(sources_digest, sorted(imported - {package}))).encode())
    return total.hexdigest()


@cache
def cache_folder(package: str) -> Path | None:
    """Folder of compiled code: beside the sources, or the user's where the installation is read-only; None: nowhere."""
    import llvmlite.binding
    import numba

    config: Any = numba.config
    processor = config.CPU_NAME or llvmlite.binding.get_host_cpu_name()
    options = f'{config.CPU_FEATURES} {config.OPT} {config.BOUNDSCHECK} {config.DEBUGINFO_DEFAULT}'
    versions = f'{sys.implementation.cache_tag} {numba.__version__} {llvmlite.__version__} {np.__version__}'
    name = hashlib.sha256(f'{sources_digest(package)} {versions} {processor} {options}'.encode()).hexdigest()[:16]
    user = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    chosen = os.environ.get('NUMBA_CACHE_DIR') or os.path.join(user, 'pkm')
    beside = Path(str(files(package))) / '__pycache__' / 'compiled'
    for home in (beside, Path(chosen) / package):
        folder = home / name
        try:
            is_new = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        os.utime(folder)  # used now
        if is_new:
            others = sorted(set(home.iterdir()) - {folder}, key=lambda other: other.stat().st_mtime)
            for other in others[:-KEPT_FOLDERS]:
                shutil.rmtree(other, ignore_errors=True)
            if home != beside and (beside / name).exists():  # the installation's, which Numba cannot use where it is
                shutil.copytree(beside / name, folder, dirs_exist_ok=True)
        return folder
    print('pkm: compiled kernels cannot be kept, every start compiles them again: no folder is writable '
          f'({beside}, {chosen})', file=sys.stderr, flush=True)  # fmt: skip
    return None
