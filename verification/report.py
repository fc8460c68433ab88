"""The report: a page with all lines and figures, the table as text, and the figures as files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pkm_description.report.page import inline, render, write_page

from verification.check import count_by_status
from verification.requirements import requirement_statuses
from verification.run import Run
from verification.table import sections


def write_report(runs: Sequence[Run], folder: Path, lines: Sequence[str], command: str, seconds: float) -> list[Path]:
    """Draw all figures and write everything into a folder.

    Parameters
    ----------
    runs : complete
    folder : exists
    lines : of the table
    command : that was given
    seconds : that the runs took

    Returns
    -------
    Files that were written.
    """
    files = [folder / 'table.txt']
    files[0].write_text('\n'.join([*lines, '']), encoding='utf-8')
    pages = []
    for run in runs:
        images = []
        for figure in run.plan.figures:
            drawn = figure.draw()
            files.append(folder / f'{figure.name}.png')
            drawn.savefig(files[-1], dpi=110)
            images.append((figure.caption, inline(drawn)))
        pages.append(_values(run, images))
    text = render(
        'verification',
        'verification.html.j2',
        runs=pages,
        command=command,
        date=f'{datetime.now(UTC):%Y-%m-%d %H:%M} UTC',
        seconds=seconds,
    )
    return [*files, write_page(text, folder / 'report.html')]


def _values(run: Run, images: list[tuple[str, str]]) -> dict[str, Any]:
    """What the template shows of a suite."""
    statuses = requirement_statuses(run.suite.requirements, run.checks)
    return {
        'name': run.suite.name,
        'title': run.suite.title,
        'count': count_by_status(run.checks),
        'remarks': run.plan.remarks(),
        'requirements': [(requirement, statuses[requirement.id]) for requirement in run.suite.requirements],
        'sections': list(sections(run)),
        'figures': images,
    }
