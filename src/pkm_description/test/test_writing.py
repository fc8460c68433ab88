"""Files are whole or not there; what all reports share: units, sentences, clocks, parts of pages."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from jinja2 import DictLoader, Environment
from pkm_description.errors import UnwritableError
from pkm_description.loading.overlay import write_overlay
from pkm_description.report.page import write_page
from pkm_description.report.words import (
    Scale,
    figure_text,
    keeps_limit,
    limit_text,
    scale_of,
    sentence_of,
    text_table,
    time_of_data,
)
from pkm_description.writing import make_folder, replacing, replacing_together, write_text


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """What a full disk does, for this process."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def entries(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def test_older_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    file = tmp_path / 'report.html'
    write_text(file, 'old')
    with files_of_at_most(1000), pytest.raises(UnwritableError, match=r'report.html: cannot be written: .*; .*another'):
        write_text(file, 'x' * 2000)
    assert file.read_text() == 'old'
    with pytest.raises(ZeroDivisionError), replacing(file) as beside:
        beside.write_text(str(1 / len('' if beside.write_text('half') else 'x')))
    assert file.read_text() == 'old'
    write_text(file, 'new')
    assert file.read_text() == 'new'
    assert entries(tmp_path) == ['report.html']


def test_files_that_belong_together_are_all_new_or_all_old(tmp_path: Path) -> None:
    with replacing_together(tmp_path / 'run') as folder:
        (folder / 'a').write_text('1')
        (folder / 'b').write_text('1')
    with (
        pytest.raises(UnwritableError, match='run: cannot be written'),
        files_of_at_most(1000),
        replacing_together(tmp_path / 'run') as folder,
    ):
        [(folder / name).write_text('2' * size) for name, size in (('a', 1), ('b', 2000))]
    assert entries(tmp_path / 'run') == ['a', 'b']
    assert (tmp_path / 'run' / 'a').read_text() == '1'


def test_places_that_nobody_can_write_to(tmp_path: Path) -> None:
    with pytest.raises(UnwritableError, match='No space left on device; make room there, or name another place'):
        write_text('/dev/full', 'x')
    write_text('/dev/null', 'x')
    assert Path('/dev/null').is_char_device()
    with pytest.raises(UnwritableError, match='its folder is not there: make it'):
        write_text(tmp_path / 'none' / 'file', 'x')
    with pytest.raises(UnwritableError, match='it is a folder; name a file'):
        write_text(tmp_path, 'x')
    (tmp_path / 'file').write_text('')
    for folder in (tmp_path / 'file', tmp_path / 'file' / 'below'):
        with pytest.raises(UnwritableError, match='a part of the path is a file'):
            make_folder(folder)


def test_error_of_a_file_that_the_block_reads_names_that_file(tmp_path: Path) -> None:
    missing = tmp_path / 'template.j2'
    with pytest.raises(FileNotFoundError, match='template.j2'), replacing(tmp_path / 'report.html') as beside:
        beside.write_text(missing.read_text())
    with pytest.raises(FileNotFoundError, match='template.j2'), replacing_together(tmp_path / 'run') as folder:
        (folder / 'report.html').write_text(missing.read_text())
    assert entries(tmp_path / 'run') == []


def test_what_somebody_wrote_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / 'overlay.yaml'
    write_text(file, 'mine', exclusive=True)
    with pytest.raises(FileExistsError, match='is not replaced'):
        write_text(file, 'yours', exclusive=True)
    late = tmp_path / 'late'
    with pytest.raises(FileExistsError), replacing(late, exclusive=True) as beside:
        [path.write_text(text) for path, text in ((beside, 'yours'), (late, 'mine'))]
    assert late.read_text() == file.read_text() == 'mine'
    with pytest.raises(FileExistsError):
        write_overlay(file, 'srs', {'platform.body.mass': 1.0}, date='', data='', method='')


def test_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / 'target').write_text('old')
    (tmp_path / 'link').symlink_to(tmp_path / 'target')
    write_page('new', tmp_path / 'link')
    assert (tmp_path / 'link').is_symlink()
    assert (tmp_path / 'target').read_text() == 'new'


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


def test_texts() -> None:
    assert figure_text(3.25e-9, 'm/s') == '3.25e-09 m/s'
    assert figure_text(12.345678, digits=3) == '12.3'
    assert limit_text(10.0, 'um') == '<= 10 um' and limit_text(2.0, at_least=True) == '>= 2'


def test_text_table_aligns() -> None:
    table = text_table(['name', 'value'], [['mass', '1'], ['x', '1000']])
    assert table.splitlines() == ['  name  value', '  ----  -----', '  mass      1', '  x      1000']
    table = text_table(['name', 'about'], [['x', 'y z']], indent='', numbers=False)
    assert table.splitlines() == ['name  about', '----  -----', 'x     y z']
