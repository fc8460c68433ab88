"""Kinematics of the platform driven by an IMU: the process model of Miletovic et al. 2017 (Eqs 16-19).

State (15): position of the IMU's point (base axes), its velocity (platform axes), vector part of the
platform's quaternion, accelerometer bias, gyroscope bias. Input (6): specific force and angular rate as measured,
both already turned into platform axes.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy import add, multiply, subtract
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import rotation_exp

from pkm_estimation.filters.integrators import Integrator
from pkm_estimation.models.attitude import (
    LEVI_CIVITA,
    QUATERNION_PAIRS,
    SCALAR,
    ScalarPart,
    rotation_table,
)

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

class ImuMotion(NamedTuple):
    """Motion of the IMU's point at N states.

    Attributes
    ----------
    position : (N, 3) m, axes of the given positions
    rotation : (N, 3, 3), platform axes to those axes
    velocity : (N, 3) m/s, platform axes
    angular_velocity : (N, 3) rad/s, platform axes: the sample less its bias
    specific_force : (N, 3) m/s^2, platform axes: the sample less its bias
    angular_acceleration : (N, 3) or (3,) rad/s^2, platform axes
    place : (N, 3) or (3,) m, of the IMU, platform axes
    """

    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    specific_force: Array
    angular_acceleration: Array
    place: Array

    @classmethod
    def of(
        cls, states: Array, position: Array, rotation: Array, imu: Array, angular_acceleration: Array, place: Array
    ) -> ImuMotion:
        """Motion by states (N, n) and IMU samples (6,) or (N, 6), with the rest as in the attributes."""
        rate, force = imu[..., 3:] - states[:, GYROSCOPE_BIAS], imu[..., :3] - states[:, ACCELEROMETER_BIAS]
        return cls(position, rotation, states[:, VELOCITY], rate, force, angular_acceleration, place)


# rows of a stage: c, V, (q, e0), f, omega (both bias-corrected), 1; of its slopes: those of c, V, (q, e0)
_V, _P, _F, _OMEGA, _ONE = 3, 6, 10, 13, 16
_STAGE_SIZE, _SLOPE_SIZE = 17, 10
#: adds the three columns of a matrix that lie below each other; a product is faster than two additions
_SUM_OF_COLUMNS = np.kron(np.ones((1, 3)), np.eye(3))
_OTHERS = [(j, k) for j in range(3) for k in range(3) if j != k]
_PRODUCTS = (
    [(_P + a, _P + b) for a, b in QUATERNION_PAIRS]
    + [(_OMEGA + j, _V + k) for j, k in _OTHERS]
    + [(_OMEGA + j, _P + k) for j, k in _OTHERS]
    + [(_OMEGA + j, _P + SCALAR) for j in range(3)]
    + [(_OMEGA + j, _P + j) for j in range(3)]
    + [(_F + j, _ONE) for j in range(3)]
)
# left factors, right factors, and V once for each column of the rotation matrix
_FACTORS = np.array(
    [left for left, _ in _PRODUCTS] + [right for _, right in _PRODUCTS] + [_V + j for j in range(3) for _ in range(3)]
)


class _Stage:
    """One evaluation of the rates: views of a step's arrays, so that a step allocates next to nothing.

    Parameters
    ----------
    rows : (17, N) what the rates depend on
    slopes : (19, N) the rates of c, V, (q, e0), then the rotation matrix T_ba, column by column
    moves : whether the rate of c is needed; no rate depends on c itself
    """

    def __init__(self, rows: Array, slopes: Array, moves: bool) -> None:
        self.moves = moves
        count = rows.shape[1]
        self.rows = rows
        self.states, self.input = rows[:_SLOPE_SIZE], rows[_F : _F + INPUT_SIZE]
        self.factors = np.empty((len(_FACTORS), count))
        self.left, self.right = self.factors[: len(_PRODUCTS)], self.factors[len(_PRODUCTS) : 2 * len(_PRODUCTS)]
        self.velocity = self.factors[2 * len(_PRODUCTS) :]
        self.slope, self.position_rate, self.linear = slopes[:_SLOPE_SIZE], slopes[0:3], slopes[3:]
        self.columns = slopes[_SLOPE_SIZE:]


class _Workspace:
    """Stages of one step for one number of points; the scalar part e0 is integrated along within a step."""

    def __init__(self, count: int, integrator: Integrator) -> None:
        size = len(integrator.nodes)
        rows, slopes = np.ones((size, _STAGE_SIZE, count)), np.zeros((size, _SLOPE_SIZE + 9, count))
        moves = [weight != 0.0 for weight in integrator.weights]
        self.stages = [_Stage(*arrays) for arrays in zip(rows, slopes, moves, strict=True)]
        self.start, self.later = self.stages[0], list(zip(self.stages, self.stages[1:], strict=False))
        self.begin = self.start.states[0:9]
        self.scalar_part = ScalarPart(self.start.states[6:9], self.start.states[9:10])
        self.inputs = rows[:, _F : _F + INPUT_SIZE]
        self.samples = np.empty((size, INPUT_SIZE))
        self.sample_columns = self.samples[:, :, None]
        self.slopes, total = slopes.reshape(size, -1), np.empty((_SLOPE_SIZE + 9, count))
        self.total, self.change = total.reshape(-1), total[0:9]


class InertialProcess:
    """Process model, evaluated for all points (columns) in one call.

    Parameters
    ----------
    gravity : (3,) m/s^2, base frame
    integrator : one of :mod:`pkm_estimation.filters.integrators`
    state_size : more than 15 where constant states follow; they stay as they are
    mounting : rows of a rotation vector from the IMU's nominal to the true platform axes, where that is a state;
        biases are in nominal axes, all else in true ones

    Notes
    -----
    Every term of the rates is linear in 31 products of two of the quantities V, q, e0, f, omega, 1 (only ``T_ba V``
    needs a second product). So one elementwise product and one constant 16 x 31 matrix give all of them.
    """

    def __init__(
        self, gravity: Array, integrator: Integrator, state_size: int = STATE_SIZE, mounting: slice | None = None
    ) -> None:
        self.integrator, self.mounting = integrator, mounting
        self.set_gravity(gravity)
        self._input_matrix_table = _input_matrix_table()
        self._workspaces: dict[int, _Workspace] = {}
        nodes = np.array(integrator.nodes)
        self._blend = np.stack([1.0 - nodes, nodes], axis=1)
        self._ends = np.empty((2, INPUT_SIZE))
        self._duration = np.nan
        self._noise_factor = np.zeros((state_size, INPUT_SIZE))
        self._noise_rows = self._noise_factor[3:9].reshape(36)
        self._noise_factor_of: Array | None = None

    def set_gravity(self, gravity: Array) -> None:
        """Gravity (3,) m/s^2 in the axes in which positions are given from now on."""
        self.gravity = np.array(gravity, dtype=float)
        self._table = _rate_table(self.gravity)

    @property
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""
        return sum(work.scalar_part.outside_unit_sphere for work in self._workspaces.values())

    def rate(self, states: Array, imu: Array) -> Array:
        """Return ``f(x, u)`` (n, N) of ``states`` (n, N) for one IMU sample (6,) (Eq. 16)."""
        work = self._workspace(states.shape[1])
        stage = work.start
        work.begin[:] = states[0:9]
        work.scalar_part.update()
        subtract(imu[:, None], states[BIASES], stage.input)
        self._turn(stage, states)
        self._evaluate(stage)
        rates = np.zeros(states.shape)
        rates[0:9] = stage.slope[0:9]
        return rates

    def propagate(self, states: Array, imu_start: Array, imu_end: Array, duration: float) -> Array:
        """Advance ``states`` (n, N) in place by ``duration`` seconds, input linear between two samples (6,)."""
        work = self._workspace(states.shape[1])
        if duration != self._duration:
            self._set_duration(duration)
        kinematic = states[0:9]
        work.begin[:] = kinematic
        work.scalar_part.update()
        ends = self._ends
        ends[0], ends[1] = imu_start, imu_end
        self._blend.dot(ends, work.samples)
        subtract(work.sample_columns, states[BIASES], work.inputs)
        if self.mounting is not None:
            for stage in work.stages:
                self._turn(stage, states)
        start = work.start
        self._evaluate(start)
        for reach, (before, stage) in zip(self._reaches, work.later, strict=True):
            multiply(before.slope, reach, stage.states)
            add(stage.states, start.states, stage.states)
            self._evaluate(stage)
        self._weights.dot(work.slopes, work.total)
        add(kinematic, work.change, kinematic)
        return states

    def _set_duration(self, duration: float) -> None:
        """Prepare steps of this length; arrays of zero dimensions, which ufuncs take faster than floats."""
        self._duration = duration
        self._reaches = [np.array(duration * node) for node in self.integrator.nodes[1:]]
        self._weights = duration * np.array(self.integrator.weights)

    def _turn(self, stage: _Stage, states: Array) -> None:
        """Turn corrected inputs to true platform axes, each point by its own mounting."""
        if self.mounting is None:
            return
        turns = rotation_exp(states[self.mounting].T)
        for rows in (slice(0, 3), slice(3, 6)):
            stage.input[rows] = (turns @ stage.input[rows].T[..., None])[..., 0].T

    def input_matrix(self, state: Array) -> Array:
        """Return the non-zero rows 3-8 of ``G(x)`` (6, 6) for one state (15,) (Eq. 19)."""
        return self._input_matrix_table.dot(_input_matrix_factors(state)).reshape(6, 6)

    def noise_factor(self, state: Array, imu_noise_factor: Array, duration: float) -> Array:
        """Square root (n, 6) of the process noise ``duration^2 G Q G^T``; overwritten by the next call.

        ``imu_noise_factor`` (6, 6) is a square root of ``Q``, the covariance of one IMU sample (Miletovic Eq. 23).
        """
        if imu_noise_factor is not self._noise_factor_of:
            self._noise_factor_of = imu_noise_factor
            tables = self._input_matrix_table.reshape(6, 6, 8)
            self._noise_table = np.ascontiguousarray(np.einsum('ijn,jk->ikn', tables, imu_noise_factor)).reshape(36, 8)
        self._noise_table.dot(_input_matrix_factors(state, duration), self._noise_rows)
        return self._noise_factor

    def _workspace(self, count: int) -> _Workspace:
        work = self._workspaces.get(count)
        if work is None:
            work = self._workspaces[count] = _Workspace(count, self.integrator)
        return work

    def _evaluate(self, stage: _Stage) -> None:
        """Rates of position, velocity and quaternion (10, N) into the stage's slope."""
        # mode='clip' only because 'raise' makes take() buffer its output
        stage.rows.take(_FACTORS, 0, stage.factors, 'clip')
        multiply(stage.left, stage.right, stage.left)
        self._table.dot(stage.left, stage.linear)
        if not stage.moves:
            return
        multiply(stage.columns, stage.velocity, stage.columns)
        _SUM_OF_COLUMNS.dot(stage.columns, stage.position_rate)


def _input_matrix_factors(state: Array, scale: float = 1.0) -> Array:
    """``(V, q, e0, 1)`` of a state (15,), all times ``scale``."""
    # plain numbers are faster than arrays of three
    _, _, _, u, v, w, x, y, z, *_ = state.tolist()
    scalar = sqrt(max(0.0, 1.0 - x * x - y * y - z * z))
    factors = [u * scale, v * scale, w * scale, x * scale, y * scale, z * scale, scalar * scale, scale]
    return np.array(factors)


def _rate_table(gravity: Array) -> Array:
    """Constant matrix (16, 31): f + T_ab g - omega x V (3), quaternion times omega / 2 (4), columns of T_ba (9)."""
    table = np.zeros((_SLOPE_SIZE - 3 + 9, len(_PRODUCTS)))
    rotation, count = rotation_table(), len(QUATERNION_PAIRS)
    table[0:3, :count] = np.tensordot(gravity, rotation, axes=(0, 0))
    table[7:16, :count] = rotation.transpose(1, 0, 2).reshape(9, count)
    for n, (j, k) in enumerate(_OTHERS):
        table[0:3, count + n] = -LEVI_CIVITA[:, j, k]  # -omega x V
        table[3:6, count + 6 + n] = -0.5 * LEVI_CIVITA[:, j, k]  # q x omega / 2 = -omega x q / 2
    table[3:6, count + 12 : count + 15] = 0.5 * np.eye(3)  # e0 omega / 2
    table[6, count + 15 : count + 18] = -0.5  # -omega . q / 2
    table[0:3, count + 18 :] = np.eye(3)
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
