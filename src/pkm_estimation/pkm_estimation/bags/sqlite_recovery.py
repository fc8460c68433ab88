"""Read a sqlite3 bag file whose recorder was killed or that was cut off."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from pkm_estimation.bags.recorded_data import BagError

_TOPICS = 'SELECT id, name, type FROM topics'
SIDECARS = ('-journal', '-wal', '-shm')


def recover_sqlite3(path: Path) -> tuple[list[tuple[str, int, bytes]], dict[str, str], list[str]]:
    """Gather what a damaged ``.db3`` file still holds; see :func:`recover_mcap` for what is returned.

    Notes
    -----
    A copy is read together with its journals, so that sqlite can roll an unfinished transaction back without
    touching the recording.
    """
    warnings: list[str] = []
    messages: list[tuple[str, int, bytes]] = []
    with TemporaryDirectory() as folder:
        copy = Path(folder, 'bag.db3')
        shutil.copyfile(path, copy)
        for ending in SIDECARS:
            if (journal := path.with_name(path.name + ending)).exists():
                shutil.copyfile(journal, copy.with_name(copy.name + ending))
                warnings.append(
                    f'{journal.name} is there: the recorder did not close the bag, its last messages are lost'
                )
        _pad(copy, warnings)
        with closing(sqlite3.connect(copy)) as database:
            try:
                rows = database.execute(_TOPICS)
                topics = {key: (name, kind) for key, name, kind in rows if isinstance(name, str)}
            except sqlite3.DatabaseError as error:
                raise BagError(
                    f'{path}: not a bag that can be read, nothing could be recovered: {error}'
                ) from error
            for topic, time, data in _rows(database, set(topics), warnings):
                messages.append((topics[topic][0], time, data))
    messages.sort(key=lambda item: item[1])
    return messages, dict(topics.values()), warnings


def _pad(path: Path, warnings: list[str]) -> None:
    """Fill a cut-off file with zeros to the size in its header: sqlite refuses to open it otherwise."""
    with path.open('r+b') as file:
        header = file.read(32)
        if len(header) < 32 or not header.startswith(b'SQLite format 3\0'):
            return
        page_size = int.from_bytes(header[16:18], 'big')
        named = int.from_bytes(header[28:32], 'big') * (65536 if page_size == 1 else page_size)
        present = file.seek(0, 2)
        if present < named:
            file.truncate(named)
            warnings.append(f'the file is cut off: {named - present} of {named} bytes are lost')


def _rows(
    database: sqlite3.Connection, topics: set[int], warnings: list[str]
) -> Iterator[tuple[int, int, bytes]]:
    """Yield topic, time, data in the order of writing up to the first unreadable page."""
    count, reason = 0, ''
    try:
        for topic, time, data in database.execute('SELECT topic_id, timestamp, data FROM messages ORDER BY id'):
            # newer versions of sqlite give empty columns where older ones refuse the page
            if topic not in topics or not isinstance(time, int) or not isinstance(data, bytes):
                reason = 'a row without topic, time or data'
                break
            yield topic, time, data
            count += 1
    except sqlite3.DatabaseError as error:
        reason = str(error)
    if reason:
        warnings.append(f'the file is damaged after {count} messages ({reason}); what follows is lost')
