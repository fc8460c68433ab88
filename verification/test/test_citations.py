"""Cited sections, equations, tables and figures are ones that the papers have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from verification.requirements import requirements_of

_ROOT = Path(__file__).resolve().parents[2]
_NUMBER = r'[A-Z]?\.?\d+(?:\.\d+)*'


def _numbers(first: str, *counts: int) -> set[str]:
    """Chapters or sections ``first``, ... with so many parts each: ``_numbers('3', 2)`` is 3, 3.1 and 3.2."""
    found = set()
    for place, count in enumerate(counts):
        head = str(int(first) + place)
        found |= {head, *(f'{head}.{part}' for part in range(1, count + 1))}
    return found


def _up_to(count: int) -> set[str]:
    return {str(number) for number in range(1, count + 1)}


@dataclass(frozen=True)
class Paper:
    """What a paper has, by number."""

    name: str
    section: set[str]
    eq: set[str]
    table: set[str]
    fig: set[str]


PAPERS = {
    'miletovic_2017': Paper('Miletovi[cć]', _numbers('1', 0, 0, 2, 5, 5, 0, 0), _up_to(29), _up_to(5), _up_to(17)),
    'oh_2003': Paper(
        'Oh',
        _numbers('1', 7, 4, 4, 9, 4, 0)
        | {f'2.{a}.{b}' for a, last in ((1, 3), (2, 5), (3, 2), (4, 2)) for b in range(1, last + 1)}
        | {f'2.4.1.{part}' for part in range(1, 7)}
        | {f'5.3.{part}' for part in range(1, 4)},
        _numbers('2', 89, 12, 9, 8) | {f'A.{n}' for n in range(1, 9)} | {f'B.{n}' for n in range(1, 37)},
        _numbers('2', 4, 2, 15, 6),
        _numbers('1', 5, 15, 11, 44, 16),
    ),
    'mata_2008': Paper('Mata', _numbers('1', 0, 5, 0, 0, 3, 2, 0), _up_to(34), _up_to(8), _up_to(4)),
    'rosyid_2020': Paper('Rosyid', _numbers('1', 0, 3, 0, 0, 4, 0), _up_to(41), _up_to(1), _up_to(16)),
    'heimann_abdellatif': Paper('Heimann', set(), _up_to(12), set(), _up_to(5)),
}


def cited(text: str) -> list[tuple[str, str]]:
    """Kind and number of all that a text cites: ``'Eqs 8 and 15, Fig. 9'`` gives eq 8, eq 15 and fig 9."""
    lists = re.findall(
        rf'\b(section|Eq|Table|Fig)s?\.? ((?:{_NUMBER})(?:(?:, | and | to |-|, and )(?:{_NUMBER}))*)', text
    )
    return [(kind.lower(), number) for kind, numbers in lists for number in re.findall(_NUMBER, numbers)]


def _missing(paper: Paper, text: str) -> list[tuple[str, str]]:
    return [(kind, number) for kind, number in cited(text) if number not in getattr(paper, kind)]


def test_citations_are_read() -> None:
    assert cited('sections 3.2 and 4.4, Eqs 10 to 13 and B.3, Table 1') == [
        ('section', '3.2'), ('section', '4.4'), ('eq', '10'), ('eq', '13'), ('eq', 'B.3'), ('table', '1'),
    ]  # fmt: skip
    assert _missing(PAPERS['miletovic_2017'], 'section 3.7, Eq. 29, Table 6') == [('section', '3.7'), ('table', '6')]


@pytest.mark.parametrize('suite', PAPERS)
def test_sources_of_requirements(suite: str) -> None:
    entries = requirements_of(suite)
    assert any(cited(one.source) for one in entries)
    assert {one.id: _missing(PAPERS[suite], one.source) for one in entries if _missing(PAPERS[suite], one.source)} == {}


@pytest.fixture(scope='module')
def texts() -> list[tuple[str, str]]:
    """Names and words of all files that name one of the papers; a year in parentheses is none."""
    names = re.compile('|'.join(paper.name for paper in PAPERS.values()))
    folders = [_ROOT / name for name in ('src', 'verification', 'benchmarks', 'examples')]
    paths = [path for folder in folders for path in folder.rglob('*')]
    found = [
        (path.name, path.read_text(encoding='utf-8'))
        for path in sorted(paths)
        if path.suffix in {'.py', '.md', '.yaml'} and path != Path(__file__).resolve()
    ]
    return [(name, ' '.join(re.sub(r'\(\d{4}\)', '', text).split())) for name, text in found if names.search(text)]


@pytest.mark.parametrize('suite', PAPERS)
def test_citations_in_the_tree(suite: str, texts: list[tuple[str, str]]) -> None:
    """What follows a paper's name up to the end of the parenthesis, or to another paper."""
    paper, wrong, count = PAPERS[suite], [], 0
    others = '|'.join(other.name for other in PAPERS.values())
    end = re.compile(rf'[);"|]|\b(?:{others})\b')
    for file, text in texts:
        for name in re.finditer(rf'\b{paper.name}\b', text):
            tail = end.split(text[name.end() : name.end() + 100], maxsplit=1)[0]
            count += len(cited(tail))
            wrong += [(file, *one) for one in _missing(paper, tail)]
    assert count > 5
    assert wrong == []
