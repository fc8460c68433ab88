"""The command line: a bag in, report and overlay out; errors in one line."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_estimation.bags import BagWriter
from pkm_identification.nodes import identify as program
from pkm_identification.nodes.identify import main
from synthetic import NOMINAL, recording

pytestmark = pytest.mark.usefixtures('unseen')


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
    settings.write_text('identification: {ros__parameters: {machine: srs, judgement: {max_relative_std: 0.1}}}')
    arguments = ['--split', '0:12,26:36', '--overlay', str(NOMINAL / 'nominal_srs.yaml'), '--config', str(settings)]
    assert main([str(bag), *arguments, '--truth', 'srs', '-o', str(tmp_path / 'out')]) == 0
    text = capsys.readouterr().out
    assert 'held-out force error' in text
    assert 'platform_link.m + 6 leg_rod.m' in text
    assert str(tmp_path / 'out' / 'report.html') in text
    machine = load_machine('srs', tmp_path / 'out' / 'overlay.yaml')
    assert machine.platform.mass == pytest.approx(srs.platform.mass, rel=0.01)


@pytest.mark.parametrize(
    ('limit', 'code', 'word'),
    [pytest.param(0.5, 0, 'passed', marks=pytest.mark.campaign), (0.000001, 4, 'failed')],
)
def test_declared_limits_decide_the_exit_code(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture, limit: float, code: int, word: str
) -> None:
    settings = tmp_path / 'settings.yaml'
    judgement = f'judgement: {{max_relative_absolute: {limit:f}, direct_window: 0.1}}'
    settings.write_text(f'{judgement}\ncolumns: {{extend: false}}')
    arguments = [str(bag), '--split', '0:12,26:36', '--config', str(settings), '-o', str(tmp_path / 'out')]
    assert main(arguments) == code
    text = capsys.readouterr().out
    assert f'held-out verdict: {word}; eps_RA' in text
    assert 'direct dynamics:' in text
    data = yaml.safe_load((tmp_path / 'out' / 'parameters.yaml').read_text())
    assert data['verdict']['status'] == word
    assert data['verdict']['figures'][0]['limit'] == limit
    assert data['force_error']['validation']['overlay']['below_cutoff']['relative_absolute'] == (
        data['verdict']['figures'][0]['value']
    )
    assert data['direct_dynamics']['windows'] > 50


def test_the_bag_itself_is_no_validation(bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for arguments, words in (
        (['--validation', str(bag)], 'is the recording of the identification itself'),
        (['--split', '0:20,15:25'], 'share 5 s of .*; held-out data must be another motion'),
    ):
        assert main([str(bag), *arguments, '-o', str(tmp_path / 'out')]) == 1
        assert re.search(words, capsys.readouterr().err)
    assert not (tmp_path / 'out').exists()


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--split', '0-25'], 'expected start:end'),
        (['--split', '0:25,26:41,42:50'], 'one or two intervals'),
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
    assert main([str(bag), *arguments, '-o', str(tmp_path / 'out')]) == 1
    text = capsys.readouterr().err
    assert text.startswith('error: ')
    assert re.search(words, text)
    assert not (tmp_path / 'out').exists()


def test_a_long_stage_says_that_it_goes_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(program, 'BEAT', 0.02)
    with program.printed_progress() as say:
        say('least squares')
        time.sleep(0.2)
    text = capsys.readouterr().out
    assert text.startswith('  least squares') and text.count('s: least squares ...') >= 3
