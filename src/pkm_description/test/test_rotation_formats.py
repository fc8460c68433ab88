"""Conversions at the edges against scipy and the suite's own functions of batches."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.kinematics.rotation import (
    matrix_from_quaternion,
    matrix_from_rpy,
    quaternion_from_matrix,
    rpy_from_matrix,
)
from pkm_description.kinematics.rotation_formats import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_rpy,
    rpy_from_rotation,
)
from scipy.spatial.transform import Rotation

ROTATIONS = Rotation.random(200, random_state=5)


@pytest.mark.parametrize('place', range(0, 200, 10))
def test_against_scipy_and_the_batches(place: int) -> None:
    matrix = ROTATIONS[place].as_matrix()
    rpy, quaternion = rpy_from_rotation(matrix), quaternion_from_rotation(matrix)
    assert rpy == pytest.approx(ROTATIONS[place].as_euler('xyz'), abs=1e-12)
    assert rpy == pytest.approx(rpy_from_matrix(matrix), abs=1e-12)
    assert quaternion == pytest.approx(ROTATIONS[place].as_quat(canonical=True), abs=1e-14)
    assert quaternion == pytest.approx(quaternion_from_matrix(matrix), abs=1e-14)
    assert rotation_from_rpy(rpy) == pytest.approx(matrix, abs=1e-14)
    assert rotation_from_rpy(rpy) == pytest.approx(matrix_from_rpy(rpy), abs=1e-14)
    assert rotation_from_quaternion(3.0 * quaternion) == pytest.approx(matrix, abs=1e-14)
    assert rotation_from_quaternion(quaternion) == pytest.approx(matrix_from_quaternion(quaternion), abs=1e-14)


@pytest.mark.parametrize('given', [np.eye(3).tolist(), np.eye(3, dtype=int), np.eye(3, dtype=np.float32)])
def test_lists_and_whole_numbers(given: object) -> None:
    """NumPy 2 refuses what transforms3d asks of it for anything but float arrays."""
    assert rpy_from_rotation(given).tolist() == [0.0, 0.0, 0.0]
    assert quaternion_from_rotation(given).tolist() == [0.0, 0.0, 0.0, 1.0]
    assert rotation_from_rpy([0, 0, 0]).tolist() == np.eye(3).tolist()
    assert rotation_from_quaternion([0, 0, 0, 2]).tolist() == np.eye(3).tolist()


@pytest.mark.parametrize('pitch', [np.pi / 2, -np.pi / 2, 1.5707963267949, np.pi / 2 - 1e-7])
def test_upright_frames_keep_all_digits(pitch: float) -> None:
    matrix = Rotation.from_euler('xyz', [0.4, pitch, -2.0]).as_matrix()
    assert rotation_from_rpy(rpy_from_rotation(matrix)) == pytest.approx(matrix, abs=2e-15)


@pytest.mark.parametrize('bad', [[0.0] * 4, [np.nan, 0.0, 0.0, 1.0], [np.inf, 0.0, 0.0, 1.0]])
def test_what_is_no_rotation(bad: list[float]) -> None:
    with pytest.raises(ValueError, match='is no rotation'):
        rotation_from_quaternion(bad)
