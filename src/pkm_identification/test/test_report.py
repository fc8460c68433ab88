"""Report and numbers on disk."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from known_machines import known_machine
from pkm_identification.report.files import write_result
from pkm_identification.report.html_report import unit_of, verdict_sentence
from pkm_identification.result import IdentificationResult
from pkm_identification.validation.held_out import Verdict


@pytest.fixture(scope='module')
def written(result: IdentificationResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with everything that an identification leaves, pictures too, for reading only."""
    path = tmp_path_factory.mktemp('with_pictures')
    write_result(result, path)
    return path


def test_report_is_self_contained(written: Path) -> None:
    """Nothing is fetched from anywhere: no scripts, no addresses, every picture inline."""
    text = (written / 'report.html').read_text()
    sources = re.findall(r'(?:src|href)\s*=\s*"([^"]*)"', text)
    assert len(sources) == 6
    assert all(source.startswith('data:image/') for source in sources)
    visible = re.sub(r'data:image/[^"]*', '', text)
    assert not re.search(r'https?://|<script|@import|url\(', visible)


def test_report_contains_the_numbers(written: Path, result: IdentificationResult) -> None:
    """Every base parameter with value and standard deviation, the force errors and the provenance."""
    text = (written / 'report.html').read_text()
    for name, value, std in zip(
        result.base.names, result.estimate.parameters, result.estimate.std, strict=True
    ):
        assert name in text
        assert f'<td>{value:.5g}</td><td>{std:.3g}</td>' in text
    assert result.validation is not None and result.noise_floor is not None
    assert f'{100 * result.validation.error.relative:.3g} %' in text
    for part in ('held-out run', 'excitation run', result.provenance['date'], 'generalised least squares', 'numpy'):
        assert part in text
    ratio = result.physical.values[0] / result.physical.nominal[0]
    assert f'<td>{ratio:.4f}</td>' in text


def test_verdict_comes_first(written: Path, result: IdentificationResult) -> None:
    """One sentence on the result, one on the residual, before everything else."""
    text = (written / 'report.html').read_text()
    box = text[text.index('<p class="box">') : text.index('</p>')]
    assert verdict_sentence(result) in box and str(result.noise_floor)[1:] in box
    assert 'base parameters are identified' in box and 'the machine as delivered predicts forces' in box
    assert box.count('.') < 12 and text.index('class="box"') < text.index('<img')


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'status': 'model insufficient'}, 'The model does not suffice'),
        ({'status': 'infeasible'}, 'No machine that can exist'),
        ({'validation': None}, 'nothing was held out'),
        ({'verdict': Verdict('failed', (), 'because')}, 'declared limits: failed'),
    ],
)
def test_sentences(result: IdentificationResult, changes: dict, words: str) -> None:
    sentence = verdict_sentence(replace(result, **changes))
    assert words in sentence and sentence.endswith('.') and sentence.count('. ') == 0


def test_tables_have_units(written: Path, result: IdentificationResult) -> None:
    """Every table with numbers says in which unit they are: in its head, or line by line."""
    text = (written / 'report.html').read_text()
    for table in re.findall(r'<table>(.*?)</table>', text, re.DOTALL):
        head = table[: table.index('</tr>')]
        assert '<th>unit</th>' in head or '[%]' in head or '<th' not in head
    for name, unit in (('m', 'kg'), ('Ixx', 'kg m^2'), ('viscous', 'N s/m')):
        assert re.search(f'<td>{name}</td><td[^>]*>{re.escape(unit)}</td>', text)


def test_units_of_mixed_drives() -> None:
    machine = known_machine('five_bar')
    assert set(machine.effort_units) == {'N m'}
    drive = machine.actuated_joint_names[0]
    assert unit_of(machine, f'{drive}.viscous') == 'N m s/rad' and unit_of(machine, f'{drive}.effort_offset') == 'N m'
    assert unit_of(machine, 'leg_rod.mx') == 'kg m' and unit_of(machine, 'drives.effort_delay') == 's'
    assert unit_of(machine, f'{drive}.gain_error') == '' and unit_of(machine, 'ripple_period') == 'rad'
    assert unit_of(known_machine('srs'), 'leg1_prismatic.coulomb') == 'N'


def test_numbers_file(written: Path, result: IdentificationResult) -> None:
    """Programs find the same numbers in parameters.yaml."""
    data = yaml.safe_load((written / 'parameters.yaml').read_text())
    first = data['base_parameters'][0]
    assert first['value'] == result.estimate.parameters[0]
    assert data['covariance'][0][0] == result.estimate.covariance[0, 0]
    assert data['force_error']['validation']['source'] == 'held-out run'


@pytest.mark.usefixtures('unseen')
def test_writing_again_replaces_the_files(written: Path, result: IdentificationResult, tmp_path: Path) -> None:
    """A second run into the same folder leaves one consistent set."""
    folder = shutil.copytree(written, tmp_path / 'result')
    before = (folder / 'overlay.yaml').read_text()
    files = write_result(result, folder)
    assert files.overlay is not None
    assert files.overlay.read_text() == before
