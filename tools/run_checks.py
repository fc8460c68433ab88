"""All tests, and ruff, mypy and import-linter beside them; ends with pytest's summary. Arguments go to pytest.

``--campaigns`` runs the long tests, too: those that pytest knows by the marker ``campaign``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: folder whose tests start nodes, and how many other files follow each of its files
STARTS_NODES, OTHERS = 'src/pkm_bringup/', 4
#: arguments for Python; import-linter has no module to run
CHECKS = {
    'ruff': ['-m', 'ruff', 'check', '--output-format', 'concise', '.'],
    'mypy': ['-m', 'mypy'],
    'import-linter': ['-c', 'from importlinter.cli import lint_imports_command as lint; lint()', '--no-cache'],
}


class Linters:
    """The linters, side by side with each other and with the tests: a plugin of pytest, which shows what they say."""

    def __init__(self) -> None:
        # verification/ is not installed
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get('PYTHONPATH')]))
        self._running = {}
        self._shown = False
        for name, command in CHECKS.items():
            output = tempfile.TemporaryFile('w+')  # noqa: SIM115 (read when the program has ended)
            program = subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=os.environ | {'PYTHONPATH': path},
                stdout=output, stderr=subprocess.STDOUT,
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
    """Options of pytest-xdist: one process per core, each file in one of them; none where the user chose otherwise.

    Where no file is chosen, tests that start nodes take turns with those that compute: they wait for their nodes much
    of the time. The order stays; xdist would put files with few tests last, which are the longest.
    """
    if any(argument.startswith(('-n', '--dist', '--pdb', '-s', '--collect-only', '--co')) for argument in arguments):
        return []
    options = ['-n', 'auto', '--maxprocesses', '4', '--dist', 'loadfile', '--no-loadscope-reorder']
    chosen = any(Path(argument.partition('::')[0]).exists() for argument in arguments)
    return options if chosen else [*options, *in_turns(files_with_tests())]


def files_with_tests() -> list[str]:
    """Files with tests, in the order of ``testpaths``."""
    settings = tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))
    folders = settings['tool']['pytest']['ini_options']['testpaths']
    return [str(file.relative_to(ROOT)) for name in folders for file in sorted((ROOT / name).rglob('test_*.py'))]


def in_turns(files: Sequence[str]) -> list[str]:
    """The same files, each of those that start nodes followed by some that do not."""
    waiting = [file for file in files if file.startswith(STARTS_NODES)]
    others = [file for file in files if not file.startswith(STARTS_NODES)]
    ordered: list[str] = []
    for place, file in enumerate(waiting):
        ordered += [file, *others[OTHERS * place : OTHERS * (place + 1)]]
    return [*ordered, *others[OTHERS * len(waiting) :]]


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
    code = int(pytest.main([*options, *arguments], plugins=[linters]))
    linters.show()
    return code or int(bool(linters.failed()))


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
