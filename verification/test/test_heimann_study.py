"""Checks of measured motion and forces after Heimann & Abdellatif: they pass, and a filter with a gap is found out."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.loading import load_machine

from verification.heimann_abdellatif import measurement


def failed(checks) -> list[str]:
    return [check.id for check in checks if check.status != 'met']


@pytest.mark.campaign
def test_measured_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine('palida')
    checks = list(measurement.checks(machine, True))
    assert failed(checks) == []
    assert {check.id for check in checks} == {'R4-15', 'R4-30', 'R4-31', 'R4-32', 'R4-33', 'R4-39'}
    motion = measurement.periodic_motion(machine, 1)
    right = measurement.line_filter

    def of_forces_alone(values: np.ndarray, *arguments: object) -> np.ndarray:
        return values if values.ndim == 3 else right(values, *arguments)

    monkeypatch.setattr(measurement, 'line_filter', of_forces_alone)
    assert 'R4-33' in failed(measurement.filter_checks(machine, motion))
    monkeypatch.setattr(measurement, 'HARMONICS', 4)
    assert 'R4-31' in failed(measurement.pose_checks(machine, motion))
