"""Kinematics of the platform driven by an IMU: the process model of Miletovic et al. 2017 (Eqs 16-19).

State (15): position of the IMU's point (base axes), its velocity (platform axes), vector part of the
platform's quaternion, accelerometer bias, gyroscope bias. Input (6): specific force and angular rate as measured,
both already turned into platform axes. The equations are in :mod:`pkm_estimation.kernels.process`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.jit import bound, structure

from pkm_estimation.filters.integrators import Integrator
from pkm_estimation.filters.interface import FilterMemory, ProcessStep
from pkm_estimation.kernels.process import ProcessData, noise_factor, propagate_all, rates_of_point
from pkm_estimation.kernels.steps import predict_step

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


def as_points(points: Array) -> Array:
    """The same points (N, n); kernels would read any other array without complaint. Raises ValueError."""
    if points.ndim != 2 or points.shape[1] < STATE_SIZE or not points.flags.c_contiguous:
        raise ValueError(f'points of shape {points.shape}: expected one state of at least {STATE_SIZE} in each row')
    return points


class InertialProcess:
    """Process model.

    Parameters
    ----------
    gravity : (3,) m/s^2, base frame
    integrator : one of :mod:`pkm_estimation.filters.integrators`
    mounting : rows of a rotation vector from the IMU's nominal to the true platform axes, where that is a state;
        biases are in nominal axes, all else in true ones. Constant states may follow: they stay as they are

    Attributes
    ----------
    data, struct : what the kernels read, for NumPy and for kernels
    """

    def __init__(self, gravity: Array, integrator: Integrator, mounting: slice | None = None) -> None:
        self.data = ProcessData(
            gravity=np.array(gravity, dtype=float),
            nodes=np.array(integrator.nodes),
            weights=np.array(integrator.weights),
            mounting=np.array([-1 if mounting is None else mounting.start]),
            noise_root=np.zeros((INPUT_SIZE, INPUT_SIZE)),
            before=np.zeros(INPUT_SIZE),
            after=np.zeros(INPUT_SIZE),
            inputs=np.zeros((len(integrator.nodes), INPUT_SIZE)),
            outside=np.zeros(1, dtype=np.int64),
        )
        self.struct = structure(self.data)

    @property
    def gravity(self) -> Array:
        """Gravity (3,) m/s^2 in the axes in which positions are given."""
        return self.data.gravity

    def set_gravity(self, gravity: Array) -> None:
        """Gravity (3,) m/s^2 in the axes in which positions are given from now on."""
        self.data.gravity[:] = gravity

    def set_noise(self, imu_covariance: Array) -> None:
        """Covariance (6, 6) of one IMU sample (Miletovic Eq. 23)."""
        self.data.noise_root[:] = np.linalg.cholesky(imu_covariance)

    @property
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""
        return int(self.data.outside[0])

    def rate(self, state: Array, imu: Array) -> Array:
        """Return ``f(x, u)`` (n,) of one state (n,) for one IMU sample (6,) (Eq. 16)."""
        rates = np.zeros(len(state))
        rates[POSITION], rates[VELOCITY], rates[ATTITUDE], _ = rates_of_point(self.struct, state[None], 0, imu)
        return rates

    def input_matrix(self, state: Array) -> Array:
        """Return the non-zero rows 3-8 of ``G(x)`` (6, 6) for one state (15,) (Eq. 19)."""
        factor = np.zeros((INPUT_SIZE, len(state)))
        noise_factor(structure(self.data._replace(noise_root=np.eye(INPUT_SIZE))), state, 1.0, factor, 0)
        return factor.T[3:9]

    def propagate(self, points: Array, imu_start: Array, imu_end: Array, duration: float) -> Array:
        """Advance ``points`` (N, n) in place by ``duration`` seconds, input linear between two samples (6,)."""
        propagate_all(self.struct, as_points(points), imu_start, imu_end, duration)
        return points

    def noise_factor(self, state: Array, duration: float) -> Array:
        """Square root (n, 6) of the process noise ``duration^2 G Q G^T`` at a state (n,)."""
        factor = np.zeros((INPUT_SIZE, len(state)))
        noise_factor(self.struct, state, duration, factor, 0)
        return factor.T


class InertialStep(ProcessStep):
    """Step of the process between two IMU samples, which is used again for the next step.

    Parameters
    ----------
    process : the model
    """

    def __init__(self, process: InertialProcess) -> None:
        self._process = process
        self._duration, self._noise_duration = 0.0, 0.0
        self._memory: FilterMemory | None = None
        self._predict: Callable[..., int]

    def between(self, imu_start: Array, imu_end: Array, duration: float, noise_duration: float) -> InertialStep:
        """Step over ``duration`` s between two samples (6,); ``noise_duration`` s: see :meth:`noise_factor`."""
        data = self._process.data
        data.before[:], data.after[:] = imu_start, imu_end
        self._duration, self._noise_duration = duration, noise_duration
        return self

    def propagate(self, points: Array) -> Array:
        """Points (N, n) after the step, in place."""
        data = self._process.data
        return self._process.propagate(points, data.before, data.after, self._duration)

    def noise_factor(self, state: Array) -> Array:
        """Square root (n, 6) of the process noise at a state (n,)."""
        return self._process.noise_factor(state, self._noise_duration)

    def predict(self, memory: FilterMemory) -> int:
        """Predict an unscented filter in a single call."""
        if memory is not self._memory:
            self._memory = memory
            self._predict = bound(predict_step, memory.struct, self._process.struct, numbers=2)
        return self._predict(self._duration, self._noise_duration)
