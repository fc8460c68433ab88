"""The estimator's models as one writes them for FilterPy: one state at a time, plain NumPy, straight from the paper.

Same equations, integrator and noise as :mod:`pkm_estimation.models` (Miletovic et al. 2017, Eqs 16-20 and 25); the
benchmark checks that both give the same numbers.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_estimation.models import EstimatorGeometry


def scalar_part(q: Array) -> float:
    """``e0`` of a quaternion's vector part."""
    return max(0.0, 1.0 - float(q @ q)) ** 0.5


def rotation_matrix(q: Array, w: float) -> Array:
    """Platform axes to base axes; ``w`` is the scalar part."""
    x, y, z = q
    return np.array(
        [
            [x * x + w * w - y * y - z * z, 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), y * y + w * w - x * x - z * z, 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), z * z + w * w - x * x - y * y],
        ]
    )


class PlainHexapodModel:
    """Process and measurement functions of one state (15,)."""

    def __init__(self, geometry: EstimatorGeometry, imu_covariance: Array) -> None:
        self.base_points, self.platform_points = geometry.base_points, geometry.platform_points_from_imu
        self.gravity, self.imu_covariance = geometry.gravity, imu_covariance

    def rate(self, state: Array, imu: Array) -> Array:
        """``f(x, u)`` of a state with the scalar part behind it (16,)."""
        velocity, q, scalar = state[3:6], state[6:9], state[15]
        force, omega = imu[:3] - state[9:12], imu[3:] - state[12:15]
        rotation = rotation_matrix(q, scalar)
        rates = np.zeros(16)
        rates[0:3] = rotation @ velocity
        rates[3:6] = force + rotation.T @ self.gravity - _cross_matrix(omega) @ velocity
        rates[6:9] = 0.5 * (scalar * omega + _cross_matrix(q) @ omega)
        rates[15] = -0.5 * omega @ q
        return rates

    def propagate(self, state: Array, duration: float, before: Array, after: Array) -> Array:
        """One step of Heun's third-order method with the input linear between two samples."""
        start = np.append(state, scalar_part(state[6:9]))
        first = self.rate(start, before)
        second = self.rate(start + duration / 3.0 * first, before + (after - before) / 3.0)
        third = self.rate(start + 2.0 / 3.0 * duration * second, before + 2.0 / 3.0 * (after - before))
        return (start + duration * (0.25 * first + 0.75 * third))[:15]

    def lengths(self, state: Array) -> Array:
        """``h(x)``."""
        rotation = rotation_matrix(state[6:9], scalar_part(state[6:9]))
        vectors = state[0:3] + self.platform_points @ rotation.T - self.base_points
        lengths: Array = np.linalg.norm(vectors, axis=1)
        return lengths

    def process_noise(self, state: Array, duration: float) -> Array:
        """``duration^2 G Q G^T``."""
        matrix = np.zeros((15, 6))
        matrix[3:6, 0:3] = np.eye(3)
        matrix[3:6, 3:6] = _cross_matrix(state[3:6])
        matrix[6:9, 3:6] = 0.5 * (scalar_part(state[6:9]) * np.eye(3) + _cross_matrix(state[6:9]))
        return duration**2 * matrix @ self.imu_covariance @ matrix.T


def _cross_matrix(v: Array) -> Array:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
