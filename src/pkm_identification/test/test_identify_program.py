"""The command line: a bag in, report and overlay out; errors in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_estimation.bags import BagWriter
from pkm_identification.nodes.identify import main
from synthetic import NOMINAL, recording


def write_bag(path: Path, machine: Machine, recordings: list) -> None:
    """Joint states of several recordings, one second apart."""
    names = [joint.name for joint in machine.actuated_joints]
    stamps, start = [], 10_000_000_000
    for part in recordings:
        stamps.append(start + np.round(part.time * 1e9).astype(np.int64))
        start = int(stamps[-1][-1]) + 1_000_000_000
    positions = np.concatenate([part.drive_positions for part in recordings])
    forces = np.concatenate([part.forces for part in recordings])
    with BagWriter(path, 'mcap') as writer:
        writer.write_joint_states(np.concatenate(stamps), names, positions, np.zeros_like(positions), forces)


@pytest.fixture(scope='module')
def bag(srs: Machine, excitation: tuple, validation: tuple, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag with 25 s of excitation and 15 s of validation."""
    path = tmp_path_factory.mktemp('bags') / 'run'
    write_bag(path, srs, [recording(srs, excitation, 1), recording(srs, validation, 2)])
    return path


def test_identifies_a_bag(bag: Path, srs: Machine, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Split, nominal overlay, settings and comparison with the truth in one call."""
    settings = tmp_path / 'settings.yaml'
    settings.write_text('identification: {ros__parameters: {machine: srs, max_relative_std: 0.1}}')
    arguments = ['--split', '0:25,26:41', '--overlay', str(NOMINAL / 'nominal_srs.yaml'), '--config', str(settings)]
    assert main([str(bag), *arguments, '--truth', 'srs', '-o', str(tmp_path / 'out')]) == 0
    text = capsys.readouterr().out
    assert 'held-out force error' in text
    assert 'platform_link.m + 6 leg_rod.m' in text
    assert str(tmp_path / 'out' / 'report.html') in text
    machine = load_machine('srs', tmp_path / 'out' / 'overlay.yaml')
    assert machine.platform.mass == pytest.approx(srs.platform.mass, rel=0.01)


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--split', '0-25'], 'expected start:end'),
        (['--split', '0:25,100:120'], 'no joint_states between 100 and 120 s'),
        (['--machine', 'palida'], 'is it the right machine|the machine file allows'),
        (['--machine', 'nobody'], 'nobody'),
        (['--config', 'nowhere.yaml'], 'nowhere.yaml'),
    ],
)
def test_errors_are_one_line(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture, arguments: list[str], words: str
) -> None:
    """Exit code 1 and a sentence that says what to do; no traceback, no files."""
    import re

    assert main([str(bag), *arguments, '-o', str(tmp_path / 'out')]) == 1
    text = capsys.readouterr().err
    assert text.startswith('error: ')
    assert re.search(words, text)
    assert not (tmp_path / 'out').exists()
