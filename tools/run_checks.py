"""Ruff, mypy, import-linter and all tests, in this order; ends with pytest's summary. Arguments go to pytest.

``--campaigns`` runs the long tests, too: those that pytest knows by the marker ``campaign``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: arguments for Python; import-linter has no module to run
CHECKS = {
    'ruff': ['-m', 'ruff', 'check', '--output-format', 'concise', '.'],
    'mypy': ['-m', 'mypy'],
    'import-linter': ['-c', 'from importlinter.cli import lint_imports_command as lint; lint()', '--no-cache'],
}


def failed_checks() -> list[str]:
    """Run the linters side by side; returns the names of those that complain."""
    failed = []
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get('PYTHONPATH')]))  # verification/ is not installed
    environment = os.environ | {'PYTHONPATH': path}
    with ThreadPoolExecutor() as pool:
        started = [
            pool.submit(
                subprocess.run, [sys.executable, *command], cwd=ROOT, env=environment, check=False, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
            for command in CHECKS.values()
        ]  # fmt: skip
        for name, running in zip(CHECKS, started, strict=True):
            done = running.result()
            print(f'--- {name}', done.stdout.rstrip(), sep='\n', flush=True)
            if done.returncode != 0:
                failed.append(name)
    return failed


def side_by_side(arguments: Sequence[str]) -> list[str]:
    """Options of pytest-xdist: one process per core, each file in one of them; none where the user chose otherwise.

    Files come in the order of ``testpaths``; xdist would put those with few tests last, which are the longest.
    """
    if any(argument.startswith(('-n', '--dist', '--pdb', '-s', '--collect-only', '--co')) for argument in arguments):
        return []
    return ['-n', 'auto', '--maxprocesses', '4', '--dist', 'loadfile', '--no-loadscope-reorder']


def with_campaigns(arguments: Sequence[str]) -> list[str]:
    """Arguments of pytest, which leaves the campaigns out unless it is told otherwise (``addopts``)."""
    chosen = ['-m', ''] if '--campaigns' in arguments else []
    return [*chosen, *(argument for argument in arguments if argument != '--campaigns')]


def main(arguments: Sequence[str] = sys.argv[1:]) -> int:
    """Return pytest's exit code, or 1 if only a linter failed."""
    os.chdir(ROOT)
    arguments = with_campaigns(arguments)
    failed = failed_checks()
    if failed:
        print(f'--- FAILED: {" and ".join(failed)} (see above); the tests still run', flush=True)
    print('--- pytest', flush=True)
    options = side_by_side(arguments)
    if options:
        os.environ.pop('ROS_DOMAIN_ID', None)  # each process takes one of its own
    code = int(pytest.main([*options, *arguments]))
    return code or int(bool(failed))


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
