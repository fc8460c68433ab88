"""Each motion predicted by what was found on each, and errors by speed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import drive_positions
from pkm_description.motion.profiles import DriveSines
from pkm_identification.errors import RecordingError
from pkm_identification.recording.recording import Recording
from pkm_identification.validation.other_motions import error_by_speed, other_motions


def recorded(seed: int) -> Recording:
    machine, time = known_machine('valencia_3rps'), np.arange(0.0, 12.0, 0.005)
    motion = DriveSines(machine, 12.0, 0.8, seed).evaluate(time)
    positions = drive_positions(machine, motion.position, motion.rotation_base_platform)
    noise = np.random.default_rng(seed).normal(size=positions.shape)
    return Recording(time, positions, inverse_dynamics(machine, motion) + 5.0 * noise, source=f'motion {seed}')


def test_right_models_predict_other_motions_as_well_as_their_own() -> None:
    found = other_motions(known_machine('valencia_3rps'), [recorded(1), recorded(2)])
    assert found.cross.errors.shape == (2, 2)
    assert found.cross.errors.max() < 0.05
    assert np.nanmax(found.cross.ratios) < 3.0
    assert [len(row) for row in found.by_speed] == [2, 2]
    assert found.table().splitlines()[1].startswith('motion 1: ')


def test_what_cannot_be_compared_is_refused() -> None:
    one = recorded(1)
    machine = known_machine('valencia_3rps')
    with pytest.raises(RecordingError, match='at least two'):
        other_motions(machine, [one])
    with pytest.raises(RecordingError, match='samples are also in'):
        other_motions(machine, [one, replace(one, source='again')])


def test_errors_by_speed_against_sums_written_out() -> None:
    velocities = np.array([[0.1], [-0.1], [2.0], [-2.0]])
    measured, predicted = np.array([[1.0], [-1.0], [3.0], [-3.0]]), np.array([[2.0], [-1.0], [3.0], [-3.5]])
    found = error_by_speed(measured, predicted, velocities)
    assert found.slow[0] == pytest.approx(0.5 / 2.0) and found.fast[0] == pytest.approx(0.25 / 2.0)
    assert found.ratio[0] == pytest.approx(2.0) and found.share[0] == 0.5
    still = error_by_speed(measured, predicted, np.full((4, 1), 1.0))
    assert np.isnan(still.slow[0]) and still.share[0] == 0.0
