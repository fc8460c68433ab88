"""MP2 surrogate and motions from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pkm_description.kinematics.rotation import rpy_from_matrix
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import RollPitchSines, profile
from pkm_description.motion.recorded_poses import MotionFileError, RecordedPoses
from scipy.spatial.transform import Rotation
from test_motion import TILTED_HOME, check_derivatives, check_home_at_rest


def test_surrogate_derivatives_and_ends() -> None:
    sines = RollPitchSines(TILTED_HOME, duration=30.0, seed=3)
    check_derivatives(sines.evaluate, np.linspace(0.5, 29.5, 300), 2e-6)
    check_home_at_rest(sines.evaluate(np.array([-1.0, 0.0, 30.0, 31.0])), TILTED_HOME)


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


def test_files_with_quaternions_begin_and_end_at_rest(tmp_path: Path) -> None:
    """As the motion player takes them; columns in another order, and one that nobody needs."""
    motion = profile('mp1', load_machine('palida'), 12.0, 20.0)
    path = tmp_path / 'motion.csv'
    quaternions = Rotation.from_matrix(motion.rotation_base_platform).as_quat()
    table = np.column_stack([quaternions, motion.position, motion.time + 5.0, np.ones(len(motion))])
    np.savetxt(path, table, delimiter=',', header='qx,qy,qz,qw,x,y,z,time,note', comments='')
    recorded = RecordedPoses.from_csv(path, at_rest=True)
    read = recorded.sampled(1000.0)
    assert len(read) == 12001 and read.time[0] == 0.0
    np.testing.assert_allclose(read.position[::50], motion.position, atol=1e-9)
    np.testing.assert_allclose(read.rotation_base_platform[::50], motion.rotation_base_platform, atol=1e-9)
    check_derivatives(recorded.evaluate, np.linspace(5.01, 16.99, 200), 1e-4)
    for end in (0, -1):
        np.testing.assert_allclose(read.twist[end], 0.0, atol=1e-12)
        np.testing.assert_allclose(read.acceleration[end], 0.0, atol=1e-9)


def test_few_poses_are_enough_at_rest(tmp_path: Path) -> None:
    path = tmp_path / 'motion.csv'
    path.write_text(f'{ANGLES}\n0,0,0,1,0,0,0\n1,0,0,1.1,0,0,0.1\n2,0,0,1,0,0,0\n')
    motion = RecordedPoses.from_csv(path, at_rest=True).sampled(100.0)
    np.testing.assert_allclose(motion.position[[0, 100, 200], 2], [1.0, 1.1, 1.0], atol=1e-12)
    assert motion.position[:, 2].max() < 1.11
    np.testing.assert_allclose(motion.twist[[0, -1]], 0.0, atol=1e-12)


ANGLES = 'time,x,y,z,roll,pitch,yaw'
QUATERNIONS = 'time,x,y,z,qx,qy,qz,qw'


@pytest.mark.parametrize(
    ('text', 'complaint'),
    [
        ('t,x\n', r"columns \['time', 'y', 'z', 'roll'.* are missing; expected a first line with time,x,y,z,roll"),
        ('', r"columns \['time', 'x'"),
        ('time,x,y,qw\n0,0,0,0\n', r"columns \['z', 'qx'"),
        (f'{ANGLES}\n0,0,0,0,0,0\n', 'line 2: yaw = None is not a finite number'),
        (f'{ANGLES}\n0,0,0,0,0,0,nan\n', "line 2: yaw = 'nan' is not a finite number"),
        (f'{QUATERNIONS}\n0,0,0,1,0,0,0,1\n1,0,zero,1,0,0,0,1\n', "line 3: y = 'zero' is not a finite number"),
        (f'{ANGLES}\n', '0 poses'),
        (f'{ANGLES}\n0,0,0,0,0,0,0\n', '1 poses'),
        (f'{ANGLES}\n' + ''.join(f'{t},0,0,0,0,0,0\n' for t in (0, 1, 2, 2, 4, 5)), 'line 5: time does not increase'),
        (f'{QUATERNIONS}\n' + ''.join(f'{t},0,0,1,0,0,0,{1 + (t == 1)}\n' for t in range(6)), 'line 3: .* norm 2'),
        (f'{ANGLES}\n' + ''.join(f'{t},0,0,0,0,0,{t}\n' for t in range(6)), 'line 6: half a turn or more away'),
    ],
)
def test_unusable_files_are_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / 'motion.csv'
    path.write_text(text)
    with pytest.raises(MotionFileError, match=complaint):
        RecordedPoses.from_csv(path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(MotionFileError, match='nothing.csv: cannot be read'):
        RecordedPoses.from_csv(tmp_path / 'nothing.csv')
