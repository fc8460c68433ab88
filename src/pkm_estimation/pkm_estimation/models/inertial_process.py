"""Kinematics of the platform driven by an IMU: the process model of Miletovic et al. 2017 (Eqs 16-19).

State (15): position of the IMU's point (base axes), its velocity (platform axes), vector part of the
platform's quaternion, accelerometer bias, gyroscope bias. Input (6): specific force and angular rate as measured,
both already turned into platform axes. The equations are in :mod:`pkm_estimation.kernels.process`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.structures import structure
from pkm_description.kinematics.rotation import matrix_from_quaternion, skew

from pkm_estimation.filters.interface import FilterMemory, Integrator, ProcessStep
from pkm_estimation.kernels.carried import NUMBERS, SETTING, VARIANCE, observe_stamp
from pkm_estimation.kernels.input_noise import (
    NO_STAMP,
    SCATTER,
    SLOPES,
    add_constants,
    add_independent_noise,
    add_input_noise,
    forget_carried,
    is_loud,
    set_effect,
    set_slope,
    shift_carried,
)
from pkm_estimation.kernels.input_path import CARRIED, SAMPLES, choose_count, input_at, take_next
from pkm_estimation.kernels.process import ProcessData, noise_factor, rates_of_point, set_rates
from pkm_estimation.kernels.sample_noise import PLACES, set_noise
from pkm_estimation.kernels.steps import LEFT_CHART, predict_step, propagate_all

#: ``cross(a, b)[i] = LEVI_CIVITA[i, j, k] a[j] b[k]``
LEVI_CIVITA: Array = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    LEVI_CIVITA[_i, _j, _k], LEVI_CIVITA[_i, _k, _j] = 1.0, -1.0

#: least square of a scalar part, which is guarded away from zero
LEAST_SQUARE = 1e-9
POSITION = slice(0, 3)
VELOCITY = slice(3, 6)
ATTITUDE = slice(6, 9)
ACCELEROMETER_BIAS = slice(9, 12)
GYROSCOPE_BIAS = slice(12, 15)
#: the six that make the pose
POSE = [*range(POSITION.start, POSITION.stop), *range(ATTITUDE.start, ATTITUDE.stop)]
#: both biases
BIASES = slice(9, 15)
STATE_SIZE = 15
INPUT_SIZE = 6
_FORCE, _RATE = slice(0, 3), slice(3, 6)

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
    integrator : one of :mod:`pkm_estimation.filters.interface`
    mounting : rows of a rotation vector from the IMU's nominal to the true platform axes, where that is a state;
        biases are in nominal axes, all else in true ones. Constant states may follow: they stay as they are
    longest_gap : s, between earlier samples that the input goes through; 0: through none
    constants : (p, 3) that act through the input: kind, axis and unit; default: none

    Attributes
    ----------
    data, struct : what the kernels read, for NumPy and for kernels
    """

    def __init__(
        self,
        gravity: Array,
        integrator: Integrator,
        mounting: slice | None = None,
        longest_gap: float = inf,
        constants: Array | None = None,
        sensor_axes: Array | None = None,
    ) -> None:
        self.data = ProcessData(
            gravity=np.array(gravity, dtype=float),
            nodes=np.array(integrator.nodes),
            weights=np.array(integrator.weights),
            looks=np.array(integrator.looks or integrator.nodes),
            mixture=np.array(integrator.mixture or np.eye(len(integrator.nodes))),
            mounting=np.array([-1 if mounting is None else mounting.start]),
            noise=np.zeros((INPUT_SIZE, INPUT_SIZE)),
            noise_root=np.zeros((INPUT_SIZE, INPUT_SIZE)),
            stated=np.zeros((INPUT_SIZE, INPUT_SIZE)),
            scatter_stamps=np.zeros(PLACES, dtype=np.int64),
            is_measured=np.ones(1, dtype=np.int64),
            loudness=np.array([inf, 0.0]),
            longest_gap=np.array([longest_gap]),
            stamps=np.zeros(SAMPLES, dtype=np.int64),
            times=np.zeros(SAMPLES),
            samples=np.zeros((SAMPLES, INPUT_SIZE)),
            available=np.zeros(1, dtype=np.int64),
            used=np.array([2]),
            before=np.zeros(INPUT_SIZE),
            after=np.zeros(INPUT_SIZE),
            has_gap=np.zeros(1, dtype=np.int64),
            gap_variance=np.zeros(INPUT_SIZE),
            newest=np.full(1, NO_STAMP),
            basis=np.zeros(SAMPLES),
            pulses=np.zeros(CARRIED),
            moments=np.zeros(CARRIED),
            effect=np.zeros((9, INPUT_SIZE)),
            effect_at=np.zeros(16),
            inputs=np.zeros((len(integrator.nodes), INPUT_SIZE)),
            slopes=np.zeros((SLOPES, INPUT_SIZE)),
            imu_scatter=np.zeros(NUMBERS),
            imu_stamps=np.zeros(3, dtype=np.int64),
            leg_scatter=np.zeros(NUMBERS),
            leg_stamps=np.zeros(3, dtype=np.int64),
            outside=np.zeros(1, dtype=np.int64),
            chart=np.eye(3),
            reference=np.full(1, NO_STAMP),
            sensor_axes=np.eye(3) if sensor_axes is None else np.array(sensor_axes, dtype=float),
            constants=np.zeros((0, 3)) if constants is None else constants,
        )
        data = self.data
        self._left_behind: tuple[NDArray[Any], ...] = (
            data.slopes, data.imu_scatter, data.leg_scatter, data.imu_stamps, data.leg_stamps, data.scatter_stamps,
        )  # fmt: skip
        self.struct = structure(data)
        self._take_next = partial(take_next, self.struct)

    @property
    def gravity(self) -> Array:
        """Gravity (3,) m/s^2 in the axes in which positions are given."""
        return self.data.gravity

    def set_chart(self, rotation: Array, gravity: Array) -> None:
        """Give positions in axes that ``rotation`` (3, 3) maps to base axes; there ``gravity`` (3,) is given."""
        self.data.chart[:], self.data.gravity[:] = rotation, rotation.T @ gravity

    def set_noise(self, imu_covariance: Array) -> None:
        """Covariance (6, 6) of one IMU sample (Miletovic Eq. 23)."""
        self.data.stated[:], self.data.noise[:] = imu_covariance, imu_covariance
        self.data.noise_root[:] = np.linalg.cholesky(imu_covariance)

    def set_loudness(self, platform_radius: float, leg_noise: float) -> None:
        """Say how far joints are from the platform's origin [m], and the noise of what they measure [m]."""
        self.data.loudness[:] = platform_radius / leg_noise, 1.0 / leg_noise

    def take(self, stamps: Sequence[int], samples: Sequence[Array]) -> None:
        """Take the samples around a step, newest first: up to four, of ``stamps`` [ns], (6,) each."""
        data, available = self.data, min(len(stamps), SAMPLES)
        data.available[0] = 0
        for j in range(available):
            data.stamps[j], data.samples[j] = stamps[j], samples[j]
        choose_count(self.struct, available)

    def take_next(self, before: Array, after: Array, interval: float) -> None:
        """Take two samples (6,), ``interval`` s apart, and keep earlier ones if ``before`` was the last of them."""
        self.data.before[:], self.data.after[:] = before, after
        self._take_next(interval)

    def set_stamp_jitter(self, imu: float, legs: float) -> None:
        """Standard deviations [s] of the stamps of the IMU and of the legs; negative: as the stamps' scatter says."""
        for scatter, size in ((self.data.imu_scatter, imu), (self.data.leg_scatter, legs)):
            scatter[SETTING], scatter[VARIANCE] = size, max(0.0, size) ** 2

    def observe_imu_stamp(self, stamp: int) -> None:
        """Take the stamp [ns] of the sample at the end of the next interval, for the size of the stamps' jitter."""
        observe_stamp(self.data.imu_scatter, self.data.imu_stamps, stamp)

    def observe_leg_stamp(self, stamp: int) -> float:
        """Take the stamp [ns] of the next leg measurement; returns the variance [s^2] of such stamps."""
        observe_stamp(self.data.leg_scatter, self.data.leg_stamps, stamp)
        return self.data.leg_scatter.item(VARIANCE)

    def forget(self) -> None:
        """Keep no earlier samples and stamps, and not how samples scatter."""
        data = self.data
        data.available[0] = data.imu_stamps[2] = data.leg_stamps[2] = 0
        data.slopes[SCATTER:], data.scatter_stamps[:] = 0.0, 0

    def input_at(self, time: float) -> Array:
        """Input (6,) ``time`` s after the second of the samples that were taken."""
        value = np.empty(INPUT_SIZE)
        input_at(self.struct, time, value)
        return value

    def snapshot(self) -> tuple[NDArray[Any], ...]:
        """What stamps and samples left behind, for :meth:`restore`."""
        return tuple(part.copy() for part in self._left_behind)

    def restore(self, snapshot: tuple[NDArray[Any], ...]) -> None:
        """Restore a snapshot."""
        for part, value in zip(self._left_behind, snapshot, strict=True):
            part[:] = value

    @property
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""
        return int(self.data.outside[0])

    def rate(self, state: Array, imu: Array) -> Array:
        """Return ``f(x, u)`` (n,) of one state (n,) for one IMU sample (6,) (Eq. 16)."""
        rates = np.zeros(len(state))
        rates[POSITION], rates[VELOCITY], rates[ATTITUDE], _ = rates_of_point(self.struct, state[None], 0, imu)
        return rates

    def set_rates(self, state: Array, time: float, into: Array) -> None:
        """Write ``f(x, u)`` of a state (n,) ``time`` s after the second of the samples that were taken."""
        set_rates(self.struct, state, self.input_at(time), into)

    def input_matrix(self, state: Array) -> Array:
        """Return the non-zero rows 3-8 of ``G(x)`` (6, 6) for one state (15,) (Eq. 19)."""
        factor = np.zeros((INPUT_SIZE, len(state)))
        noise_factor(structure(self.data._replace(noise_root=np.eye(INPUT_SIZE))), state, 1.0, factor, 0)
        return factor.T[3:9]

    def propagate(self, points: Array, imu_start: Array, imu_end: Array, duration: float) -> Array:
        """Advance ``points`` (N, n) in place by ``duration`` seconds, input linear between two samples (6,)."""
        data, points = self.data, as_points(points)
        data.times[0], data.times[1], data.used[0] = duration, 0.0, 2
        data.samples[0], data.samples[1], data.available[0] = imu_end, imu_start, 0
        propagate_all(self.struct, points, 0.0, duration)
        return points

    def noise_factor(self, state: Array, duration: float) -> Array:
        """Square root (n, 6) of the process noise ``duration^2 G Q G^T`` at a state (n,)."""
        factor = np.zeros((INPUT_SIZE, len(state)))
        noise_factor(self.struct, state, duration, factor, 0)
        return factor.T


class InertialStep(ProcessStep):
    """Step of the process between samples that it has taken; the object is used again for the next step.

    Parameters
    ----------
    process : the model

    Attributes
    ----------
    left_chart : whether the last prediction of an unscented filter ended with an attitude beyond the chart's radius
    """

    def __init__(self, process: InertialProcess) -> None:
        self._process = process
        self.left_chart = False
        self._begin, self._duration = 0.0, 0.0
        self._memory: FilterMemory | None = None
        self._predict: Callable[..., int]

    def over(self, begin: float, duration: float) -> InertialStep:
        """Step over ``duration`` s from ``begin`` s after the second sample."""
        self._begin, self._duration = begin, duration
        return self

    def propagate(self, points: Array) -> Array:
        """Points (N, n) after the step, in place."""
        propagate_all(self._process.struct, as_points(points), self._begin, self._duration)
        return points

    def noise_factor(self, state: Array) -> Array:
        """No independent noise: what samples add depends on the steps before, see :meth:`add_noise`."""
        return np.zeros((len(state), 0))

    def add_noise(self, state: Array, covariance: Array, carried: Array) -> None:
        """Add the samples' noise after the step."""
        process = self._process.struct
        set_slope(process)
        set_noise(process)
        set_effect(process, state)
        if is_loud(process):
            shift_carried(process, carried)
            add_input_noise(process, covariance, carried, self._duration)
        else:
            forget_carried(process, carried)
            add_independent_noise(process, covariance, self._duration)
        add_constants(process, carried, self._duration)

    def predict(self, memory: FilterMemory) -> int:
        """Predict an unscented filter in a single call."""
        if memory is not self._memory:
            self._memory = memory
            self._predict = partial(predict_step, memory.struct, self._process.struct)
        status = self._predict(self._begin, self._duration)
        self.left_chart = status == LEFT_CHART
        return status


# The attitude as the vector part q of a quaternion: rotation matrices of it, and the chart that it is seen from.
#
# The vector part describes attitudes up to half a turn, and is a good coordinate for sigma points only near zero. So a
# filter keeps ``R = R_chart R(q)`` with small q and moves the chart along: an atlas in place of one map. Positions are
# expressed in the chart's axes, so that within a chart all equations are those of Miletovic et al. 2017, with gravity
# and base joints seen from the chart.
def rotation_of(vector_part: Array) -> Array:
    """Rotation matrix (3, 3) of a quaternion's vector part (3,); its scalar part is not negative."""
    return matrix_from_quaternion(np.array([*vector_part.tolist(), scalar_part(vector_part)]))


def rotations_of(vector_parts: Array) -> tuple[Array, int]:
    """Rotation matrices (N, 3, 3) of quaternions' vector parts (N, 3), and how many had ``q.q > 1`` (S3-26)."""
    rest = 1.0 - np.sum(vector_parts * vector_parts, axis=1, keepdims=True)
    quaternions = np.concatenate([vector_parts, np.sqrt(np.maximum(rest, 0.0))], axis=1)
    return matrix_from_quaternion(quaternions), int(np.count_nonzero(rest < 0.0))


def scalar_part(vector_part: Array) -> float:
    """Scalar part of a unit quaternion, guarded away from zero."""
    return max(LEAST_SQUARE, 1.0 - float(vector_part @ vector_part)) ** 0.5


def move_chart(
    chart: Array, state: Array, covariance: Array, carried: Array, position: slice, attitude: slice
) -> tuple[Array, Array]:
    """Move the chart to the present attitude: afterwards the state's quaternion is zero.

    Changes ``state`` (n,), ``covariance`` (n, n) and ``carried`` (n, c), covariances of the state with other things, in
    place. The transport is exact for the mean and linear in the
    deviations: ``q' = q_mean^-1 q``.

    Returns
    -------
    (3, 3) rotation of the new chart, and (n, n) what maps deviations of the state
    """
    mean = state[attitude].copy()
    scalar = scalar_part(mean)
    rotation = rotation_of(mean)
    transport = np.eye(len(state))
    transport[position, position] = rotation.T
    transport[attitude, attitude] = scalar * np.eye(3) - skew(mean) + np.outer(mean, mean) / scalar
    state[position] = rotation.T @ state[position]
    state[attitude] = 0.0
    moved = transport @ covariance @ transport.T
    covariance[:] = 0.5 * (moved + moved.T)
    carried[:] = transport @ carried
    return chart @ rotation, transport
