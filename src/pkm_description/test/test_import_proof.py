"""Imported machines against their sources' own engines: closures, forward kinematics, drive forces."""

from __future__ import annotations

import pytest
from loop_files import WRITERS
from pkm_description.importing import importer
from pkm_description.importing.importer import compared, imported
from pkm_description.importing.selection import Choice


@pytest.mark.parametrize('format_name', WRITERS)
def test_five_bar_moves_and_pushes_as_its_source(format_name, tmp_path):
    pytest.importorskip('mujoco' if format_name == 'mjcf' else 'pinocchio')
    result = imported(WRITERS[format_name](tmp_path), choice=Choice('tool'))
    path = tmp_path / 'machine.yaml'
    path.write_text(result.text)
    figures = compared(result, samples=6)
    assert figures.source_gap < 1e-11
    assert figures.machine_gap < 1e-11
    assert max(figures.position, figures.rotation, figures.joints) < 1e-9
    assert figures.force < 1e-8


def test_says_so_where_the_engine_is_missing(tmp_path, monkeypatch):
    result = imported(WRITERS['urdf and loops'](tmp_path), choice=Choice('tool'))
    monkeypatch.setattr(importer.importlib.util, 'find_spec', lambda name: None)
    assert 'pinocchio is not installed' in compared(result)
