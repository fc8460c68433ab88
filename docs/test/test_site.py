"""The documentation site is built without a warning: every link, every cross reference, every equation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1]


def build(folder: Path, builder: str) -> str:
    """Build the site; what Sphinx complains about."""
    options = ['--quiet', '--fail-on-warning', '--keep-going', '--nitpicky', '--builder', builder]
    run = subprocess.run(
        [sys.executable, '-m', 'sphinx', *options, str(DOCS), str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return run.stderr if run.returncode else ''


def test_no_warning(tmp_path: Path) -> None:
    """All is read and resolved; no page is written."""
    assert build(tmp_path, 'dummy') == ''


@pytest.mark.campaign
def test_pages_are_there_and_fetch_nothing_from_elsewhere(tmp_path: Path) -> None:
    """The pages work without the internet: no script, style sheet, font or picture of another place."""
    assert build(tmp_path, 'html') == ''
    sources = [page for page in DOCS.rglob('*.md') if page.parent.name not in ('test', 'extensions', '_build')]
    assert len(sources) > 20
    for page in sources:
        assert (tmp_path / page.relative_to(DOCS)).with_suffix('.html').is_file()
    for written in tmp_path.rglob('*.html'):
        fetched = re.findall(r'(?:src|<link[^>]* href)="(https?:[^"]*)"', written.read_text())
        assert fetched == [], written.name
