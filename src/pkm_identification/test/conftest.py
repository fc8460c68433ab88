"""Fixtures: machine and recordings that several tests share, computed once."""

from __future__ import annotations

from pathlib import Path

import pytest
from known_machines import known_machine
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_identification.pipeline import identify
from pkm_identification.report import html_report
from pkm_identification.report.files import write_result
from pkm_identification.result import IdentificationResult
from synthetic import NOMINAL, clean_signals, recording

from pkm_identification import pipeline


@pytest.fixture(scope='session')
def srs() -> Machine:
    """Return the true machine."""
    return known_machine('srs')


@pytest.fixture(scope='session')
def nominal() -> Machine:
    """Return the machine that is believed before: platform 10 % too heavy, half the friction."""
    return load_machine('srs', NOMINAL / 'nominal_srs.yaml')


@pytest.fixture(scope='session')
def excitation(srs: Machine) -> tuple:
    """Return 25 s of excitation without noise."""
    return clean_signals(srs, 'fourier', 25.0, 100.0, 0)


@pytest.fixture(scope='session')
def short(excitation: tuple) -> tuple:
    """Return the first 12 s of it, one of its periods and more, where the statement is not about little noise."""
    motion, positions, forces = excitation
    return motion[slice(0, 1200)], positions[:1200], forces[:1200]


@pytest.fixture(scope='session')
def validation(srs: Machine) -> tuple:
    """Return 15 s of another excitation without noise."""
    return clean_signals(srs, 'fourier_validation', 15.0, 100.0, 0)


@pytest.fixture(scope='session')
def result(srs: Machine, nominal: Machine, excitation: tuple, validation: tuple) -> IdentificationResult:
    """Return the identification of noisy data, starting from the wrong nominal machine."""
    return identify(
        nominal, recording(srs, excitation, 1, 'excitation run'), recording(srs, validation, 2, 'held-out run')
    )


def leave_pictures_out(patch: pytest.MonkeyPatch) -> None:
    """Pictures of reports are arranged but not drawn, which takes longer than an identification."""
    patch.setattr(html_report, 'inline', lambda figure, **options: 'data:image/png;base64,')


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave pictures of reports out."""
    leave_pictures_out(monkeypatch)


@pytest.fixture
def fit_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither diagnosis nor noise floor beside a fit: for tests that look at neither."""
    monkeypatch.setattr(pipeline, 'diagnose', lambda machine, recording: [])
    monkeypatch.setattr(pipeline, 'noise_floor', lambda *arguments: None)


@pytest.fixture(scope='session')
def written(result: IdentificationResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with everything that an identification leaves, but for the pictures, for reading only."""
    path = tmp_path_factory.mktemp('written')
    with pytest.MonkeyPatch.context() as patch:
        leave_pictures_out(patch)
        write_result(result, path)
    return path
