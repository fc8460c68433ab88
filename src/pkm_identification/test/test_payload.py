"""A body on the platform: its parameters from an identification with it and one without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.machine import Machine, RigidBody
from pkm_description.machine.machine import with_payload
from pkm_identification.compare import payload_between
from pkm_identification.errors import NotExcitedError
from synthetic import clean_signals, recording

from pkm_identification import IdentificationConfig, IdentificationResult, identify

BODY = RigidBody('payload', 150.0, np.array([0.1, -0.05, 0.2]), np.diag([6.0, 8.0, 5.0]))


def identified(nominal: Machine, machine: Machine, name: str, seed: int) -> IdentificationResult:
    run = recording(machine, clean_signals(machine, name, 16.0, 100.0, 0), seed)
    return identify(nominal, run, config=IdentificationConfig.from_mapping({'columns.extend': False}))


@pytest.mark.usefixtures('fit_alone')
def test_ten_parameters_from_recordings_with_and_without() -> None:
    srs = known_machine('srs')
    without = identified(srs, srs, 'fourier', 1)
    found = payload_between(without, identified(srs, with_payload(srs, BODY), 'fourier_validation', 2))
    assert [name.partition('.')[2] for name in found.names][:2] == ['m', 'mx'] and len(found.names) == 10
    assert np.abs((found.values - BODY.parameters) / found.std).max() < 5.0
    assert found.values[0] == pytest.approx(150.0, rel=0.01)
    other = replace(without, machine=replace(srs, platform=replace(srs.platform, name='table')))
    with pytest.raises(NotExcitedError, match='no base parameter in common'):
        payload_between(other, without)
