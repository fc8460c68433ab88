"""Kinematics of the platform driven by an IMU: the process model of Miletovic et al. 2017 (Eqs 16-19).

State (15): position of the IMU's point (base axes), its velocity (platform axes), vector part of the
platform's quaternion, accelerometer bias, gyroscope bias. Input (6): specific force and angular rate as measured,
both already turned into platform axes.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from pkm_estimation.filters.integrators import Integrator
from pkm_estimation.models.quaternion_products import (
    LEVI_CIVITA,
    QUATERNION_PAIRS,
    SCALAR,
    ScalarPart,
    rotation_table,
)

Array = NDArray[np.float64]

POSITION = slice(0, 3)
VELOCITY = slice(3, 6)
ATTITUDE = slice(6, 9)
ACCELEROMETER_BIAS = slice(9, 12)
GYROSCOPE_BIAS = slice(12, 15)
#: both biases
BIASES = slice(9, 15)
STATE_SIZE = 15
INPUT_SIZE = 6

STATE_GROUPS = {
    'position': POSITION,
    'velocity': VELOCITY,
    'attitude': ATTITUDE,
    'accelerometer_bias': ACCELEROMETER_BIAS,
    'gyroscope_bias': GYROSCOPE_BIAS,
}

# rows of the factors of which all rates are made: V, (q, e0), omega
_V, _P, _OMEGA = 0, 3, 7
_OTHERS = [(j, k) for j in range(3) for k in range(3) if j != k]
_PRODUCTS = (
    [(_P + a, _P + b) for a, b in QUATERNION_PAIRS]
    + [(_OMEGA + j, _V + k) for j, k in _OTHERS]
    + [(_OMEGA + j, _P + k) for j, k in _OTHERS]
    + [(_OMEGA + j, _P + SCALAR) for j in range(3)]
)
_LEFT = np.array([left for left, _ in _PRODUCTS])
_RIGHT = np.array([right for _, right in _PRODUCTS])


class _Workspace:
    """Arrays (and views of them) for one number of points, so that a step allocates next to nothing."""

    def __init__(self, count: int) -> None:
        # two stages of the integration; rows: c, V, q, e0, omega, f (the last two bias-corrected)
        self.start, self.trial = np.empty((16, count)), np.empty((16, count))
        self.left, self.right = np.empty((2, len(_PRODUCTS), count))
        # rows 0-8: the rates; 9-17: rotation matrix T_ba, column by column
        self.rates = np.empty((18, count))
        self.linear = self.rates[3:18]
        self.columns = self.rates[9:18].reshape(3, 3, count)
        self.scratch = np.empty((6, 9, count))


class InertialProcess:
    """Process model, evaluated for all points (columns) in one call.

    Parameters
    ----------
    gravity : (3,) m/s^2, base frame
    integrator : one of :mod:`pkm_estimation.filters.integrators`

    Notes
    -----
    Every term of the rates is linear in 25 products of two of the quantities V, q, e0, omega (only ``T_ba V`` needs a
    second product). So one elementwise product and one constant 15 x 25 matrix give all of them.
    """

    def __init__(self, gravity: Array, integrator: Integrator) -> None:
        self.gravity = np.array(gravity, dtype=float)
        self.integrator = integrator
        self._scalar_part = ScalarPart()
        self._table = _rate_table(self.gravity)
        self._input_matrix_table = _input_matrix_table()
        self._workspaces: dict[int, _Workspace] = {}

    @property
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""
        return self._scalar_part.outside_unit_sphere

    def rate(self, states: Array, imu: Array) -> Array:
        """Return ``f(x, u)`` (15, N) of ``states`` (15, N) for one IMU sample (6,) (Eq. 16)."""
        work = self._workspace(states.shape[1])
        work.start[0:9] = states[0:9]
        _correct(imu, states, work.start)
        rates = np.zeros(states.shape)
        rates[0:9] = self._kinematic_rate(work.start)
        return rates

    def propagate(self, states: Array, imu_start: Array, imu_end: Array, duration: float) -> Array:
        """Advance ``states`` (15, N) in place by ``duration`` seconds with the input linear between two samples (6,)."""
        work = self._workspace(states.shape[1])
        kinematic = states[0:9]
        work.start[0:9] = kinematic
        _correct(imu_start, states, work.start)
        _correct(imu_end, states, work.trial)
        self.integrator(self._kinematic_rate, kinematic, work.start, work.trial, duration, work.scratch)
        return states

    def input_matrix(self, state: Array) -> Array:
        """Return the non-zero rows 3-8 of ``G(x)`` (6, 6) for one state (15,) (Eq. 19)."""
        factors = np.empty(8)
        factors[0:6] = state[3:9]
        vector_part = state[6:9]
        factors[6] = sqrt(max(0.0, 1.0 - float(vector_part.dot(vector_part))))
        factors[7] = 1.0
        return self._input_matrix_table.dot(factors).reshape(6, 6)

    def noise_factor(self, state: Array, imu_noise_factor: Array, duration: float) -> Array:
        """Square root (15, 6) of the process noise ``duration^2 G Q G^T``.

        ``imu_noise_factor`` (6, 6) is a square root of ``Q``, the covariance of one IMU sample (Miletovic 3.6).
        """
        factor = np.zeros((STATE_SIZE, INPUT_SIZE))
        np.dot(self.input_matrix(state), duration * imu_noise_factor, out=factor[3:9])
        return factor

    def _workspace(self, count: int) -> _Workspace:
        work = self._workspaces.get(count)
        if work is None:
            work = self._workspaces[count] = _Workspace(count)
        return work

    def _kinematic_rate(self, stage: Array) -> Array:
        """Rates of position, velocity and attitude (9, N) of a stage (16, N); valid until the next call."""
        work = self._workspace(stage.shape[1])
        self._scalar_part(stage[6:9], stage[9:10])
        factors = stage[3:13]
        # mode='clip' only because 'raise' makes take() buffer its output
        factors.take(_LEFT, 0, work.left, 'clip')
        factors.take(_RIGHT, 0, work.right, 'clip')
        np.multiply(work.left, work.right, out=work.left)
        np.dot(self._table, work.left, out=work.linear)
        rates = work.rates
        np.multiply(work.columns, stage[3:6, None], out=work.columns)
        np.add.reduce(work.columns, axis=0, out=rates[0:3])
        velocity_rate = rates[3:6]
        velocity_rate += stage[13:16]
        return rates[0:9]


def _correct(imu: Array, states: Array, stage: Array) -> None:
    """Write angular rate and specific force less their biases into a stage."""
    # a stage holds omega before f, input and biases have f first: hence the two swapped halves
    np.subtract(imu.reshape(2, 3, 1), states[9:15].reshape(2, 3, -1), out=stage[10:16].reshape(2, 3, -1)[::-1])


def _rate_table(gravity: Array) -> Array:
    """Constant matrix (15, 25): T_ab g - omega x V (3), Q(q) omega (3), columns of T_ba (9)."""
    table = np.zeros((15, len(_PRODUCTS)))
    rotation, count = rotation_table(), len(QUATERNION_PAIRS)
    table[0:3, :count] = np.tensordot(gravity, rotation, axes=(0, 0))
    table[6:15, :count] = rotation.transpose(1, 0, 2).reshape(9, count)
    for n, (j, k) in enumerate(_OTHERS):
        table[0:3, count + n] = -LEVI_CIVITA[:, j, k]  # -omega x V
        table[3:6, count + 6 + n] = -0.5 * LEVI_CIVITA[:, j, k]  # q x omega / 2 = -omega x q / 2
    table[3:6, count + 12 :] = 0.5 * np.eye(3)  # e0 omega / 2
    return table


def _input_matrix_table() -> Array:
    """Constant matrix (36, 8): ``[[I, [V]x], [0, Q(q)]]`` is linear in ``(V, q, e0, 1)``."""
    table = np.zeros((6, 6, 8))
    cross_matrix = -LEVI_CIVITA  # ([v]x)[i, j] = -eps_ijk v_k
    table[0:3, 3:6, 0:3] = cross_matrix
    table[3:6, 3:6, 3:6] = 0.5 * cross_matrix
    for i in range(3):
        table[i, i, 7] = 1.0
        table[3 + i, 3 + i, 6] = 0.5
    return table.reshape(36, 8)
