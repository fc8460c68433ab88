"""What compiled code depends on: all kernel sources below it, and the compiler; and where code is kept."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from functools import cache
from pathlib import Path

import numpy as np

#: name of the packages that contain kernels, and nothing else
KERNELS = 'kernels'
_IMPORT = re.compile(rf'^\s*(?:from|import)\s+(\w+(?:\.\w+)*\.{KERNELS})\b', re.MULTILINE)


def package_of(module: str) -> str | None:
    """Package of kernels that a module belongs to, e.g. ``a.kernels`` for ``a.kernels.b.c``; None for other modules."""
    head, found, _ = f'{module}.'.partition(f'.{KERNELS}.')
    return f'{head}.{KERNELS}' if found else None


def folder_of(package: str) -> Path:
    """Folder of a package of kernels."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f'no package {package} (its kernels are called by others)')
    return Path(next(iter(found.submodule_search_locations)))


def source_files(package: str) -> list[tuple[str, Path]]:
    """Name and path of all sources of a package of kernels, and of those that it imports.

    A compiled function contains those that it calls, so it is out of date when any of their files changes.
    """
    waiting, files = {package, __name__.rpartition('.')[0]}, {}
    while waiting:
        current = waiting.pop()
        folder = folder_of(current)
        files[current] = [(f'{current}/{path.relative_to(folder).as_posix()}', path) for path in folder.rglob('*.py')]
        imported = {name for _, path in files[current] for name in _IMPORT.findall(path.read_text(encoding='utf-8'))}
        waiting |= imported - set(files)
    return sorted(entry for entries in files.values() for entry in entries)


def compiler() -> str:
    """Everything besides sources and processor that decides about compiled code and the files that hold it."""
    import llvmlite
    import numba

    options = ('OPT', 'BOUNDSCHECK', 'DEBUGINFO_DEFAULT', 'LOOP_VECTORIZE', 'SLP_VECTORIZE')
    versions = f'numba {numba.__version__} llvmlite {llvmlite.__version__} NumPy {np.__version__}'
    settings = ' '.join(f'{name}={getattr(numba.config, name, None)}' for name in options)
    return f'{sys.implementation.cache_tag} {versions} {settings}'


def digest(package: str) -> str:
    """Fingerprint of the sources of a package and of those below it."""
    total = hashlib.sha256()
    for name, path in source_files(package):
        total.update(f'\n{name}\n'.encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


@cache
def digest_at_import(package: str) -> str:
    """Fingerprint of what this process has imported (files may change later, what is imported does not)."""
    return digest(package)


def state(package: str) -> str:
    """Name of the folder of compiled code: 16 digits, others for other sources and for another compiler."""
    return hashlib.sha256(f'{digest_at_import(package)} {compiler()}'.encode()).hexdigest()[:16]


def cache_homes(package: str) -> tuple[Path, ...]:
    """Folders that hold the folders of compiled code of a package: beside its sources, and the user's.

    The first is there for all users of an installation; the second for those who cannot write there.
    """
    beside = folder_of(package) / '__pycache__' / 'compiled'
    chosen = os.environ.get('NUMBA_CACHE_DIR')
    if not chosen:
        home = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
        if not os.path.isabs(home):  # neither HOME nor an entry in the list of users
            return (beside,)
        chosen = os.path.join(home, 'pkm')
    return beside, Path(chosen) / package
