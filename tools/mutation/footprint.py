"""What each test executes: lines of Python, and kernels. Measured once, kept on the disk by test file."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import update_wrapper
from pathlib import Path
from types import ModuleType
from typing import Any

from mutation.modules import ROOT
from mutation.statements import statements

FOLDER = ROOT / 'results' / 'mutation' / 'footprints'


class Recorder:
    """Records what is executed, by context: a test, or a fixture that several tests share."""

    def __init__(self) -> None:
        import coverage

        self._coverage = coverage.Coverage(
            data_file=None, config_file=False, source=[str(ROOT / 'src')], omit=['*/test/*'], messages=False
        )
        self._contexts: list[str] = []
        self._kernels: dict[str, set[str]] = {}
        self._watch_kernels()

    def _watch_kernels(self) -> None:
        """Note calls of kernels by the names that modules have for them; kernels call what is compiled."""
        import numba
        from numba.core.dispatcher import Dispatcher
        from numba.extending import typeof_impl

        recorder = self

        class Noted:
            def __init__(self, compiled: Any) -> None:
                update_wrapper(self, compiled.py_func)
                self.compiled, self.py_func = compiled, compiled.py_func

            def __call__(self, *args: Any) -> Any:
                if recorder._contexts:
                    name = f'{self.py_func.__module__}.{self.py_func.__qualname__}'
                    recorder._kernels.setdefault(recorder._contexts[-1], set()).add(name)
                return self.compiled(*args)

        typeof_impl.register(Noted)(lambda noted, _: numba.typeof(noted.compiled))
        for module in list(sys.modules.values()):
            for name, value in list(vars(module).items()) if isinstance(module, ModuleType) else ():
                if isinstance(value, Dispatcher):
                    setattr(module, name, Noted(value))

    @contextmanager
    def context(self, name: str) -> Iterator[None]:
        """Count what is executed to this context."""
        self._contexts.append(name)
        if len(self._contexts) == 1:
            self._coverage.start()
        self._coverage.switch_context(name)
        try:
            yield
        finally:
            self._contexts.pop()
            if self._contexts:
                self._coverage.switch_context(self._contexts[-1])
            else:
                self._coverage.stop()

    def executed(self) -> dict[str, dict[str, list[str]]]:
        """By context: names of executed lines by file, and under the key ``kernels`` the kernels that Python called."""
        data, found = self._coverage.get_data(), {}
        for context in data.measured_contexts():
            data.set_query_contexts([f'^{re.escape(context)}$'])
            lines = {}
            for file in data.measured_files():
                path = Path(file).resolve()
                if path.suffix != '.py':  # templates of pages: what runs is compiled, with other lines
                    continue
                if (executed := data.lines(file)) and path.is_relative_to(ROOT / 'src'):
                    named = statements(path)
                    lines[path.relative_to(ROOT).as_posix()] = sorted({named.name(line) for line in executed})
            found[context] = lines | {'kernels': sorted(self._kernels.get(context, ()))}
        return found


def file_of(test_file: str) -> Path:
    """Where the footprints of the tests of a file are kept, for this content of the file."""
    digest = hashlib.sha256((ROOT / test_file).read_bytes()).hexdigest()[:12]
    return FOLDER / f'{test_file.replace("/", "+")}.{digest}.json'


class Footprints:
    """Footprints of the tests of some files.

    Parameters
    ----------
    test_files : paths from the root of the repository
    """

    def __init__(self, test_files: Iterable[str]) -> None:
        self.seconds: dict[str, float] = {}
        self._shared: dict[str, dict[str, float]] = {}
        self._by_line: dict[tuple[str, str], set[str]] = {}
        self._by_kernel: dict[str, set[str]] = {}
        for name in test_files:
            with suppress(FileNotFoundError):
                self._add(json.loads(file_of(name).read_text(encoding='utf-8')))

    def _add(self, content: dict[str, Any]) -> None:
        executed = content['executed']
        for test, facts in content['tests'].items():
            if not facts['passed']:
                continue
            costs = content.get('fixtures', {})
            self._shared[test] = {name: costs.get(name, 0.0) for name in facts['fixtures']}
            self.seconds[test] = facts['seconds']
            for context in (test, *facts['fixtures']):
                for file, names in executed.get(context, {}).items():
                    for name in names:
                        if file == 'kernels':
                            self._by_kernel.setdefault(name, set()).add(test)
                        else:
                            self._by_line.setdefault((file, name), set()).add(test)

    def together(self, tests: Iterable[str]) -> float:
        """Seconds of the processor that these tests take, each shared fixture once."""
        shared: dict[str, float] = {}
        total = 0.0
        for test in tests:
            total += self.seconds[test]
            shared |= self._shared[test]
        return total + sum(shared.values())

    def of_lines(self, file: str, names: Iterable[str]) -> set[str]:
        """Tests that execute one of these lines."""
        return set().union(*(self._by_line.get((file, name), set()) for name in names))

    def of_file(self, file: str) -> set[str]:
        """Tests that execute anything in a file."""
        return set().union(*(tests for (other, _), tests in self._by_line.items() if other == file))

    def of_kernels(self, names: Iterable[str]) -> set[str]:
        """Tests in which Python calls one of these kernels."""
        return set().union(*(self._by_kernel.get(name, set()) for name in names))
