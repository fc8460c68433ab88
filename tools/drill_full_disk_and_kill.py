"""Full disks and ``kill -9`` over recorder, player, estimator, ``estimate`` and ``identify``: what is lost was said.

Run it in a shell in which the suite is sourced (``./pkm shell``), with the helpers of tests on the path:
``PYTHONPATH=src/pkm_description/test:$PYTHONPATH python tools/drill_full_disk_and_kill.py``. It prints
a line for each injection and returns 1 if one of them lost more than was said, left a file that cannot be read, or
ended with more than a sentence. A full disk is a bound on the size of files (``RLIMIT_FSIZE``) of one process.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import yaml
from ament_index_python.packages import get_package_prefix
from node_processes import ros_environment
from pkm_estimation.bags import BagError, read_bag

STORAGES = ('mcap', 'sqlite3')
#: bytes that a file may have; parts of 3 s, after the first 2 s of a recording, at which a recorder is killed
LIMITS, KILLED_AFTER = (4_000, 400_000, 1_500_000), (0.3, 0.6, 0.9)
PATIENCE = 60.0


class Program:
    """An executable of the suite, its output, and perhaps a bound on the size of its files."""

    def __init__(self, package: str, name: str, *arguments: object, largest: int | None = None) -> None:
        self._output = tempfile.TemporaryFile('w+')  # noqa: SIM115 (closed with the program)

        def bound() -> None:
            if largest is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

        self.process = subprocess.Popen(
            [str(Path(get_package_prefix(package), 'lib', package, name)), *map(str, arguments)],
            env=ros_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._output,
            preexec_fn=bound, start_new_session=True, text=True,
        )  # fmt: skip

    def end(self, number: int | None = None) -> tuple[int, list[str]]:
        """Exit code, and the lines of standard error that are errors; ``number`` is a signal to send first."""
        if number is not None:
            self.process.send_signal(number)
        self.process.communicate(timeout=300)
        self._output.seek(0)
        lines = self._output.read().splitlines()
        # the middleware has files of its own, and its own words for them
        ours = [one for one in lines if 'RTPS' not in one]
        return self.process.returncode, [one for one in ours if 'rror' in one or 'Traceback' in one]

    @property
    def said(self) -> str:
        """Standard error so far."""
        return Path(f'/proc/self/fd/{self._output.fileno()}').read_text(errors='replace')


def parameters(**values: object) -> list[str]:
    """Arguments that set a node's parameters."""
    return ['--ros-args', *(part for name, value in values.items() for part in ('-p', f'{name}:={value}'))]


def wait_until(condition: Callable[[], bool], what: str, interval: float = 0.02) -> None:
    """Raise TimeoutError if something does not come true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(interval)


def digest(path: Path) -> str:
    """Of all files of a folder."""
    files = sorted(item for item in path.rglob('*') if item.is_file())
    return hashlib.sha256(b''.join(item.name.encode() + item.read_bytes() for item in files)).hexdigest()


def require_prefix(bag: Path, whole: Path) -> tuple[int, tuple[str, ...]]:
    """Messages of a recording of ``whole``, which are the first ones of each topic without a gap; and the warnings."""
    found, truth = read_bag(bag), read_bag(whole)
    for name, stream in found.streams.items():
        stamps = truth.streams[name].stamps
        first = int(np.searchsorted(stamps, stream.stamps[0]))
        if first > 0 or not np.array_equal(stream.stamps, stamps[: len(stream)]):
            raise AssertionError(f'{name} has a gap, or begins late')
    return sum(len(stream) for stream in found.streams.values()), found.warnings


def record(whole: Path, folder: Path, storage: str, largest: int | None, kill_at: float | None) -> str:
    """Record what is played, on a full disk or until a kill."""
    bag = folder / 'recorded'
    total = sum(len(stream) for stream in read_bag(whole).streams.values())
    recorder = Program('pkm_bringup', 'recorder', *parameters(output=bag, storage=storage), largest=largest)
    player = Program('pkm_bringup', 'player', *parameters(bag=whole, rate=3.0, wait_for_subscribers=20.0))
    if kill_at is not None:
        wait_until(lambda: 'imu/data_raw' in recorder.said or recorder.process.poll() is not None, 'the recorder')
        time.sleep(2.0 + 3.0 * kill_at)
        code, errors = recorder.end(signal.SIGKILL)
        player.end(signal.SIGINT)
        count, warnings = require_prefix(bag, whole)
        if not any('not finished' in text for text in warnings):
            raise AssertionError(f'nothing is said of the loss: {warnings}')
        return f'{count} of {total} messages are read; {warnings[0]}'
    code, errors = recorder.end()
    player.end(signal.SIGINT)
    if code != 1 or len(errors) != 1 or 'name another place' not in errors[0]:
        raise AssertionError(f'ended with {code} and {errors}')
    told = re.search(r'after (\d+) messages, at most the last (\d+) are lost', errors[0])
    if told is None:
        return 'nothing could be recorded, and that was said'
    taken, risked = map(int, told.groups())
    try:
        count = sum(read_bag(bag).topics.values())
        require_prefix(bag, whole)
    except BagError:
        count = 0
    if count < taken - risked:
        raise AssertionError(f'{count} messages are read, {taken} - {risked} were promised')
    return f'{count} messages are read, {taken} less at most {risked} were promised'


def play_damaged(whole: Path, folder: Path, storage: str, part: float) -> str:
    """Play a bag that a full disk has cut off: it says what is lost."""
    bag = folder / 'cut'
    bag.mkdir()
    for item in whole.iterdir():
        content = item.read_bytes()
        bag.joinpath(item.name).write_bytes(content[: int(part * len(content))] if item.suffix != '.yaml' else content)
    player = Program('pkm_bringup', 'player', *parameters(bag=bag, rate=100.0))
    code, errors = player.end()
    lost = re.search(r'(\d+) of (\d+) messages named in metadata.yaml are lost', player.said)
    is_empty = lost is not None and lost.group(1) == lost.group(2)
    if lost is None or (code, len(errors)) != ((1, 1) if is_empty else (0, 0)):
        raise AssertionError(f'ended with {code}: {player.said[-300:]}')
    return f'{storage}: {lost.group(0)}'


def kill_player(whole: Path, _own: Path, delay: float) -> str:
    """Kill the player: its bag is as it was."""
    before = digest(whole)
    player = Program('pkm_bringup', 'player', *parameters(bag=whole))
    wait_until(lambda: 'messages' in player.said, 'the player')
    time.sleep(delay)
    player.end(signal.SIGKILL)
    if digest(whole) != before:
        raise AssertionError('the bag has changed')
    return 'the bag is as it was'


def kill_estimator(whole: Path, folder: Path, delay: float) -> str:
    """Kill the estimator: what was recorded of it till then is read, and the sensors are recorded to the end."""
    bag = folder / 'recorded'
    recorder = Program('pkm_bringup', 'recorder', *parameters(output=bag))
    estimator = Program('pkm_estimation', 'estimator', *parameters())
    player = Program(
        'pkm_bringup', 'player',
        *parameters(bag=whole, rate=2.0, wait_for_subscribers=20.0, wait_for_topics='[joint_states, imu/data_raw]',
                    wait_for_nodes="['joint_states estimator', 'joint_states recorder', 'imu/data_raw recorder']"),
    )  # fmt: skip
    wait_until(lambda: 'platform/odometry' in recorder.said, 'estimates')
    time.sleep(delay)
    estimator.end(signal.SIGKILL)
    player.end()
    recorder.end(signal.SIGINT)
    found, truth = read_bag(bag), read_bag(whole)
    estimates, sensors = found.require(found.platform_odometry, 'platform/odometry'), found.joint_states
    assert sensors is not None
    assert truth.joint_states is not None
    if found.warnings or not np.array_equal(sensors.stamps, truth.joint_states.stamps):
        raise AssertionError(f'sensor data are missing: {len(sensors)} of {len(truth.joint_states)}, {found.warnings}')
    return f'{len(estimates)} estimates and all {len(sensors)} joint states are read'


def run_beside_older(
    command: tuple[str, str, Path],
    results: Path,
    _own: Path,
    largest: int | None = None,
    kill_after: float | None = None,
    kill_writing_after: float | None = None,
) -> str:
    """Run a program over the results of an earlier run: on a full disk, or until a kill."""
    before, old = digest(results), written(results)
    program = Program(*command, '-o', results, largest=largest)
    if largest is None:
        if kill_after is not None:
            time.sleep(kill_after)
        else:
            wait_until(lambda: written(results) != old or program.process.poll() is not None, 'results', 0.0005)
            time.sleep(kill_writing_after or 0.0)
        code, _ = program.end(signal.SIGKILL)
        if code == 0:
            raise AssertionError('it ended before the kill: nothing is tested')
    else:
        code, errors = program.end()
        if code != 1 or len(errors) != 1 or 'name another place' not in errors[0]:
            raise AssertionError(f'ended with {code} and {errors}')
        if digest(results) != before:
            raise AssertionError('the earlier results have changed')
    files = [item for item in results.iterdir() if item.is_file() and not item.name.startswith('.')]
    for file in files:
        require_readable(file)
    return f'exit {code}, {len(files)} files are read, {len(written(results) - old)} of them new'


def written(results: Path) -> set[tuple[str, int]]:
    """Names and times of the files of a folder."""
    found = set()
    for item in results.iterdir():
        try:
            found.add((item.name, item.stat().st_mtime_ns))
        except FileNotFoundError:  # renamed just now
            continue
    return found


def require_readable(file: Path) -> None:
    """Raise if a result is cut off."""
    if file.suffix == '.npz':
        assert zipfile.ZipFile(file).testzip() is None
    elif file.suffix == '.csv':
        rows = file.read_text().splitlines()
        assert rows[0].count(',') == rows[-1].count(',')
    elif file.suffix == '.yaml':
        yaml.safe_load(file.read_text())
    elif file.suffix == '.html':
        assert file.read_text().rstrip().endswith('</html>')
    elif file.suffix == '.json':
        json.loads(file.read_text())


def injections(folder: Path, bags: dict[str, Path]) -> Iterator[tuple[str, Callable[[Path], str]]]:
    """Names, and what to do in a folder of its own."""
    for storage, whole in bags.items():
        for largest in LIMITS:
            full = partial(record, whole, storage=storage, largest=largest, kill_at=None)
            yield f'recorder, {storage}, {largest} bytes', full
        for part in KILLED_AFTER:
            killed = partial(record, whole, storage=storage, largest=None, kill_at=part)
            yield f'recorder, {storage}, killed at {part:g}', killed
        for part in (0.4, 0.7, 0.9):
            yield f'player, {storage} cut to {part:g}', partial(play_damaged, whole, storage=storage, part=part)
    for delay in (0.2, 1.0):
        yield f'player, killed after {delay:g} s', partial(kill_player, bags['mcap'], delay=delay)
    for delay in (1.5, 2.5):
        yield f'estimator, killed after {delay:g} s', partial(kill_estimator, bags['mcap'], delay=delay)
    for name, package in (('estimate', 'pkm_estimation'), ('identify', 'pkm_identification')):
        command, results = (package, name, bags['mcap']), folder / name / 'results'
        began = time.monotonic()
        Program(*command, '-o', results).end()
        spent = time.monotonic() - began
        beside = partial(run_beside_older, command, results)
        for largest in (500, 2_000, 6_000):
            yield f'{name}, {largest} bytes', partial(beside, largest=largest)
        for part in (0.4, 0.7):
            yield f'{name}, killed at {part:g} of its time', partial(beside, kill_after=part * spent)
        for delay in (0.0, 0.02):
            yield f'{name}, killed {delay:g} s after it began to write', partial(beside, kill_writing_after=delay)


def main() -> int:
    """Run all; returns 1 if one failed."""
    failed = count = 0
    with tempfile.TemporaryDirectory(prefix='pkm_drill_') as root:
        folder = Path(root)
        os.environ['ROS_LOG_DIR'] = str(folder / 'log')
        os.environ.setdefault('ROS_DOMAIN_ID', '83')
        bags = {}
        for storage in STORAGES:
            bags[storage] = folder / storage
            Program(
                'pkm_bringup', 'simulate', 'srs', '--duration', 15, '-o', bags[storage], '--storage', storage
            ).end()
        for count, (name, inject) in enumerate(injections(folder, bags), 1):
            own = folder / str(count)
            own.mkdir()
            try:
                print(f'{count:2d} {name}: {inject(own)}', flush=True)
            except (AssertionError, BagError, TimeoutError, ValueError, KeyError) as error:
                failed += 1
                print(f'{count:2d} {name}: FAILED: {error!r}', flush=True)
    print(f'{count} injections, {failed} failed')
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())
