"""Compiled code on the disk: one file per kernel, signature and processor, in a folder per state of the sources.

Numba's own cache keeps callers that have become stale (it looks at the file of a function, not at those of the
functions that are compiled into it), cannot be used from a folder that is read-only, mixes up two signatures that are
saved at the same moment, and raises at import where no folder is writable. Here the name of a file says all that its
content depends on: nothing is ever changed in place.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import shutil
import sys
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from pkm_description.kernels.sources import cache_homes, digest, digest_at_import, state

#: code for any processor of its kind, as the program compile_kernels makes it; the bits of results are the same
GENERIC = ('generic', '')
#: states of the sources (and versions of the compiler) whose code stays on the disk, those used last
KEPT_STATES = 4
_CHECKSUM = hashlib.sha256().digest_size

#: names of the kernels that this process has compiled, and of those that it has found on the disk
compiled: list[str] = []
loaded: list[str] = []
#: folders into which it has put code
kept: set[Path] = set()
_said: set[str] = set()


def say_once(topic: str, text: str = '') -> None:
    """Write a line to the standard error, once per process and topic; an empty one only keeps later ones back."""
    if topic not in _said and text:
        print(f'pkm: {text}', file=sys.stderr, flush=True)
    _said.add(topic)


class Folders:
    """Where the compiled code of one package of kernels is, and may be put.

    Parameters
    ----------
    package : e.g. ``pkm_description.kernels``
    """

    def __init__(self, package: str) -> None:
        self.package = package
        self._state = state(package)
        self.homes = cache_homes(package)
        for folder in self.current():
            with contextlib.suppress(OSError):
                os.utime(folder)  # used now: see remove_old

    def current(self) -> list[Path]:
        """Folders for the sources as they were imported."""
        return [home / self._state for home in self.homes]

    def read(self, name: str) -> bytes | None:
        """Content of the first sound file of this name."""
        for folder in self.current():
            with contextlib.suppress(OSError):
                content = (folder / name).read_bytes()
                if hashlib.sha256(content[_CHECKSUM:]).digest() == content[:_CHECKSUM]:
                    return content[_CHECKSUM:]
        return None

    def write(self, name: str, content: bytes) -> None:
        """Put a file where the user may; says so where there is no such place. Readers see all of it or nothing."""
        if digest(self.package) != digest_at_import(self.package):
            return  # compiled from files that have changed since
        reasons = []
        for folder in self.current():
            passing = folder / f'{name}.{uuid.uuid4().hex[:8]}'
            try:
                is_new = not folder.exists()
                folder.mkdir(parents=True, exist_ok=True)
                passing.write_bytes(hashlib.sha256(content).digest() + content)
                passing.replace(folder / name)
            except OSError as error:
                reasons.append(str(error))
                with contextlib.suppress(OSError):
                    passing.unlink(missing_ok=True)
                continue
            kept.add(folder)
            if is_new:
                remove_old(folder)
            return
        say_once('not kept', (
            f'compiled kernels cannot be kept ({"; ".join(reasons)}): every start compiles them again. Run '
            'compile_kernels as a user who may write there, or set XDG_CACHE_HOME to a folder that is writable.'
        ))  # fmt: skip

    def why_missing(self, name: str) -> str:
        """Why there is no compiled code; ``name`` without the part for the processor."""
        found = [entry for folder in self.current() for entry in _entries(folder)]
        if any(entry.startswith(f'{name}.') for entry in found):
            return 'what is there is for another processor'
        if found:
            return 'this function is not among those that are there'
        if any(_entries(home) for home in self.homes):
            return 'sources, numba, NumPy or Python are others than when this was done'
        return 'this was not done yet'


def _entries(folder: Path) -> list[str]:
    """Names in a folder; none where it is missing or may not be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


@cache
def folders_of(package: str) -> Folders:
    """Folders of a package, looked up once."""
    return Folders(package)


def remove_old(current: Path) -> None:
    """Remove folders of states that have not been used for longest."""
    with contextlib.suppress(OSError):
        others = [folder for folder in current.parent.iterdir() if folder.is_dir() and folder != current]
        for folder in sorted(others, key=lambda folder: folder.stat().st_mtime)[: -(KEPT_STATES - 1)]:
            shutil.rmtree(folder, ignore_errors=True)


class KernelCache(_Cache):
    """Compiled forms of one kernel; what Numba asks before it compiles, and tells when it has.

    Parameters
    ----------
    function : the plain Python function
    package : package of kernels that it belongs to
    """

    def __init__(self, function: Callable[..., Any], package: str) -> None:
        self._function = f'{function.__module__}.{function.__qualname__}'
        self._folders = folders_of(package)
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """Folder that is looked into first."""
        return str(self._folders.current()[0])

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Code for a signature, from the disk; None if it must be compiled."""
        if not self._enabled:
            return None
        name = self._name(sig)
        target_context.refresh()
        triple, *processor = target_context.codegen().magic_tuple()
        for kind in (GENERIC, processor):
            content = self._folders.read(f'{name}.{_short(triple, *kind)}')
            if content is not None:
                loaded.append(self._function)
                return CompileResult._rebuild(target_context, *pickle.loads(content))
        compiled.append(self._function)
        say_once('compiling', (
            f'compiling the kernels of {self._folders.package.rpartition(".")[0]}: {self._folders.why_missing(name)}. '
            'It takes up to a minute or two, once'
        ))  # fmt: skip
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, unless it contains addresses of this process (of a large constant array)."""
        if self._enabled and not data.library.has_dynamic_globals:
            name = f'{self._name(sig)}.{_short(*data.codegen.magic_tuple())}'
            self._folders.write(name, dumps(data._reduce()))

    def enable(self) -> None:
        """Look at the disk."""
        self._enabled = True

    def disable(self) -> None:
        """Compile without a look at the disk."""
        self._enabled = False

    def flush(self) -> None:
        """Forget what is on the disk for this state of the sources, where it can be removed."""
        for folder in self._folders.current():
            for name in _entries(folder):
                if name.startswith(f'{self._function}.'):
                    with contextlib.suppress(OSError):
                        (folder / name).unlink()

    def _name(self, sig: Any) -> str:
        return f'{self._function}.{_short(str(sig))}'


def _short(*parts: str) -> str:
    return hashlib.sha256('\n'.join(parts).encode()).hexdigest()[:16]
