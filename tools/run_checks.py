"""Ruff, mypy and all tests, in this order; ends with pytest's own summary. Arguments are passed on to pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHECKS = {'ruff': ['ruff', 'check', '--output-format', 'concise', '.'], 'mypy': ['mypy']}


def failed_checks() -> list[str]:
    """Run the linters; returns the names of those that complain."""
    failed = []
    for name, command in CHECKS.items():
        print(f'--- {" ".join(command)}', flush=True)
        if subprocess.run([sys.executable, '-m', *command], cwd=ROOT, check=False).returncode != 0:
            failed.append(name)
    return failed


def main(arguments: Sequence[str] = sys.argv[1:]) -> int:
    """Return pytest's exit code, or 1 if only a linter failed."""
    os.chdir(ROOT)
    failed = failed_checks()
    if failed:
        print(f'--- FAILED: {" and ".join(failed)} (see above); the tests still run', flush=True)
    print('--- pytest', flush=True)
    code = int(pytest.main(list(arguments)))
    return code or int(bool(failed))


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
