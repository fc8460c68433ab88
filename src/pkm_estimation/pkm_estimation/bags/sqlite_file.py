"""Messages of an sqlite3 storage file: of a sound one by ``rosbags``, of a damaged one what is left."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from rosbags.interfaces import ConnectionExtRosbag2, Qos
from rosbags.rosbag2 import Reader

from pkm_estimation.bags.recorded_data import BagError
from pkm_estimation.bags.sources import Message, Source, listed_source

_TOPICS = 'SELECT id, name, type FROM topics'
#: endings of the journals of a transaction
_SIDECARS = ('-journal', '-wal', '-shm')


def sqlite_source(path: Path, stack: ExitStack) -> Source:
    """What a ``.db3`` file holds, as far as it can be read.

    Parameters
    ----------
    path : ``.db3`` file
    stack : closes the file

    Raises
    ------
    BagError
        Nothing of the file can be read.
    """
    if any(path.with_name(path.name + ending).exists() for ending in _SIDECARS):
        return _recovered(path)  # an unfinished transaction: the library would read half-written pages
    try:
        reader = stack.enter_context(Reader(path))

        def read(topics: Collection[str] | None) -> Iterator[Message]:
            connections = [item for item in reader.connections if topics is None or item.topic in topics]
            found = reader.messages(connections) if connections else ()
            return ((connection.topic, time, data) for connection, time, data in found)

        counts = Counter(topic for topic, _, data in read(None) if data is not None)
    except Exception:  # of the library, or of sqlite: whatever is wrong, what is left is gathered
        return _recovered(path)
    types: dict[str, str] = {}
    qos: dict[str, list[Qos]] = {}
    lost = reader.message_count - sum(counts.values())
    for connection in reader.connections:
        types[connection.topic] = connection.msgtype
        if isinstance(connection.ext, ConnectionExtRosbag2):
            qos.setdefault(connection.topic, []).extend(connection.ext.offered_qos_profiles)
    warnings = [f'{path.name}: {lost} messages belong to no topic and are left out'] if lost > 0 else []
    return Source(read, counts, types, warnings, qos)


def _recovered(path: Path) -> Source:
    """Gather what a damaged ``.db3`` file still holds.

    Notes
    -----
    A copy is read together with its journals, so that sqlite can roll an unfinished transaction back without
    touching the recording.
    """
    warnings: list[str] = []
    messages: list[Message] = []
    with TemporaryDirectory() as folder:
        copy = Path(folder, 'bag.db3')
        shutil.copyfile(path, copy)
        for ending in _SIDECARS:
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
                raise BagError(f'{path}: not a bag that can be read, nothing could be recovered: {error}') from error
            for topic, time, data in _rows(database, set(topics), warnings):
                messages.append((topics[topic][0], time, data))
    messages.sort(key=lambda item: item[1])
    return listed_source(messages, dict(topics.values()), [f'{path.name}: {text}' for text in warnings])


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


def _rows(database: sqlite3.Connection, topics: set[int], warnings: list[str]) -> Iterator[tuple[int, int, bytes]]:
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
