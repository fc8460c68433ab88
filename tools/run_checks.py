"""All tests, and ruff, mypy and import-linter beside them; ends with pytest's summary. Arguments go to pytest.

``--campaigns`` runs the long tests, too: those that pytest knows by the marker ``campaign``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from processes import YIELD, Processes

ROOT = Path(__file__).resolve().parents[1]
#: processes at most: each takes up to a gigabyte, and half a minute to read all tests
MOST_PROCESSES = 5
#: arguments for Python; import-linter has no module to run
CHECKS = {
    'ruff': ['-m', 'ruff', 'check', '--output-format', 'concise', '.'],
    'mypy': ['-m', 'mypy'],
    'import-linter': ['-c', 'from importlinter.cli import lint_imports_command as lint; lint()', '--no-cache'],
}


class Linters:
    """The linters, side by side with each other and with the tests: a plugin of pytest, which shows what they say.

    They yield to tests, as those that compute do: nobody waits for them before the end.
    """

    def __init__(self) -> None:
        # verification/ is not installed
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get('PYTHONPATH')]))
        self._running = {}
        self._shown = False
        for name, command in CHECKS.items():
            output = tempfile.TemporaryFile('w+')  # noqa: SIM115 (read when the program has ended)
            program = subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=os.environ | {'PYTHONPATH': path},
                stdout=output, stderr=subprocess.STDOUT, preexec_fn=lambda: os.nice(YIELD),
            )  # fmt: skip
            self._running[name] = program, output

    def failed(self) -> list[str]:
        """Names of those that complain, when all have ended."""
        return [name for name, (program, _) in self._running.items() if program.wait() != 0]

    def told(self) -> str:
        """What each of them says."""
        texts = []
        for name, (program, output) in self._running.items():
            program.wait()
            output.seek(0)
            texts.append(f'--- {name}\n{output.read().rstrip()}')
        return '\n'.join(texts)

    def pytest_keyboard_interrupt(self) -> None:
        """End them: whoever presses Ctrl-C waits for nothing."""
        for program, _ in self._running.values():
            program.terminate()
        self._running.clear()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Between the failures and the last lines of pytest."""
        self.show(terminalreporter.write_line)

    def show(self, write: Callable[[str], object] = print) -> None:
        """Show what they say, once: pytest may end before it has a summary."""
        if self._shown:
            return
        self._shown = True
        write(self.told())
        if failed := self.failed():
            write(f'--- FAILED: {" and ".join(failed)} (see above)')


def side_by_side(arguments: Sequence[str]) -> list[str]:
    """Options of pytest-xdist, each file in one process; none where the user chose otherwise.

    One process more than cores: that with the nodes waits much of the time. The order of files stays; xdist would put
    those with few tests last, which are the longest.
    """
    if any(argument.startswith(('-n', '--dist', '--pdb', '-s', '--collect-only', '--co')) for argument in arguments):
        return []
    return ['-n', str(min((os.cpu_count() or 1) + 1, MOST_PROCESSES)), '--dist', 'loadfile', '--no-loadscope-reorder']


def with_campaigns(arguments: Sequence[str]) -> list[str]:
    """Arguments of pytest, which leaves the campaigns out unless it is told otherwise (``addopts``)."""
    chosen = ['-m', ''] if '--campaigns' in arguments else []
    return [*chosen, *(argument for argument in arguments if argument != '--campaigns')]


def main(arguments: Sequence[str] = sys.argv[1:]) -> int:
    """Return pytest's exit code, or 1 if only a linter failed."""
    os.chdir(ROOT)
    arguments = with_campaigns(arguments)
    linters = Linters()
    options = side_by_side(arguments)
    if options:
        os.environ.pop('ROS_DOMAIN_ID', None)  # each process takes one of its own
        os.environ.pop('PYTHONDONTWRITEBYTECODE', None)  # what one has made of the files of tests, the others read
    code = int(pytest.main([*options, *arguments], plugins=[linters, *([Processes()] if options else [])]))
    linters.show()
    return code or int(bool(linters.failed()))


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
