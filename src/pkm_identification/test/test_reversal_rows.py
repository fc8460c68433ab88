"""Rows near reversals are used as far as the model predicts them."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.machine import Machine
from pkm_identification.columns.observation import observation_model
from pkm_identification.compare import compare_with_truth
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.fitting.extension import NEAREST, reach_by_residuals
from pkm_identification.fitting.model_fit import fit_model
from pkm_identification.motion_source.sticking import nearest_reversals
from pkm_identification.pipeline import identify
from pkm_identification.preparation import PreparedData, prepare
from synthetic import recording


def test_nearest_reversal_of_each_drive() -> None:
    time = np.arange(0.0, 1.0, 0.01)
    velocities = np.stack([np.cos(2.0 * np.pi * time), np.ones_like(time)], axis=1)  # turns at 0.25 s and 0.75 s
    places = np.array([5, 25, 45, 60, 99])
    found = nearest_reversals(velocities, 100.0, places)
    np.testing.assert_allclose(found.distance[:, 0], [0.20, 0.0, 0.19, 0.15, 0.24], atol=0.0101)
    np.testing.assert_array_equal(found.direction[:, 0], [-1.0, -1.0, -1.0, 1.0, 1.0])
    assert np.isinf(found.distance[:, 1]).all()


def late_friction(machine: Machine, signals: tuple, way: float) -> tuple:
    """Signals of drives whose Coulomb friction grows over a way after a reversal, as a contact that is deflected."""
    motion, positions, forces = signals
    velocities = np.gradient(positions, motion.time, axis=0)
    missing = np.zeros_like(forces)
    for drive, joint in enumerate(machine.actuated_joints):
        turned = positions[0, drive]
        for sample in range(1, len(positions)):
            if velocities[sample - 1, drive] * velocities[sample, drive] <= 0.0:
                turned = positions[sample, drive]
            share = np.exp(-abs(positions[sample, drive] - turned) / way)
            missing[sample, drive] = -2.0 * joint.friction.coulomb * share * np.sign(velocities[sample, drive])
    return motion, positions, forces + missing


def prepared(machine: Machine, signals: tuple) -> tuple[PreparedData, float]:
    config, record = IdentificationConfig(), recording(machine, signals, 1)
    model = observation_model(machine, config, record.drive_positions, record.sample_rate)
    data = prepare(model, record, config)
    return data, reach_by_residuals(data, fit_model(data, model, config))


@pytest.mark.usefixtures('fit_alone')
def test_rows_that_fit_are_used_and_make_values_more_accurate(srs: Machine, excitation: tuple) -> None:
    data, reach = prepared(srs, excitation)
    assert reach == pytest.approx(NEAREST)
    nearer = data.with_reach(reach)
    assert np.count_nonzero(nearer.row_weights) > 1.3 * np.count_nonzero(data.row_weights)
    assert np.all(nearer.row_weights >= data.row_weights)
    config = IdentificationConfig.from_mapping({'columns.extend': False})
    result = identify(srs, recording(srs, excitation, 1), config=config)
    assert result.bands.reversal_reach == pytest.approx(NEAREST)
    assert max(abs(row.standardised_error) for row in compare_with_truth(result, srs)) < 4.0


def test_rows_that_do_not_fit_are_left_out(srs: Machine, excitation: tuple) -> None:
    """A contact that slides only after 2 mm: rows as near as before would make the friction wrong."""
    data, reach = prepared(srs, late_friction(srs, excitation, 0.002))
    assert reach > 0.8 * data.bands.reversal_reach
