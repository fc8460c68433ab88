"""MP2 surrogate and motions from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pkm_description.errors import PkmError
from pkm_description.kinematics import leg_lengths
from pkm_description.kinematics.rotation import rpy_from_matrix
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_description.motion.recorded_poses import RecordedPoses
from pkm_description.motion.roll_pitch_sines import RollPitchSines
from test_motion import TILTED_HOME, check_derivatives, check_home_at_rest


def test_surrogate_derivatives_and_ends() -> None:
    sines = RollPitchSines(TILTED_HOME, duration=30.0, seed=3)
    check_derivatives(sines.evaluate, np.linspace(0.5, 29.5, 300), 2e-6)
    check_home_at_rest(sines.evaluate(np.array([-1.0, 0.0, 30.0, 31.0])), TILTED_HOME)


def test_surrogate_has_the_amplitudes_of_the_papers_figures() -> None:
    """Miletovic et al. 2017, section 4.1: rates within 0.16 rad/s, leg travel of 0.10 to 0.12 m, on SIMONA unscaled."""
    machine = load_machine('srs')
    motion = profile('mp2', machine, 90.0)
    lengths = leg_lengths(machine, motion.position, motion.rotation_base_platform)
    assert 0.10 < np.abs(lengths - 2.705).max() < 0.125
    assert 0.08 < np.abs(motion.angular_velocity[:, 0]).max() < 0.16


def test_recorded_poses_give_their_motion_back(tmp_path: Path) -> None:
    sines = RollPitchSines(TILTED_HOME, duration=12.0, seed=1)
    motion = sines.evaluate(np.arange(0.0, 12.001, 0.01))
    table = np.column_stack([motion.time, motion.position, rpy_from_matrix(motion.rotation_base_platform)])
    path = tmp_path / 'motion.csv'
    np.savetxt(path, table, delimiter=',', header='time,x,y,z,roll,pitch,yaw', comments='', fmt='%.15g')
    recorded = RecordedPoses.from_csv(path)
    between = np.arange(1.003, 11.0, 0.01)
    ours, true = recorded.evaluate(between), sines.evaluate(between)
    np.testing.assert_allclose(ours.position, true.position, atol=1e-9)
    np.testing.assert_allclose(ours.twist, true.twist, atol=1e-6)
    np.testing.assert_allclose(ours.acceleration, true.acceleration, atol=1e-3)
    check_derivatives(recorded.evaluate, np.linspace(1.0, 11.0, 100), 2e-5)


@pytest.mark.parametrize(
    ('text', 'complaint'),
    [
        ('t,x\n', 'first line must be "time,x,y,z,roll,pitch,yaw"'),
        ('time,x,y,z,roll,pitch,yaw\n0,0,0,0,0,0\n', 'line 2: needs 7 finite numbers'),
        ('time,x,y,z,roll,pitch,yaw\n0,0,0,0,0,0,nan\n', 'line 2: needs 7 finite numbers'),
        ('time,x,y,z,roll,pitch,yaw\n0,0,0,0,0,0,0\n', '1 poses'),
        ('time,x,y,z,roll,pitch,yaw\n' + ''.join(f'{t},0,0,0,0,0,0\n' for t in (0, 1, 2, 2, 4, 5)), 'line 5: time'),
    ],
)
def test_unusable_files_are_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / 'motion.csv'
    path.write_text(text)
    with pytest.raises(PkmError, match=complaint):
        RecordedPoses.from_csv(path)
