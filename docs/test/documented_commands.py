"""The commands that stand in documentation and READMEs, and how they are run by a test."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name('commands.yaml')
_FENCE = re.compile(r'^(?P<indent> *)```bash\n(?P<block>.*?)^(?P=indent)```', re.DOTALL | re.MULTILINE)


class Command(NamedTuple):
    """One command of a page."""

    page: str
    text: str


class Row(NamedTuple):
    """A line of the table: commands that match ``pattern`` are run by a test, or need what is not here."""

    pattern: str
    test: str
    needs: str


def pages() -> list[Path]:
    """All pages of the site and all READMEs."""
    readmes = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *(ROOT / 'src').glob('*/README.md')]
    readmes += [ROOT / 'examples' / 'README.md', ROOT / 'verification' / 'README.md']
    site = sorted(page for page in (ROOT / 'docs').rglob('*.md') if '_build' not in page.parts)
    # the tutorials make files that the others take up
    return [*sorted(site, key=lambda page: page.parent.name != 'tutorials'), *readmes]


def commands() -> list[Command]:
    """Commands of all bash fences, one per line; continued lines joined, comments left out."""
    return [
        Command(str(page.relative_to(ROOT)), text)
        for page in pages()
        for fence in _FENCE.finditer(page.read_text(encoding='utf-8'))
        for text in _lines(fence['block'])
    ]


def _lines(block: str) -> Iterator[str]:
    for line in block.replace('\\\n', ' ').splitlines():
        text = ' '.join(re.sub(r'(^|\s)#.*', '', line).split())
        if text:
            yield text


def rows() -> list[Row]:
    """Read the table."""
    content = yaml.safe_load(TABLE.read_text(encoding='utf-8'))
    return [Row(row['command'], row.get('test', ''), row.get('needs', '')) for row in content]


def row_of(command: str, table: list[Row]) -> Row | None:
    """First row whose pattern (``*`` for any text) matches."""
    return next((row for row in table if fnmatchcase(command, row.pattern.replace('[', '[[]'))), None)


def runnable(text: str, folder: Path) -> list[str] | None:
    """Words that start a ``./pkm run``, ``verify`` or ``python`` command in this environment; None for any other."""
    words = shlex.split(text.replace('$PWD', str(folder)))
    if words[:2] == ['./pkm', 'run']:
        return [str(_program(words[2], words[3])), *words[4:]]
    if words[:2] == ['./pkm', 'verify']:
        return [sys.executable, '-P', '-m', 'verification', *words[2:]]
    return [sys.executable, *words[1:]] if words[0] == 'python' else None


def shorter(words: list[str]) -> list[str]:
    """The same command with a shorter simulated recording where the page makes a longer one; it shows as much.

    16 s of a recording of which another command that runs here names the parts, 10 s at rest, and 5 s of others.
    """
    longest = 16.0 if _recordings_in_parts().intersection(words) else 10.0 if 'hold' in words else 5.0
    places = {place + 1 for place, word in enumerate(words[:-1]) if word == '--duration'}
    return [f'{min(float(word), longest):g}' if place in places else word for place, word in enumerate(words)]


def shorter_motions(block: str) -> str:
    """Python of a page whose motions last 6 s at most, which shows as much."""
    return re.sub(r'\bduration=(\d+)', lambda match: f'duration={min(int(match[1]), 6)}', block)


def _recordings_in_parts() -> set[str]:
    table = rows()
    texts = [one.text for one in commands() if '--split' in one.text and row_of(one.text, table) is None]
    return {word for text in texts for word in text.split() if word.startswith('results/')}


def launch_words(text: str, folder: Path) -> list[str]:
    """Package, file and arguments of a ``./pkm launch`` command; nothing for any other."""
    words = shlex.split(text.replace('$PWD', str(folder)))
    return words[2:] if words[:2] == ['./pkm', 'launch'] else []


def _program(package: str, name: str) -> Path:
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        path = Path(prefix, 'lib', package, name)
        if path.is_file():
            return path
    raise FileNotFoundError(f'package {package} has no program {name}')
