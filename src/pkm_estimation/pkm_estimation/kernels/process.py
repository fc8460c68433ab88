"""Kinematics of the platform driven by an IMU: the process model (Eqs 16-19), one state.

State: position c of the IMU's point (base axes), its velocity V (platform axes), vector part q of the platform's
quaternion, biases of accelerometer and gyroscope (platform axes); constants may follow. Input: specific force f and
angular rate omega as measured, platform axes.
"""

from __future__ import annotations

from math import cos, sin, sqrt
from typing import NamedTuple

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.linalg import Vector, cross, dot, minus, plus, times
from pkm_description.kernels.model import Integers

Rotation = tuple[Vector, Vector, Vector]

IDENTITY: Rotation = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
#: first rows of the states
POSITION_ROW, VELOCITY_ROW, ATTITUDE_ROW, ACCELEROMETER_ROW, GYROSCOPE_ROW = 0, 3, 6, 9, 12

#: size of the quaternion's vector part (0.2 rad of rotation) at which the manifold filter moves its chart
CHART_RADIUS = 0.1

#: rates of c, V, q, e0
Rates = tuple[Vector, Vector, Vector, float]


class ProcessData(NamedTuple):
    """Constants of the process model.

    Attributes
    ----------
    gravity : (3,) m/s^2, axes of the positions
    nodes, weights, looks, mixture : (S,), (S,), (S,), (S, S) of the integrator, see
        :class:`~pkm_estimation.filters.Integrator`
    mounting : (1,) first row of a rotation vector from the IMU's nominal to the true platform axes, where that is a
        state; else -1. Biases are in nominal axes, all else in true ones
    noise, noise_root : (6, 6) Q, the covariance of one IMU sample (Eq. 23), and a square root of it as stated
    stated, scatter_stamps : (6, 6), (4,) the covariance as stated, and samples of whose scatter the other is, see
        :mod:`~pkm_estimation.kernels.sample_noise`
    is_measured : (1,) 1 where that is looked at
    loudness : (2,) standard deviations of the legs by which an angular rate of 1 rad/s and a specific force of 1 m/s^2
        move what they measure, per s and per s^2
    longest_gap : (1,) s, between earlier samples that the input goes through; 0: through none
    stamps, times : (4,) ns, and (4,) s after the second: of the samples 1, 0, -1, -2 of the present interval
    samples : (4, 6) of the IMU
    available, used : (1,) how many there are where they were taken one by one, and how many the input goes through
    before, after : (6,) the next two samples to take
    has_gap, gap_variance : (1,) whether samples are missing, and (6,) then, of the error of that path
    newest : (1,) ns, stamp of the sample whose error has the first columns of the carried ones
    basis, pulses, moments, effect, effect_at, inputs : (4,), (3,), (3,), (9, 6), (16,), (S, 6) memory of a step, see
        :mod:`~pkm_estimation.kernels.input_path` and :mod:`~pkm_estimation.kernels.input_noise`
    slopes : (16, 6) of the input in time, times the standard deviation of the stamps: at the samples 1, 0 and -1
        of the carried noise, and in the present interval; behind them mean, mean square deviation and mean square
        change of samples, and how they scatter
    imu_scatter, imu_stamps, leg_scatter, leg_stamps : (6,), (3,) jitter of the stamps of the IMU and of the legs, see
        :mod:`~pkm_estimation.kernels.carried`
    outside : (1,) number of evaluated points with ``q.q > 1`` so far
    chart : (3, 3) axes of the positions to base axes
    reference : (1,) ns, stamp of the first sample
    sensor_axes : (3, 3) rotation from the axes of the IMU itself to those of the platform
    constants : (p, 3) constants that act through the input: kind, axis and standard deviation, see
        :func:`~pkm_estimation.kernels.input_noise.add_constants`
    """

    gravity: Array
    nodes: Array
    weights: Array
    looks: Array
    mixture: Array
    mounting: Integers
    noise: Array
    noise_root: Array
    stated: Array
    scatter_stamps: Integers
    is_measured: Integers
    loudness: Array
    longest_gap: Array
    stamps: Integers
    times: Array
    samples: Array
    available: Integers
    used: Integers
    before: Array
    after: Array
    has_gap: Integers
    gap_variance: Array
    newest: Integers
    basis: Array
    pulses: Array
    moments: Array
    effect: Array
    effect_at: Array
    inputs: Array
    slopes: Array
    imu_scatter: Array
    imu_stamps: Integers
    leg_scatter: Array
    leg_stamps: Integers
    outside: Integers
    chart: Array
    reference: Integers
    sensor_axes: Array
    constants: Array


@kernel
def left_chart(state: Array, radius: float) -> bool:
    """Whether the attitude of a state (n,) is so large that the chart has to move."""
    x, y, z = state[ATTITUDE_ROW], state[ATTITUDE_ROW + 1], state[ATTITUDE_ROW + 2]
    return x * x + y * y + z * z > radius * radius


@kernel
def rates(velocity: Vector, q: Vector, e0: float, force: Vector, omega: Vector, gravity: Vector) -> Rates:
    """Eq. 16, force and rate free of bias: ``T_ba V``, ``f + T_ab g - omega x V``, and the quaternion's rate.

    The scalar part of the quaternion is integrated along within a step.
    """
    to_base = rotation(q, e0)
    return (
        turn(to_base, velocity),
        minus(plus(force, turn_back(to_base, gravity)), cross(omega, velocity)),
        times(0.5, plus(times(e0, omega), cross(q, omega))),
        -0.5 * dot(omega, q),
    )


@kernel
def rates_of_point(process: ProcessData, points: Array, point: int, sample: Array) -> Rates:
    """``f(x, u)`` of a point (row) with an IMU sample (6,)."""
    q = triple(points, point, ATTITUDE_ROW)
    force = minus((sample[0], sample[1], sample[2]), triple(points, point, ACCELEROMETER_ROW))
    omega = minus((sample[3], sample[4], sample[5]), triple(points, point, GYROSCOPE_ROW))
    if process.mounting[0] >= 0:
        mounting = exponential(triple(points, point, process.mounting[0]))
        force, omega = turn(mounting, force), turn(mounting, omega)
    gravity = process.gravity[0], process.gravity[1], process.gravity[2]
    return rates(triple(points, point, VELOCITY_ROW), q, scalar_part(q, process.outside), force, omega, gravity)


@kernel
def propagate(process: ProcessData, points: Array, point: int, duration: float) -> None:
    """Advance a point (row) by ``duration`` s with the inputs of its stages: a Runge-Kutta step."""
    gravity = process.gravity[0], process.gravity[1], process.gravity[2]
    velocity, q = triple(points, point, VELOCITY_ROW), triple(points, point, ATTITUDE_ROW)
    accelerometer, gyroscope = triple(points, point, ACCELEROMETER_ROW), triple(points, point, GYROSCOPE_ROW)
    is_turned = process.mounting[0] >= 0
    mounting = exponential(triple(points, point, process.mounting[0])) if is_turned else IDENTITY
    e0 = scalar_part(q, process.outside)
    change, change_v, change_q = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    v_here, q_here, e0_here = velocity, q, e0
    for stage in range(len(process.nodes)):
        force = minus(triple(process.inputs, stage, 0), accelerometer)
        omega = minus(triple(process.inputs, stage, 3), gyroscope)
        if is_turned:
            force, omega = turn(mounting, force), turn(mounting, omega)
        rate, rate_v, rate_q, rate_e0 = rates(v_here, q_here, e0_here, force, omega, gravity)
        weight = duration * process.weights[stage]
        change = plus(change, times(weight, rate))
        change_v = plus(change_v, times(weight, rate_v))
        change_q = plus(change_q, times(weight, rate_q))
        if stage + 1 < len(process.nodes):
            reach = duration * process.nodes[stage + 1]
            v_here = plus(velocity, times(reach, rate_v))
            q_here = plus(q, times(reach, rate_q))
            e0_here = e0 + reach * rate_e0
    for i in range(3):
        points[point, POSITION_ROW + i] += change[i]
        points[point, VELOCITY_ROW + i] += change_v[i]
        points[point, ATTITUDE_ROW + i] += change_q[i]


@kernel
def noise_factor(process: ProcessData, state: Array, duration: float, factor: Array, first: int) -> None:
    """``duration G(x) Q^(1/2)`` (Eq. 19), transposed: V and q of six rows of ``factor`` (k, n), from ``first`` on."""
    velocity = state[VELOCITY_ROW], state[VELOCITY_ROW + 1], state[VELOCITY_ROW + 2]
    q = state[ATTITUDE_ROW], state[ATTITUDE_ROW + 1], state[ATTITUDE_ROW + 2]
    square = 1.0 - dot(q, q)
    e0 = sqrt(square) if square > 0.0 else 0.0
    root = process.noise_root
    for column in range(6):
        force = duration * root[0, column], duration * root[1, column], duration * root[2, column]
        omega = duration * root[3, column], duration * root[4, column], duration * root[5, column]
        by_velocity = plus(force, cross(velocity, omega))
        by_attitude = times(0.5, plus(times(e0, omega), cross(q, omega)))
        for i in range(3):
            factor[first + column, VELOCITY_ROW + i] = by_velocity[i]
            factor[first + column, ATTITUDE_ROW + i] = by_attitude[i]


@kernel
def set_rates(process: ProcessData, state: Array, sample: Array, into: Array) -> None:
    """``f(x, u)`` of a state (n,) with an IMU sample (6,), for constants 0."""
    q: Vector = (state[ATTITUDE_ROW], state[ATTITUDE_ROW + 1], state[ATTITUDE_ROW + 2])
    velocity: Vector = (state[VELOCITY_ROW], state[VELOCITY_ROW + 1], state[VELOCITY_ROW + 2])
    a, g = ACCELEROMETER_ROW, GYROSCOPE_ROW
    force: Vector = (sample[0] - state[a], sample[1] - state[a + 1], sample[2] - state[a + 2])
    omega: Vector = (sample[3] - state[g], sample[4] - state[g + 1], sample[5] - state[g + 2])
    if process.mounting[0] >= 0:
        m = process.mounting[0]
        mounting = exponential((state[m], state[m + 1], state[m + 2]))
        force, omega = turn(mounting, force), turn(mounting, omega)
    square = 1.0 - dot(q, q)
    gravity = process.gravity[0], process.gravity[1], process.gravity[2]
    e0 = sqrt(square) if square > 0.0 else 0.0
    by_position, by_velocity, by_attitude, _ = rates(velocity, q, e0, force, omega, gravity)
    for i in range(len(state)):
        into[i] = 0.0
    for i in range(3):
        into[POSITION_ROW + i], into[VELOCITY_ROW + i] = by_position[i], by_velocity[i]
        into[ATTITUDE_ROW + i] = by_attitude[i]


@kernel
def set_rate_variances(covariance: Array, into: Array) -> None:
    """Variances of ``f(x, u)`` in the rows of the pose, from those of speed and gyroscope bias: the largest of each."""
    speed = turning = 0.0
    for i in range(3):
        speed = max(speed, covariance[VELOCITY_ROW + i, VELOCITY_ROW + i])
        turning = max(turning, covariance[GYROSCOPE_ROW + i, GYROSCOPE_ROW + i])
    for i in range(3):
        into[POSITION_ROW + i], into[ATTITUDE_ROW + i] = speed, 0.25 * turning


@kernel
def triple(points: Array, point: int, start: int) -> Vector:
    """Three neighbouring states of a point (row)."""
    return points[point, start], points[point, start + 1], points[point, start + 2]


@kernel
def scalar_part(q: Vector, outside: Integers) -> float:
    """``e0 = sqrt(1 - q.q) >= 0`` (Eq. 12); 0 where ``q.q > 1``, and ``outside`` (1,) counts that."""
    square = 1.0 - dot(q, q)
    if square < 0.0:
        outside[0] += 1
        return 0.0
    return sqrt(square)


@kernel
def rotation(q: Vector, e0: float) -> Rotation:
    """``T_ba``, platform axes to base axes: the transpose of Eq. 4."""
    x, y, z = q
    return (
        (x * x + e0 * e0 - y * y - z * z, 2.0 * (x * y - z * e0), 2.0 * (x * z + y * e0)),
        (2.0 * (x * y + z * e0), y * y + e0 * e0 - x * x - z * z, 2.0 * (y * z - x * e0)),
        (2.0 * (x * z - y * e0), 2.0 * (y * z + x * e0), z * z + e0 * e0 - x * x - y * y),
    )


@kernel
def exponential(v: Vector) -> Rotation:
    """Rotation by a rotation vector (Rodrigues), exact down to zero."""
    x, y, z = v
    angle = sqrt(dot(v, v))
    half_sinc = sin(0.5 * angle) / (0.5 * angle) if angle > 0.0 else 1.0
    s, c = half_sinc * cos(0.5 * angle), 0.5 * half_sinc * half_sinc
    return (
        (1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y),
        (c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x),
        (c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y)),
    )


@kernel
def turn(r: Rotation, a: Vector) -> Vector:
    """``R a``."""
    return dot(r[0], a), dot(r[1], a), dot(r[2], a)


@kernel
def turn_back(r: Rotation, a: Vector) -> Vector:
    """``R^T a``."""
    return (
        r[0][0] * a[0] + r[1][0] * a[1] + r[2][0] * a[2],
        r[0][1] * a[0] + r[1][1] * a[1] + r[2][1] * a[2],
        r[0][2] * a[0] + r[1][2] * a[1] + r[2][2] * a[2],
    )


@kernel
def product(r: Rotation, s: Rotation) -> Rotation:
    """``R S``."""
    return turn_back(s, r[0]), turn_back(s, r[1]), turn_back(s, r[2])


@kernel
def attitudes(
    states: Array, start: int, charts: Array, quaternions: Array, least_square: float, rotations: Array,
    orientations: Array, by_q: Array,
) -> None:  # fmt: skip
    """Attitudes of N states, q from column ``start`` on, seen from charts (N, 3, 3) with quaternions (N, 4) xyzw.

    Writes rotations (N, 3, 3) from platform to base axes, the same as quaternions (N, 4) xyzw with w >= 0, and rotation
    about base axes per change of q (N, 3, 3). ``1 - q.q`` counts as ``least_square`` at least.
    """
    for k in range(len(states)):
        q = triple(states, k, start)
        x, y, z = q
        square = dot(q, q)
        e0 = sqrt(max(least_square, 1.0 - square))
        norm = square + e0 * e0  # 1 but for the guard of e0
        s, c, over = 2.0 * e0 / norm, 2.0 / norm, 2.0 / e0
        in_chart = (
            (1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y),
            (c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x),
            (c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y)),
        )
        slope = (
            (2.0 * e0 + over * x * x, over * x * y - 2.0 * z, over * x * z + 2.0 * y),
            (over * x * y + 2.0 * z, 2.0 * e0 + over * y * y, over * y * z - 2.0 * x),
            (over * x * z - 2.0 * y, over * y * z + 2.0 * x, 2.0 * e0 + over * z * z),
        )
        for i in range(3):
            row = charts[k, i, 0], charts[k, i, 1], charts[k, i, 2]
            rotations[k, i, 0], rotations[k, i, 1], rotations[k, i, 2] = turn_back(in_chart, row)
            by_q[k, i, 0], by_q[k, i, 1], by_q[k, i, 2] = turn_back(slope, row)
        a, b, d, w = quaternions[k, 0], quaternions[k, 1], quaternions[k, 2], quaternions[k, 3]
        real = w * e0 - a * x - b * y - d * z
        size = sqrt(norm) if real >= 0.0 else -sqrt(norm)
        orientations[k, 0] = (w * x + e0 * a + b * z - d * y) / size
        orientations[k, 1] = (w * y + e0 * b + d * x - a * z) / size
        orientations[k, 2] = (w * z + e0 * d + a * y - b * x) / size
        orientations[k, 3] = real / size
