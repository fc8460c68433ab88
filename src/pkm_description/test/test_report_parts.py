"""What all reports share: units that are easy to read, sentences, clocks, and parts of pages."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest
from jinja2 import DictLoader, Environment
from pkm_description.report.words import Scale, scale_of, sentence_of, time_of_data


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
