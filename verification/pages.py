"""Pages of the documentation: which requirement of a paper is met, with the figures, the command, commit and date."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from verification.check import Check
from verification.requirements import requirement_statuses, requirements_file
from verification.run import Run
from verification.table import last_line

#: a requirement with more checks than these shows all that are not met, else those nearest to their limits
_SHOWN = 3


def write_pages(runs: Iterable[Run], folder: Path, command: str, commit: str) -> list[Path]:
    """Write ``<suite>.md`` for every suite that has a list of requirements.

    Parameters
    ----------
    command, commit : that made these figures

    Raises
    ------
    OSError
        A page cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = f'`{command}`, commit {commit}, {datetime.now(UTC):%Y-%m-%d}'
    written = []
    for run in runs:
        if run.suite.requirements:
            path = folder / f'{run.suite.name}.md'
            path.write_text('\n'.join(_page(run, made)) + '\n', encoding='utf-8')
            written.append(path)
    return written


def code_digest(suite: str) -> str:
    """Short digest of all code that a page judges and is made by: packages, checks, and the list of requirements."""
    root = requirements_file(suite).parents[2]
    judged = [*root.glob('src/*/pkm_*/**/*.py'), *root.glob('src/*/pkm_*/**/*.yaml'), *root.glob('verification/*.py')]
    judged += [path for path in requirements_file(suite).parent.iterdir() if path.suffix in ('.py', '.yaml')]
    found = hashlib.sha256()
    for path in sorted(path for path in set(judged) if 'test' not in path.parts):
        found.update(path.relative_to(root).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def committed() -> str:
    """Name of the commit that is to be judged, which anybody can fetch.

    Raises
    ------
    ValueError
        Files differ from the last commit, or there is none.
    """
    commit = _commit()
    if not commit.isalnum() or commit == 'unknown':
        raise ValueError(f'--pages: files differ from the last commit ({commit}); commit them first')
    return commit


def _page(run: Run, made: str) -> Iterator[str]:
    name, requirements = run.suite.name, run.suite.requirements
    yield from (f'# {name}: {run.suite.title}', '', f'Made by {made}. Code: {code_digest(name)}.', '')
    yield from (f'Lines of the table: {last_line(run).partition(": ")[2]}.', '')
    yield '| id | requirement | place | required | status | measured |'
    yield '| --- | --- | --- | --- | --- | --- |'
    for requirement in requirements:
        checks = [check for check in run.checks if check.id == requirement.id]
        status = requirement_statuses([requirement], checks)[requirement.id]
        about = requirement.id, requirement.sentence, requirement.source, requirement.required
        cells = (*about, status, _figures(checks))
        yield '| ' + ' | '.join(_cell(text) for text in cells) + ' |'


def _figures(checks: list[Check]) -> str:
    """Figures of a requirement, each with its limit: all that are not met, else those that come nearest to theirs."""
    unmet = [check for check in checks if check.status != 'met']
    chosen = unmet or sorted(checks, key=_room)[:_SHOWN]
    texts = [f'{check.machine + ": " if check.machine else ""}{check.what}: {check.measured} ({check.required})'
             for check in chosen]  # fmt: skip
    return '; '.join(texts) + (f'; and {len(checks) - len(chosen)} that are met' if len(checks) > len(chosen) else '')


def _room(check: Check) -> float:
    """Distance of a figure from the nearer limit, by the width between both or by the one; infinite without one."""
    finite = [limit for limit in check.limits if np.isfinite(limit)]
    size = max(abs(finite[-1] - finite[0]) if len(finite) == 2 else max(map(abs, finite), default=0.0), 1e-300)
    return min((abs(check.figure - limit) / size for limit in finite), default=np.inf)


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table: no markup of its own."""
    plain = ' '.join(text.split())
    for mark in ('\\', '|', '*', '_', '$', '<', '[', '`', '{'):
        plain = plain.replace(mark, '\\' + mark)
    return plain


def _commit() -> str:
    """Short name of the commit, with a plus sign if files differ from it; unknown without git."""
    try:
        name = subprocess.run(
            ['git', 'describe', '--always', '--dirty=+'], cwd=Path(__file__).parent, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return 'unknown'
    return name.stdout.strip()
