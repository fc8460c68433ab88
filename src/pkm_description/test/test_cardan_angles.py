"""Three-angle descriptions against scipy's rotations and finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics.rotation import skew
from pkm_description.kinematics.rotation_formats import (
    angle_motion,
    angle_rate_matrix,
    angle_rate_matrix_rate,
    angles_from_matrix,
    angular_motion,
    matrix_from_angles,
)
from scipy.spatial.transform import Rotation

ORDERS = [''.join(order) for order in itertools.product('xyz', repeat=3) if order[0] != order[1] != order[2]]


@pytest.fixture(scope='module')
def angles() -> np.ndarray:
    drawn = np.random.default_rng(3).uniform(-1.2, 1.2, (25, 3))
    drawn[:, 1] = np.abs(drawn[:, 1]) + 0.05  # valid for Cardan and for Euler angles
    return drawn


def test_twelve_orders() -> None:
    assert len(ORDERS) == 12


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
    back = angle_motion(angles, velocity, acceleration, order)
    np.testing.assert_allclose(back[0], rates, atol=1e-11)
    np.testing.assert_allclose(back[1], second, atol=1e-10)


def test_printed_matrix_of_the_cardan_angles() -> None:
    """Columns of S, worked out by hand: e_x, (0, cos a, sin a), (sin b, -sin a cos b, cos a cos b)."""
    a, b = 0.3, -0.5
    expected = [[1, 0, np.sin(b)], [0, np.cos(a), -np.sin(a) * np.cos(b)], [0, np.sin(a), np.cos(a) * np.cos(b)]]
    np.testing.assert_allclose(angle_rate_matrix(np.array([a, b, 0.7]), 'xyz'), expected, atol=1e-15)


def test_gimbal_lock_is_named() -> None:
    angles = np.array([[0.1, 0.2, 0.3], [0.1, np.pi / 2, 0.3]])
    with pytest.raises(SingularPoseError, match=r"sample 1: first and third axis of the angles 'xyz'"):
        angle_motion(angles, np.ones((2, 3)), np.ones((2, 3)), 'xyz')


@pytest.mark.parametrize('order', ['xy', 'xxz', 'abc', 'xyzx'])
def test_other_orders_are_refused(order: str) -> None:
    with pytest.raises(ValueError, match='expected three letters'):
        matrix_from_angles(np.zeros(3), order)
