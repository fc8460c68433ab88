"""Early and last messages of a recording, and what the end of its process by ``kill -9`` leaves of it."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from pkm_bringup.recording import BagRecording, Playback
from pkm_estimation.bags import BagError
from pkm_estimation.bags.messages import open_bag

STORAGES = ['mcap', 'sqlite3']
TEXT = 'std_msgs/msg/String'


def cdr(number: int) -> bytes:
    """Return a serialised string with a number."""
    text = f'{number:04d}'.encode() + b'\0'
    return b'\0\1\0\0' + len(text).to_bytes(4, 'little') + text


def begun(path: Path, storage: str = 'mcap') -> BagRecording:
    recording = BagRecording(path, storage)
    for topic in ('/a', '/b'):
        recording.add_topic(topic, TEXT)
    return recording


def read(path: Path) -> list[tuple[str, int, bytes]]:
    with open_bag(path) as bag:
        return [(topic, time, bytes(data)) for topic, time, data in bag.read()]


@pytest.mark.parametrize('storage', STORAGES)
def test_early_messages_are_counted_at_once_and_written_before_the_first_with_a_time(
    tmp_path: Path, storage: str
) -> None:
    recording = begun(tmp_path / 'run', storage)
    recording.add_message('/b', 0, cdr(0))
    recording.add_message('/a', -5, cdr(1))
    recording.add_message('/b', 0, cdr(2))
    assert recording.counts == {'/a': 1, '/b': 2}
    recording.add_message('/a', 1, cdr(3))
    assert recording.counts == {'/a': 2, '/b': 2}
    recording.add_message('/b', 2, cdr(4))
    assert recording.close() == f'5 messages on 2 topics in {tmp_path / "run"}'
    assert read(tmp_path / 'run') == [
        ('/b', 1, cdr(0)), ('/a', 1, cdr(1)), ('/b', 1, cdr(2)), ('/a', 1, cdr(3)), ('/b', 2, cdr(4)),
    ]  # fmt: skip


@pytest.mark.parametrize('storage', STORAGES)
def test_early_messages_are_kept_where_the_clock_never_runs(tmp_path: Path, storage: str) -> None:
    recording = begun(tmp_path / 'run', storage)
    recording.add_message('/a', 0, cdr(7))
    assert recording.close() == recording.close() == f'1 messages on 2 topics in {tmp_path / "run"}'
    recording.add_message('/a', 5, cdr(8))  # too late
    assert read(tmp_path / 'run') == [('/a', 0, cdr(7))]


@pytest.mark.parametrize('storage', STORAGES)
@pytest.mark.parametrize(('count', 'safe'), [(9, 0), (13, 13), (19, 10)])
def test_what_a_kill_leaves_is_all_that_was_made_safe(tmp_path: Path, storage: str, count: int, safe: int) -> None:
    """None of it is lost or changed, and what is missing is said."""
    child = os.fork()
    if child == 0:
        recording = begun(tmp_path / 'run', storage)
        for number in range(count):
            recording.add_message('/' + 'ab'[number % 2], 10**9 + number, cdr(number))
            if number + 1 == safe:
                recording.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    expected = [('/' + 'ab'[number % 2], 10**9 + number, cdr(number)) for number in range(count)]
    if not safe:
        with suppress(BagError):  # nothing that can be read, or nothing in it
            assert read(tmp_path / 'run') == []
        return
    found = read(tmp_path / 'run')
    assert safe <= len(found) <= count and found == expected[: len(found)]
    playback = Playback(tmp_path / 'run')
    assert len(playback) == len(found) and playback.warnings


def test_schedule_begins_where_it_was_asked_to_and_runs_at_its_rate(tmp_path: Path) -> None:
    recording = begun(tmp_path / 'run')
    for number in range(5):
        recording.add_message('/a', 10**9 + number * 10**8, cdr(number))
    recording.close()
    playback = Playback(tmp_path / 'run', rate=4.0, start_offset=0.2)
    assert [message.data for message in playback] == [cdr(2), cdr(3), cdr(4)]
    assert (playback.start_time, playback.end_time) == (1_200_000_000, 1_400_000_000)
    assert playback.due_after(1_400_000_000) == pytest.approx(0.05)
    assert len(Playback(tmp_path / 'run', start_offset=0.4)) == 1
    with pytest.raises(BagError, match=r'beyond its end, it is 0\.400 s long'):
        Playback(tmp_path / 'run', start_offset=0.5)
    for wrong in ({'rate': 0.0}, {'rate': -1.0}, {'start_offset': -0.1}, {'rate': float('nan')}):
        with pytest.raises(BagError, match='must be positive'):
            Playback(tmp_path / 'run', **wrong)


def test_what_is_safe_can_be_read_while_it_goes_on(tmp_path: Path) -> None:
    recording = begun(tmp_path / 'run')
    for number in range(7):
        recording.add_message('/a', 10**9 + number, cdr(number))
    recording.flush()
    shutil.copytree(tmp_path / 'run', tmp_path / 'copy')
    assert len(read(tmp_path / 'copy')) == 7
    recording.close()


def test_rates_are_messages_per_recorded_second(tmp_path: Path) -> None:
    """Of less than a second as if it were one."""
    for count, rate in ((41, 10.25), (5, 5.0)):
        recording = begun(tmp_path / f'run_{count}')
        for number in range(count):
            recording.add_message('/a', 10**9 + number * 10**8, cdr(number))
        recording.close()
        assert Playback(tmp_path / f'run_{count}').rates['/a'] == pytest.approx(rate)
