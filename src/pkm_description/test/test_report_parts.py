"""What all reports share: units that are easy to read, sentences, clocks, and parts of pages."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest
from jinja2 import DictLoader, Environment
from pkm_description.report.words import (
    JudgedFigure,
    Scale,
    figure_text,
    keeps_limit,
    limit_text,
    scale_of,
    sentence_of,
    text_table,
    time_of_data,
    verdict,
)


@pytest.mark.parametrize(
    ('unit', 'values', 'expected'),
    [
        ('m', [0.2, -1.5], Scale(1.0, 'm')), ('m', [0.02, np.nan], Scale(1e3, 'mm')), ('m', 3e-5, Scale(1e6, 'um')),
        ('m', 1e-9, Scale(1e6, 'um')), ('m', [], Scale(1.0, 'm')), ('m/s', [np.inf, 4e-3], Scale(1e3, 'mm/s')),
        ('rad', 0.1, Scale(180.0 / np.pi, 'deg')), ('rad', 0.01, Scale(1e3, 'mrad')), ('1', 1e-9, Scale(1.0, '1')),
    ],
)  # fmt: skip
def test_unit_is_the_largest_in_which_there_is_something_before_the_point(unit, values, expected):
    assert scale_of(unit, values) == expected


def test_clock_of_a_recording_is_named():
    assert time_of_data(12_345_000_000) == 'begins at 12.345 s of simulated time'
    assert time_of_data(1_700_000_000_500_000_000) == 'begins at 2023-11-14T22:13:20.500+00:00'
    assert sentence_of('all well') == 'All well.'


def test_parts_escape_what_they_show():
    text = """{% from 'parts.html.j2' import pairs, picture, verdict, warnings %}
{{ verdict('a < b', false, 'why') }}{{ warnings('Data:', ['<x>']) }}
{{ pairs({'k': '<v>'}) }}{{ picture('data:,', 'p') }}"""
    parts = resources.files('pkm_description.report').joinpath('templates/parts.html.j2')
    environment = Environment(
        loader=DictLoader({'parts.html.j2': parts.read_text(encoding='utf-8'), 'page': text}), autoescape=True
    )
    shown = environment.get_template('page').render()
    assert 'class="box warning"><strong>a &lt; b</strong><br>' in shown
    assert '<li>&lt;x&gt;</li>' in shown and '<td>&lt;v&gt;</td>' in shown
    assert '<label class="zoom"><input type="checkbox"><img alt="p" src="data:,"></label>' in shown


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


def test_text_table_aligns() -> None:
    table = text_table(['name', 'value'], [['mass', '1'], ['x', '1000']])
    assert table.splitlines() == ['  name  value', '  ----  -----', '  mass      1', '  x      1000']
    table = text_table(['name', 'about'], [['x', 'y z']], indent='', numbers=False)
    assert table.splitlines() == ['name  about', '----  -----', 'x     y z']
