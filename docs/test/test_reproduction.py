"""The tables of the papers' requirements are whole, name command, commit and date, and are of the present code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from verification.catalogue import SUITES
from verification.cli import main
from verification.pages import code_digest, write_pages
from verification.run import Processes, Run, run_all
from verification.suite import Request

FOLDER = Path(__file__).parents[1] / 'reproduction'
PAPERS = [name for name, suite in SUITES.items() if suite.requirements]
PAGES = sorted(path.stem for path in FOLDER.glob('*.md') if path.stem != 'index')


def _ids(text: str) -> list[str]:
    return re.findall(r'^\| ([A-Z][\w-]*) \|', text.replace('\\', ''), flags=re.MULTILINE)


@pytest.mark.parametrize('name', PAPERS)
def test_page_has_known_requirements_and_none_that_is_not_met(name: str) -> None:
    text = (FOLDER / f'{name}.md').read_text()
    assert sorted(PAPERS) == PAGES
    assert set(_ids(text)) <= {requirement.id for requirement in SUITES[name].requirements}
    assert re.search(r'Made by `\./pkm verify [^`]*`, commit \w+\+?, \d{4}-\d\d-\d\d\.', text)
    assert '| not met |' not in text


@pytest.mark.campaign
@pytest.mark.parametrize('name', PAPERS)
def test_page_is_not_older_than_the_code(name: str) -> None:
    text = (FOLDER / f'{name}.md').read_text()
    assert f'Code: {code_digest(name)}.' in text, f'make it anew: ./pkm verify {name} --pages docs/reproduction'
    assert _ids(text) == [requirement.id for requirement in SUITES[name].requirements]
    assert '--quick' not in text


def test_pages_are_made_of_full_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(['oh_2003', '--quick', '--pages', 'pages'])
    assert 'full runs' in capsys.readouterr().err


def test_command_writes_a_page(tmp_path: Path) -> None:
    suite = SUITES['oh_2003']
    with Processes(1) as workers:
        request = Request(('snl',), True, None)
        run = Run(suite, request, suite.plan(request, workers))
        done = list(run_all([run], workers, lambda *_: None))
    (path,) = write_pages(done, tmp_path, './pkm verify oh_2003 --machine-file snl', 'abc')
    text = path.read_text()
    assert _ids(text) == [requirement.id for requirement in suite.requirements]
    assert '| not met |' not in text
    assert '| met | snl: ' in text and 'that are met |' in text
