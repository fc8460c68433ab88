"""Every command that stands in documentation and READMEs is run here, or by a test that the table names."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documented_commands import ROOT, Row, commands, launch_words, row_of, rows, runnable, shorter, shorter_motions
from warm_programs import run_program

#: what a command may need that a test does not have
NEEDS = ('hardware', 'ros', 'display', 'long', 'internet', 'docker')

TABLE = rows()
#: blocks of Python, and the pages whose blocks are whole programs
PYTHON = re.compile(r'^```python\n(.*?)^```', re.DOTALL | re.MULTILINE)
PROGRAMS = [
    page
    for page in [*sorted((ROOT / 'docs' / 'tutorials').glob('*.md')), *sorted((ROOT / 'src').glob('*/README.md'))]
    if PYTHON.search(page.read_text(encoding='utf-8'))
]


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder in which the commands run one after the other, page by page, with the project's files."""
    place = tmp_path_factory.mktemp('commands')
    for name in ('src', 'examples'):
        (place / name).symlink_to(ROOT / name)
    return place


def _environment(place: Path) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get('PYTHONPATH')]))
    return os.environ | {'PYTHONPATH': path, 'PWD': str(place), 'OPENBLAS_NUM_THREADS': '1'}


def test_there_are_commands() -> None:
    assert len(commands()) > 50


@pytest.fixture(scope='module')
def files(folder: Path) -> Path:
    """The folder after all commands that are run here, in one go: they work on what those before have written."""
    for text, page in {command.text: command.page for command in commands()}.items():
        if row_of(text, TABLE) is None and '--show-args' not in text:
            words = runnable(text, folder)
            assert words is not None, f'{page}: {text}: commands.yaml must say which test runs it, or what it needs'
            run = run_program(shorter(words), _environment(folder), folder)
            assert run.returncode == 0, f'{page}: {text}\n{run.stdout[-2000:]}\n{run.stderr[-2000:]}'
    return folder


@pytest.mark.timeout(600)
def test_commands_run(files: Path) -> None:
    assert (files / 'results' / 'srs_identified' / 'overlay.yaml').is_file()
    assert (files / 'results' / 'my_bag-estimate' / 'report.html').is_file()


@pytest.mark.parametrize('page', PROGRAMS, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_of_a_page_runs(page: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a tutorial or README one after the other, where its commands have run."""
    monkeypatch.chdir(files)
    names: dict[str, Any] = {}
    for block in PYTHON.findall(page.read_text(encoding='utf-8')):
        exec(shorter_motions(block), names)
    assert len(names) > 1


@pytest.mark.skipif(shutil.which('ros2') is not None, reason='the dry run is for machines without ros2 launch')
def test_launch_commands_are_understood(files: Path) -> None:
    """Files, arguments and their values; no process is started."""
    launched = {command.text: words for command in commands() if (words := launch_words(command.text, files))}
    needing = {text for text in launched if (row := row_of(text, TABLE)) is not None and row.needs}
    asked = {text: words for text, words in launched.items() if text not in needing and '--show-args' not in text}
    script = str(Path(__file__).with_name('dry_launches.py'))
    run = subprocess.run(
        [sys.executable, script, json.dumps(list(asked.values()))],
        cwd=files, env=_environment(files), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, f'{run.stdout[-3000:]}\n{run.stderr[-3000:]}'
    assert len(asked) > 5


@pytest.mark.parametrize('row', TABLE, ids=lambda row: row.pattern)
def test_row_of_the_table(row: Row) -> None:
    """Each stands for a command of a page, and names a test that exists, or what is needed."""
    assert any(row_of(command.text, [row]) for command in commands()), 'no page has such a command; leave the row out'
    assert bool(row.test) != bool(row.needs), 'give either test or needs'
    if row.needs:
        assert set(re.split(r', *', row.needs)) <= set(NEEDS)
        return
    file, _, name = row.test.partition('::')
    tree = ast.parse((ROOT / file).read_text(encoding='utf-8'))
    functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert name.startswith('test_')
    assert name in functions, f'{file} has {", ".join(functions)}'


def test_words_of_the_entry_script() -> None:
    """`./pkm --help` and the script know each first word that pages use."""
    script = (ROOT / 'pkm').read_text()
    words = {match[1] for command in commands() if (match := re.match(r'\./pkm ([a-z]+)', command.text))}
    for word in words:
        assert re.search(rf'^  \./pkm \S*\b{word}\b', script, flags=re.MULTILINE), f'./pkm --help does not name {word}'
