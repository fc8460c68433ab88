"""One pytest session in which all tests are collected once; each measurement and each trial is a fork of it."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mutation.footprint import Recorder, file_of

#: exit codes of a fork
PASSED, FAILED, BROKEN = 0, 1, 3
#: s of real time that any fork may last
PATIENCE = 1800.0
#: s of real time that it may do nothing: a test that was interrupted may have kept a lock
STILL = 60.0
#: s of the processor that a test may last, without the fixtures that it shares; slower ones take no part
LONGEST = 3.0


class TooSlowError(Exception):
    """A test lasts longer than those that take part."""


def _too_slow(number: int, frame: Any) -> None:
    raise TooSlowError


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise TooSlowError after so many seconds of the processor; 0: not at all. Afterwards what was set goes on."""
    before = signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, before[0])


@dataclass
class Ended:
    """How a fork ended.

    Attributes
    ----------
    code : exit code, or minus the number of the signal
    content : what it left
    seconds : of the processor
    """

    code: int
    content: dict[str, Any]
    seconds: float


Keep = Callable[[dict[str, Any]], None]


def fork(work: Callable[[Keep], tuple[int, dict[str, Any]]], processor_seconds: float) -> Ended:
    """Do something in a copy of this process, silently, within so much time of the processor.

    What is to be done gets a function that keeps what there is so far, for the case that it does not end.
    """
    with tempfile.TemporaryDirectory(prefix='mutation-') as folder:
        answer = Path(folder, 'answer.json')
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        child = os.fork()
        if child == 0:
            _in_child(work, answer, Path(folder), processor_seconds)
        code = _wait(child)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        content = json.loads(answer.read_text(encoding='utf-8')) if answer.exists() else {}
    return Ended(code, content, used)


def _in_child(work: Callable[[Keep], tuple[int, dict[str, Any]]], answer: Path, folder: Path, seconds: float) -> None:
    code = BROKEN
    try:
        os.setsid()
        limit = int(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 2))
        log = os.open(folder / 'output', os.O_WRONLY | os.O_CREAT)
        for stream in (1, 2):
            os.dup2(log, stream)
        os.chdir(folder)

        def keep(content: dict[str, Any]) -> None:
            passing = answer.with_suffix('.passing')
            passing.write_text(json.dumps(content), encoding='utf-8')
            passing.rename(answer)

        code, content = work(keep)
        keep(content)
    except BaseException:
        before = json.loads(answer.read_text(encoding='utf-8')) if answer.exists() else {}
        answer.write_text(json.dumps(before | {'error': traceback.format_exc()[-2000:]}), encoding='utf-8')
    finally:
        os._exit(code)


def _wait(child: int) -> int:
    end = time.monotonic() + PATIENCE
    pause, used, moved = 0.005, -1.0, time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        now = _processor_time(child)
        if now != used:
            used, moved = now, time.monotonic()
        if time.monotonic() > min(end, moved + STILL):  # endless, or waiting for what never comes
            os.killpg(child, signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.1, 1.3 * pause)


def _processor_time(process: int) -> float:
    """Ticks that a process has used; it may be gone."""
    try:
        fields = Path(f'/proc/{process}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()
    except OSError:
        return -1.0
    return float(fields[11]) + float(fields[12])


class Session:
    """Plugin of pytest: after the collection it calls back, and no test is run in this process.

    Parameters
    ----------
    then : what to do with the collected tests
    """

    def __init__(self, then: Callable[[Session], None]) -> None:
        self._then = then
        self.items: dict[str, pytest.Item] = {}
        self._failed = ''
        self._recorder: Recorder | None = None
        self._fixture_seconds: dict[str, float] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take the place of pytest's own loop."""
        self.items = {item.nodeid: item for item in session.items}
        self._then(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the first failure of a fork."""
        if report.failed and not self._failed:
            self._failed = f'{report.nodeid} {str(report.longrepr).strip().splitlines()[-1][:200]}'

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        """Count shared fixtures to themselves."""
        if self._recorder is None or fixturedef.scope == 'function':
            return (yield)
        begin, name, inner = time.process_time(), _fixture(fixturedef), sum(self._fixture_seconds.values())
        with alarm(0.0), self._recorder.context(name):
            try:
                return (yield)
            finally:  # without those that it asked for itself
                inner = sum(self._fixture_seconds.values()) - inner
                self._fixture_seconds[name] = time.process_time() - begin - inner

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """End a test that lasts too long, where pytest catches what it raises."""
        with alarm(LONGEST if self._recorder is not None else 0.0):
            return (yield)

    def run(self, names: Sequence[str]) -> tuple[int, dict[str, Any]]:
        """Run tests in this process until the first one fails."""
        for name, following in zip(names, [*names[1:], None], strict=True):
            item = self.items[name]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=self.items[following] if following else None)
            if self._failed:
                return FAILED, {'by': self._failed}
        return PASSED, {}

    def measure(self, test_file: str) -> Ended:
        """Write down the footprints of the tests of a file.

        A test that is interrupted because it lasts too long may keep a lock, or leave compiled code in the middle, so
        that the fork ends: then those up to there that did not pass are left out, and the others are measured again.
        """
        names, left_out, seconds = [name for name in self.items if name.partition('::')[0] == test_file], [], 0.0
        while True:
            chosen = [name for name in names if name not in left_out]
            ended = fork(lambda keep, chosen=chosen: self._measured(chosen, keep), 900.0)  # type: ignore[misc]
            seconds += ended.seconds
            failed = ended.content.get('failed', [])
            if 'tests' in ended.content or not failed:
                break
            left_out += failed
        if 'tests' in ended.content:
            ended.content['tests'] |= {name: {'passed': False, 'seconds': LONGEST, 'fixtures': []} for name in left_out}
            path = file_of(test_file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(ended.content), encoding='utf-8')
        return Ended(ended.code, ended.content, seconds)

    def _measured(self, names: Sequence[str], keep: Keep) -> tuple[int, dict[str, Any]]:
        """Run tests in this process; keeps, until all are done, which of them failed, with the one that runs."""
        tests: dict[str, dict[str, Any]] = {}
        self._recorder = Recorder()
        signal.signal(signal.SIGVTALRM, _too_slow)
        for name, following in zip(names, [*names[1:], None], strict=True):
            keep({'failed': [*(other for other, one in tests.items() if not one['passed']), name]})
            item, begin, self._failed = self.items[name], time.process_time(), ''
            before = sum(self._fixture_seconds.values())
            with self._recorder.context(name):
                item.config.hook.pytest_runtest_protocol(
                    item=item, nextitem=self.items[following] if following else None
                )
            fixtures: Any = getattr(item, '_fixtureinfo').name2fixturedefs  # noqa: B009
            shared = [_fixture(one) for several in fixtures.values() for one in several if one.scope != 'function']
            own = time.process_time() - begin - sum(self._fixture_seconds.values()) + before
            tests[name] = {'passed': not self._failed, 'seconds': round(own, 3), 'fixtures': shared}
        return PASSED, {'tests': tests, 'fixtures': self._fixture_seconds, 'executed': self._recorder.executed()}


def _fixture(definition: Any) -> str:
    return f'fixture {definition.baseid} {definition.argname}'


def collect(test_files: Sequence[str], then: Callable[[Session], None]) -> None:
    """Collect the tests of some files in this process, and go on with them."""
    from hypothesis import Phase, settings

    # the first failure suffices; smaller ones need not be searched for, and none is kept
    settings.register_profile('mutation', phases=[Phase.explicit, Phase.generate], derandomize=True, database=None)
    settings.load_profile('mutation')
    plugins = ('cacheprovider', 'xdist', 'timeout', 'rerunfailures', 'pytest_cov', 'repeat')
    without = [f'-pno:{name}' for name in plugins]
    session = Session(then)
    code = pytest.main(['-q', '--no-header', *without, '--hypothesis-profile=mutation', *test_files], plugins=[session])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(f'pytest ended with {code}')
