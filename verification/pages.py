"""Pages of the documentation: which requirement of a paper is met, with the figures, the command, commit and date."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from verification.check import Check
from verification.requirements import requirement_statuses, requirements_file
from verification.run import Run
from verification.table import last_line

#: a requirement with more checks than these shows the failed ones, or how many there are
_SHOWN = 3


def write_pages(runs: Iterable[Run], folder: Path, command: str) -> list[Path]:
    """Write ``<suite>.md`` for every suite that has a list of requirements.

    Parameters
    ----------
    command : that made these figures

    Raises
    ------
    OSError
        A page cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = f'`{command}`, commit {_commit()}, {datetime.now(UTC):%Y-%m-%d}'
    written = []
    for run in runs:
        if run.suite.requirements:
            path = folder / f'{run.suite.name}.md'
            path.write_text('\n'.join(_page(run, made)) + '\n', encoding='utf-8')
            written.append(path)
    return written


def list_digest(suite: str) -> str:
    """Short digest of a suite's list of requirements, by which a page tells which list it was made with."""
    return hashlib.sha256(requirements_file(suite).read_bytes()).hexdigest()[:16]


def _page(run: Run, made: str) -> Iterator[str]:
    name, requirements = run.suite.name, run.suite.requirements
    yield from (f'# {name}: {run.suite.title}', '', f'Made by {made}. List of requirements: {list_digest(name)}.', '')
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
    """Measured figures of a requirement, the failed ones first; of many checks how many there are besides."""
    chosen = sorted(checks, key=lambda check: not check.failed)[:_SHOWN]
    texts = [f'{check.machine + ": " if check.machine else ""}{check.measured}' for check in chosen]
    return '; '.join(texts) + (f'; and {len(checks) - _SHOWN} more' if len(checks) > _SHOWN else '')


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
