"""Report and numbers on disk."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from pkm_identification.report.files import write_result
from pkm_identification.result import IdentificationResult


@pytest.fixture(scope='module')
def folder(result: IdentificationResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with everything that an identification leaves."""
    path = tmp_path_factory.mktemp('result')
    write_result(result, path)
    return path


def test_report_is_self_contained(folder: Path) -> None:
    """Nothing is fetched from anywhere: no scripts, no addresses, every picture inline."""
    text = (folder / 'report.html').read_text()
    sources = re.findall(r'(?:src|href)\s*=\s*"([^"]*)"', text)
    assert len(sources) == 5
    assert all(source.startswith('data:image/') for source in sources)
    visible = re.sub(r'data:image/[^"]*', '', text)
    assert not re.search(r'https?://|<script|@import|url\(', visible)


def test_report_contains_the_numbers(folder: Path, result: IdentificationResult) -> None:
    """Every base parameter with value and standard deviation, the force errors and the provenance."""
    text = (folder / 'report.html').read_text()
    for name, value, std in zip(
        result.base.names, result.estimate.parameters, result.estimate.std, strict=True
    ):
        assert name in text
        assert f'<td>{value:.5g}</td><td>{std:.3g}</td>' in text
    assert result.validation is not None
    assert f'{100 * result.validation.error.relative:.3g} %' in text
    for part in ('held-out run', 'excitation run', result.provenance['date'], 'weighted least squares', 'numpy'):
        assert part in text


def test_numbers_file(folder: Path, result: IdentificationResult) -> None:
    """Programs find the same numbers in parameters.yaml."""
    data = yaml.safe_load((folder / 'parameters.yaml').read_text())
    first = data['base_parameters'][0]
    assert first['value'] == result.estimate.parameters[0]
    assert data['covariance'][0][0] == result.estimate.covariance[0, 0]
    assert data['force_error']['validation']['source'] == 'held-out run'


def test_writing_again_replaces_the_files(folder: Path, result: IdentificationResult) -> None:
    """A second run into the same folder leaves one consistent set."""
    before = (folder / 'overlay.yaml').read_text()
    files = write_result(result, folder)
    assert files.overlay is not None
    assert files.overlay.read_text() == before
