"""Rotations, three-angle descriptions and conversions against SciPy, finite differences and their own inverses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from pkm_description.kinematics.rotation import (
    angle_rate_matrix,
    angle_rate_matrix_rate,
    angles_from_matrix,
    angular_motion,
    cross,
    matrix_from_angles,
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


def test_single_rotations_are_those_of_scipy_and_of_a_batch() -> None:
    vectors = np.concatenate([RANDOM.normal(size=(200, 3)) * 1.5, np.pi * np.eye(3), 1e-9 * np.eye(3)])
    rotations, quaternions = rotation_exp(vectors), quaternion_from_matrix(rotation_exp(vectors))
    np.testing.assert_allclose(Rotation.from_quat(quaternions).as_matrix(), rotations, atol=1e-14)
    for vector, matrix, quaternion in zip(vectors, rotations, quaternions, strict=True):
        assert rotation_exp(vector) == pytest.approx(matrix, abs=1e-15)
        assert quaternion_from_matrix(matrix) == pytest.approx(quaternion, abs=1e-15)
        assert matrix_from_quaternion(3.0 * quaternion) == pytest.approx(matrix, abs=1e-14)
        rpy = rpy_from_matrix(matrix)
        assert rpy == pytest.approx(Rotation.from_matrix(matrix).as_euler('xyz'), abs=1e-12)
        assert matrix_from_rpy(rpy) == pytest.approx(matrix, abs=1e-14)
    canonical = Rotation.from_matrix(rotations[:200]).as_quat(canonical=True)
    np.testing.assert_allclose(quaternions[:200], canonical, atol=1e-14)
    np.testing.assert_allclose(matrix_from_quaternion(3.0 * quaternions), rotations, atol=1e-14)
    assert np.isnan(quaternion_from_matrix(np.full((3, 3), np.nan))).all()


def test_zero_rotation() -> None:
    np.testing.assert_array_equal(rotation_exp(np.zeros(3)), np.eye(3))
    np.testing.assert_array_equal(rotation_log(np.eye(3)), np.zeros(3))


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


@pytest.mark.parametrize('given', [np.eye(3).tolist(), np.eye(3, dtype=int), np.eye(3, dtype=np.float32)])
def test_lists_and_whole_numbers(given: object) -> None:
    assert rpy_from_matrix(given).tolist() == [0.0, 0.0, 0.0]
    assert quaternion_from_matrix(given).tolist() == [0.0, 0.0, 0.0, 1.0]
    assert matrix_from_rpy([0, 0, 0]).tolist() == np.eye(3).tolist()
    assert matrix_from_quaternion([0, 0, 0, 2]).tolist() == np.eye(3).tolist()


@pytest.mark.parametrize('pitch', [np.pi / 2, -np.pi / 2, 1.5707963267949, np.pi / 2 - 1e-7])
def test_upright_frames_keep_all_digits(pitch: float) -> None:
    matrix = Rotation.from_euler('xyz', [0.4, pitch, -2.0]).as_matrix()
    assert matrix_from_rpy(rpy_from_matrix(matrix)) == pytest.approx(matrix, abs=2e-15)


@pytest.mark.parametrize('bad', [[0.0] * 4, [np.nan, 0.0, 0.0, 1.0], [np.inf, 0.0, 0.0, 1.0]])
def test_what_is_no_rotation(bad: list[float]) -> None:
    with pytest.raises(ValueError, match='is no rotation'):
        matrix_from_quaternion(bad)


ORDERS = [''.join(order) for order in itertools.product('xyz', repeat=3) if order[0] != order[1] != order[2]]


@pytest.fixture(scope='module')
def angles() -> np.ndarray:
    drawn = np.random.default_rng(3).uniform(-1.2, 1.2, (25, 3))
    drawn[:, 1] = np.abs(drawn[:, 1]) + 0.05  # valid for Cardan and for Euler angles
    return drawn


@pytest.mark.parametrize('order', ORDERS)
def test_matrix_is_that_of_scipy_and_back(order: str, angles: np.ndarray) -> None:
    matrix = matrix_from_angles(angles, order)
    np.testing.assert_allclose(matrix, Rotation.from_euler(order.upper(), angles).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(angles_from_matrix(matrix, order), angles, atol=1e-12)


@pytest.mark.parametrize('order', ORDERS)
def test_angular_motion_is_the_derivative(order: str, angles: np.ndarray) -> None:
    random = np.random.default_rng(4)
    rates, second = random.normal(size=(2, 25, 3))
    step = 1e-4

    def at(time: float) -> np.ndarray:
        return angles + time * rates + 0.5 * time**2 * second

    velocity, acceleration = angular_motion(angles, rates, second, order)
    turning = (matrix_from_angles(at(step), order) - matrix_from_angles(at(-step), order)) / (2.0 * step)
    np.testing.assert_allclose(skew(velocity) @ matrix_from_angles(angles, order), turning, atol=1e-6)
    later, earlier = (angular_motion(at(by), rates + by * second, second, order)[0] for by in (step, -step))
    np.testing.assert_allclose(acceleration, (later - earlier) / (2.0 * step), atol=1e-6)
    later, earlier = (angle_rate_matrix(angles + by * rates, order) for by in (step, -step))
    np.testing.assert_allclose(
        angle_rate_matrix_rate(angles, rates, order), (later - earlier) / (2.0 * step), atol=1e-6
    )


def test_printed_matrix_of_the_cardan_angles() -> None:
    """Columns of S, worked out by hand: e_x, (0, cos a, sin a), (sin b, -sin a cos b, cos a cos b)."""
    a, b = 0.3, -0.5
    expected = [[1, 0, np.sin(b)], [0, np.cos(a), -np.sin(a) * np.cos(b)], [0, np.sin(a), np.cos(a) * np.cos(b)]]
    np.testing.assert_allclose(angle_rate_matrix(np.array([a, b, 0.7]), 'xyz'), expected, atol=1e-15)


@pytest.mark.parametrize('order', ['xy', 'xxz', 'abc', 'xyzx'])
def test_other_orders_are_refused(order: str) -> None:
    with pytest.raises(ValueError, match='expected three letters'):
        matrix_from_angles(np.zeros(3), order)
