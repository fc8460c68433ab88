"""The tables of the papers' requirements are of the present lists, and name command, commit and date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from verification.catalogue import SUITES
from verification.pages import list_digest, write_pages
from verification.run import Processes, Run, run_all
from verification.suite import Request

FOLDER = Path(__file__).parents[1] / 'reproduction'
PAPERS = [name for name, suite in SUITES.items() if suite.requirements]
PAGES = sorted(path.stem for path in FOLDER.glob('*.md') if path.stem != 'index')


def _ids(text: str) -> list[str]:
    return re.findall(r'^\| ([A-Z][\w-]*) \|', text.replace('\\', ''), flags=re.MULTILINE)


@pytest.mark.parametrize('name', PAGES)
def test_page_is_of_the_present_list(name: str) -> None:
    text = (FOLDER / f'{name}.md').read_text()
    assert f'List of requirements: {list_digest(name)}.' in text, f'make it anew: ./pkm verify {name} --pages {FOLDER}'
    assert _ids(text) == [requirement.id for requirement in SUITES[name].requirements]
    assert re.search(r'Made by `\./pkm verify [^`]*`, commit \w+\+?, \d{4}-\d\d-\d\d\.', text)
    assert '| failed |' not in text


def test_pages_are_of_papers() -> None:
    assert PAGES
    assert set(PAGES) <= set(PAPERS)


def test_command_writes_a_page(tmp_path: Path) -> None:
    suite = SUITES['oh_2003']
    with Processes(1) as workers:
        request = Request(('snl',), True, None)
        run = Run(suite, request, suite.plan(request, workers))
        done = list(run_all([run], workers, lambda *_: None))
    (path,) = write_pages(done, tmp_path, './pkm verify oh_2003 --quick --machine-file snl')
    text = path.read_text()
    assert _ids(text) == [requirement.id for requirement in suite.requirements]
    assert '| failed |' not in text
    assert '| met |' in text
