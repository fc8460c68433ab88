"""The documentation site is built without a warning: every link, every cross reference, every equation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1]


@pytest.fixture(scope='module')
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Folder of the pages, and what Sphinx complained about."""
    folder = tmp_path_factory.mktemp('site')
    options = ['--quiet', '--fail-on-warning', '--keep-going', '--nitpicky', '--builder', 'html']
    run = subprocess.run(
        [sys.executable, '-m', 'sphinx', *options, str(DOCS), str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return folder, run.stderr if run.returncode else ''


def test_no_warning(site: tuple[Path, str]) -> None:
    assert site[1] == ''


def test_every_page_is_there(site: tuple[Path, str]) -> None:
    sources = [page for page in DOCS.rglob('*.md') if page.parent.name not in ('test', 'extensions', '_build')]
    assert len(sources) > 20
    for page in sources:
        assert (site[0] / page.relative_to(DOCS)).with_suffix('.html').is_file()


def test_nothing_is_fetched_from_elsewhere(site: tuple[Path, str]) -> None:
    """The pages work without the internet: no script, style sheet, font or picture of another place."""
    for page in site[0].rglob('*.html'):
        fetched = re.findall(r'(?:src|<link[^>]* href)="(https?:[^"]*)"', page.read_text())
        assert fetched == [], page.name
