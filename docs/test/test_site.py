"""The documentation site is built without a warning: every link, every cross reference, every equation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1]
PAGES = [page for page in DOCS.rglob('*.md') if page.parent.name not in ('test', 'extensions', '_build')]
#: places in pages that have a name; links of Markdown to files or these, and of Sphinx to pages
LABELS = {label for page in PAGES for label in re.findall(r'^\(([\w-]+)\)=$', page.read_text(), re.MULTILINE)}
LINKS = re.compile(r'\]\((?![a-z]+:|#)([^)#\s]+)[^)]*\)|\{doc\}`(?:[^`<]*<)?([^`>]+)>?`')


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_to_files(page: Path) -> None:
    """References to Python and equations are checked in the campaign, which takes a minute to read them all."""
    for file, other in LINKS.findall(page.read_text(encoding='utf-8')):
        if file in LABELS:
            continue
        place = DOCS / other[1:] if other.startswith('/') else page.parent / (file or other)
        assert place.exists() or place.with_name(f'{place.name}.md').exists(), file or other


@pytest.mark.campaign
def test_pages_have_no_warning_and_fetch_nothing_from_elsewhere(tmp_path: Path) -> None:
    """The pages work without the internet: no script, style sheet, font or picture of another place."""
    options = ['--quiet', '--fail-on-warning', '--keep-going', '--nitpicky', '--builder', 'html']
    run = subprocess.run(
        [sys.executable, '-m', 'sphinx', *options, str(DOCS), str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert len(PAGES) > 20
    for page in PAGES:
        assert (tmp_path / page.relative_to(DOCS)).with_suffix('.html').is_file()
    for written in tmp_path.rglob('*.html'):
        fetched = re.findall(r'(?:src|<link[^>]* href)="(https?:[^"]*)"', written.read_text())
        assert fetched == [], written.name
