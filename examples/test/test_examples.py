"""Every example runs, is short, and draws one figure with something on all its axes."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from documented_commands import shorter_motions

SCRIPTS = sorted(Path(__file__).parents[1].glob('*.py'))


def test_there_are_ten() -> None:
    assert len(SCRIPTS) == 10
    listed = (SCRIPTS[0].parent / 'README.md').read_text()
    assert [script.name for script in SCRIPTS if script.name not in listed] == []


@pytest.mark.parametrize('script', SCRIPTS, ids=lambda script: script.stem)
def test_example_draws_one_figure(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpl.use('Agg')  # before pyplot: no window opens
    from matplotlib import pyplot as plt

    assert len(script.read_text().splitlines()) <= 40
    monkeypatch.setattr(sys, 'argv', [str(script)])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, 'show', lambda: None)
    plt.close('all')
    # motions of some seconds show as much
    program = compile(shorter_motions(script.read_text()), str(script), 'exec')
    exec(program, {'__name__': '__main__'})
    figures = [plt.figure(number) for number in plt.get_fignums()]
    assert len(figures) == 1
    axes = figures[0].axes
    assert axes
    assert all(axis.has_data() for axis in axes)
    figures[0].savefig(tmp_path / 'figure.png')
    plt.close('all')
