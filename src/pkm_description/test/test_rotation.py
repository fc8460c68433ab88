"""Rotation helpers against SciPy and by their own inverses."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.kinematics.rotation import (
    cross,
    matrix_from_quaternion,
    matrix_from_rpy,
    quaternion_from_matrix,
    rotation_about_axis,
    rotation_exp,
    rotation_log,
    rpy_from_matrix,
    skew,
)
from scipy.spatial.transform import Rotation

RANDOM = np.random.default_rng(3)


def test_exp_log_against_scipy_from_tiny_to_nearly_pi() -> None:
    axis = RANDOM.normal(size=(60, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    vectors = axis * np.concatenate([np.logspace(-12, 0, 50), np.linspace(3.0, np.pi - 1e-6, 10)])[:, None]
    rotation = rotation_exp(vectors)
    np.testing.assert_allclose(rotation, Rotation.from_rotvec(vectors).as_matrix(), atol=1e-15)
    np.testing.assert_allclose(rotation_log(rotation), vectors, rtol=1e-9, atol=1e-15)


def test_single_rotations_as_in_a_batch() -> None:
    vectors = np.concatenate([RANDOM.normal(size=(200, 3)) * 1.5, np.pi * np.eye(3), 1e-9 * np.eye(3)])
    rotations = rotation_exp(vectors)
    quaternions = quaternion_from_matrix(rotations)
    np.testing.assert_allclose([rotation_exp(vector) for vector in vectors], rotations, atol=1e-15)
    singly = np.array([quaternion_from_matrix(rotation) for rotation in rotations])
    np.testing.assert_allclose(singly, quaternions, atol=1e-15)
    matrices = [matrix_from_quaternion(3.0 * quaternion) for quaternion in quaternions]
    np.testing.assert_allclose(matrices, rotations, atol=1e-14)
    with pytest.raises(ValueError, match='zero quaternion'):
        matrix_from_quaternion(np.zeros(4))
    np.testing.assert_allclose(Rotation.from_quat(singly).as_matrix(), rotations, atol=1e-14)
    assert np.isnan(quaternion_from_matrix(np.full((3, 3), np.nan))).all()


def test_zero_rotation() -> None:
    np.testing.assert_array_equal(rotation_exp(np.zeros(3)), np.eye(3))
    np.testing.assert_array_equal(rotation_log(np.eye(3)), np.zeros(3))


def test_quaternion_and_rpy_round_trip_and_convention() -> None:
    rotation = Rotation.random(200, random_state=5)
    matrix = rotation.as_matrix()
    quaternion = quaternion_from_matrix(matrix)
    assert np.all(quaternion[:, 3] >= 0.0)
    np.testing.assert_allclose(matrix_from_quaternion(quaternion), matrix, atol=1e-12)
    rpy = rpy_from_matrix(matrix)
    np.testing.assert_allclose(rpy, rotation.as_euler('ZYX')[:, ::-1], atol=1e-12)
    np.testing.assert_allclose(matrix_from_rpy(rpy), matrix, atol=1e-12)


def test_half_turns_have_a_quaternion() -> None:
    for axis in np.eye(3):
        half_turn = Rotation.from_rotvec(np.pi * axis).as_matrix()
        np.testing.assert_allclose(np.abs(quaternion_from_matrix(half_turn)[:3]), axis, atol=1e-15)


def test_leading_axes_broadcast() -> None:
    vectors = RANDOM.normal(size=(4, 5, 3))
    assert rotation_exp(vectors).shape == (4, 5, 3, 3)
    np.testing.assert_allclose(cross(vectors, vectors[0, 0]), np.cross(vectors, vectors[0, 0]), atol=1e-15)
    np.testing.assert_allclose(skew(vectors) @ vectors[0, 0], np.cross(vectors, vectors[0, 0]), atol=1e-15)
    axis = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    np.testing.assert_allclose(
        rotation_about_axis(axis, np.full((4, 5), 0.7)), rotation_exp(0.7 * axis), atol=1e-15
    )
