"""Files are whole or not there, and a full disk is said in a sentence."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pkm_description.errors import UnwritableError
from pkm_description.loading.overlay import write_overlay
from pkm_description.report.page import write_page
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
