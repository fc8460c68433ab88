"""Files that are whole or not there: written beside, then renamed; what cannot be written is said with the remedy."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pkm_description.errors import UnwritableError

_NO_ROOM = 'make room there, or name another place'
_REMEDIES = {
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EFBIG: 'files may not become so large there (ulimit -f, or the file system); name another place',
    errno.EACCES: 'name a place where you may write',
    errno.EPERM: 'name a place where you may write',
    errno.EROFS: 'name a place where you may write',
    errno.ENOENT: 'its folder is not there: make it, or name another place',
    errno.ENOTDIR: 'a part of the path is a file; name another place',
    errno.EISDIR: 'it is a folder; name a file',
    errno.ENAMETOOLONG: 'name a shorter one',
}


def unwritable(path: str | Path, error: OSError) -> UnwritableError:
    """One sentence for a file that cannot be written, with what to do about it."""
    remedy = _REMEDIES.get(error.errno or 0, 'name another place')
    return UnwritableError(f'{path}: cannot be written: {error.strerror or error}; {remedy}')


def make_folder(path: str | Path) -> Path:
    """Make a folder and those above it, if they are not there.

    Raises
    ------
    UnwritableError
    """
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # of a file that is in the way, too
        raise unwritable(path, NotADirectoryError(errno.ENOTDIR, 'a file is in the way') if isinstance(
            error, FileExistsError) else error) from None  # fmt: skip
    return path


@contextmanager
def replacing(path: str | Path, exclusive: bool = False) -> Iterator[Path]:
    """Write a file beside its place and rename it when it is whole; an older one stays until then, and if it fails.

    Parameters
    ----------
    path : file to make or replace; a device or pipe is written directly
    exclusive : do not replace a file

    Yields
    ------
    where to write; its name ends as that of ``path``

    Raises
    ------
    UnwritableError
        In place of an :class:`OSError` in the block, unless that names a file elsewhere: then it is raised as it is.
    FileExistsError
        The file is there, and ``exclusive``.
    """
    given = Path(path)
    if exclusive and os.path.lexists(given):
        raise FileExistsError(errno.EEXIST, 'exists already and is not replaced', str(given))
    target = Path(os.path.realpath(given))
    is_special = target.exists() and not target.is_file()
    beside = target if is_special else target.with_name(f'.{uuid.uuid4().hex[:8]}.{target.name}'[-255:])
    try:
        with _unwritable_if(given, beside, target):
            yield beside
            if not is_special:
                _to_disk(beside)
                _put(beside, target, exclusive)
    finally:
        if not is_special:
            with suppress(OSError):
                beside.unlink(missing_ok=True)


@contextmanager
def replacing_together(folder: str | Path) -> Iterator[Path]:
    """Write the files of a folder that belong together: they replace older ones once all of them are whole.

    Yields
    ------
    an empty folder to write them to

    Raises
    ------
    UnwritableError
        In place of an :class:`OSError` in the block, unless that names a file elsewhere: then it is raised as it is.
    """
    folder = make_folder(folder)
    beside = folder / f'.{uuid.uuid4().hex[:8]}'
    try:
        with _unwritable_if(folder, beside, folder):
            beside.mkdir()
            yield beside
            files = sorted(beside.iterdir())
            for file in files:
                _to_disk(file)
            for file in files:
                _put(file, folder / file.name, exclusive=False)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_text(path: str | Path, text: str, exclusive: bool = False) -> Path:
    """Write a text as :func:`replacing` does; returns its path."""
    with replacing(path, exclusive) as beside:
        beside.write_text(text, encoding='utf-8')
    return Path(path)


def require_new(path: Path | None, force: bool) -> None:
    """Refuse to replace a file without ``--force``."""
    if path is not None and path.exists() and not force:
        raise UnwritableError(f'{path} exists; give another file, or --force to replace it')


def hand_out(text: str, path: Path | None, viewer: str = '') -> None:
    """Write a program's text to a file, or to standard output; says the file, and a program that shows it."""
    if path is None:
        sys.stdout.write(text)
    else:
        look = f'; look at it with {viewer} {path}' if viewer else ''
        print(f'{write_text(path, text)} written{look}', file=sys.stderr)


@contextmanager
def _unwritable_if(given: Path, *places: Path) -> Iterator[None]:
    """Say an error of these places in a sentence; one of a file elsewhere, such as one that is read, stays."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        named = Path(error.filename) if isinstance(error.filename, (str, Path)) else None
        if named is None or any(named == place or place in named.parents for place in places):
            raise unwritable(given, error) from None
        raise


def _to_disk(file: Path) -> None:
    """After this a file is whole also when the power fails."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put(beside: Path, target: Path, exclusive: bool) -> None:
    if exclusive:
        with suppress(PermissionError):  # some file systems know no links
            os.link(beside, target)  # unlike a rename, it replaces nothing
            return
        if target.exists():
            raise FileExistsError(errno.EEXIST, 'exists already and is not replaced', str(target))
    beside.replace(target)
