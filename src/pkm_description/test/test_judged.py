"""Judged figures and text tables."""

from __future__ import annotations

import pytest
from pkm_description.report.words import (
    JudgedFigure,
    count_by_status,
    figure_text,
    keeps_limit,
    limit_text,
    text_table,
    verdict,
)


@pytest.mark.parametrize(
    ('value', 'limit', 'at_least', 'good'),
    [
        (1.0, 1.0, False, True),
        (1.1, 1.0, False, False),
        (1.0, 1.0, True, True),
        (0.9, 1.0, True, False),
        (float('nan'), 1.0, False, False),
        (float('nan'), 1.0, True, False),
    ],
)
def test_limits(value: float, limit: float, at_least: bool, good: bool) -> None:
    assert keeps_limit(value, limit, at_least) is good
    assert JudgedFigure('a', '', '', verdict(good)).failed is not good


def test_texts() -> None:
    assert figure_text(3.25e-9, 'm/s') == '3.25e-09 m/s'
    assert figure_text(12.345678, digits=3) == '12.3'
    assert limit_text(10.0, 'um') == '<= 10 um' and limit_text(2.0, at_least=True) == '>= 2'


def test_count() -> None:
    figures = [JudgedFigure('a', '', '', status) for status in ('met', 'failed', 'met')]
    assert count_by_status(figures) == {'met': 2, 'failed': 1, 'not reachable': 0}


def test_text_table_aligns() -> None:
    table = text_table(['name', 'value'], [['mass', '1'], ['x', '1000']])
    assert table.splitlines() == ['  name  value', '  ----  -----', '  mass      1', '  x      1000']
    table = text_table(['name', 'about'], [['x', 'y z']], indent='', numbers=False)
    assert table.splitlines() == ['name  about', '----  -----', 'x     y z']
