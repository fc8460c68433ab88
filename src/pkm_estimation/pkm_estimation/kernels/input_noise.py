"""What the noise of the IMU's samples does with the state, one step.

A sample acts in up to four steps: with 9, 19, -5 and 1 of 24 parts of a cubic path, where stamps are regular. So the
noise of neighbouring steps is not independent, as Eq. 23 of Miletovic et al. 2017 takes it. ``carried`` holds the
covariances C_j of the state with the errors n_j of the samples that act in this step or may act in later ones
(Schmidt 1966: considered, not estimated)::

    x' = f(x) + sum_j N_j n_j,   N_j = duration (w_j G + m_j duration [R; 0; 0])
    P' = F P F^T + sum_j (A_j N_j^T + N_j A_j^T + N_j Q N_j^T),   C_j' = A_j + N_j Q,   A_j = F C_j

with the weights w_j of sample j in the step's integral, and m_j in its second integral, which moves the position.
The fourth sample's part (1/24) is counted with the third's.

A stamp that is wrong by e makes a sample wrong by e times its slope: where stamps jitter, the covariance of ``n_j`` is
``Q + s_j s_j^T``, s_j the slope times the standard deviation of the stamps
(:mod:`~pkm_estimation.kernels.carried`).

Where one sample moves what the legs measure by less than a tenth of their own noise (``loudness``), the noise of steps
is taken as independent: NEES and NIS then differ by less than half a percent.
"""

from __future__ import annotations

from math import sqrt

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.linalg import Vector, cross, dot, minus, plus, times

from pkm_estimation.kernels.carried import VARIANCE
from pkm_estimation.kernels.input_path import CARRIED, INPUTS
from pkm_estimation.kernels.process import (
    ATTITUDE_ROW,
    POSITION_ROW,
    VELOCITY_ROW,
    ProcessData,
    rotation,
    turn,
    turn_back,
)

#: no sample has this stamp [ns]
NO_STAMP = -(2**62)
#: columns of ``carried``, and those that can still act when a step ends at its last sample
COLUMNS = CARRIED * INPUTS
LASTING_COLUMNS = COLUMNS - INPUTS
#: part of the legs' noise from which on the noise of a sample is carried along
LOUD = 0.1
#: row of the slope in the present interval
NOW = CARRIED
#: constants that act through the input: gravity [m/s^2], base axes; place [m] and mounting [rad] of the IMU, platform
#: axes; scales and misalignments of both sensors, two matrices row by row; delay of the stamps [s]; half the variance
#: of the time over which a sample is a mean [s^2]; rate at which the delay grows since the first sample; rates at which
#: the biases change, 0 to 2 of the accelerometer [m/s^3], 3 to 5 of the gyroscope [rad/s^2]; delays [s] of the three
#: axes of the accelerometer and of the gyroscope, those of the sensor itself
GRAVITY, PLACE, MOUNTING, SCALE, DELAY, RESPONSE, SKEW, WARMING, AXIS_DELAY = 0, 1, 2, 3, 4, 5, 6, 7, 8
_NANOSECOND = 1e-9
#: rows of the slopes: mean of the samples, and mean squares of their deviations from it, and of their changes, over so
#: many seconds
MEAN, POWER, CHANGE, _EXCITED_FOR = CARRIED + 1, CARRIED + 2, CARRIED + 3, 0.3
#: first of the rows of :mod:`~pkm_estimation.kernels.sample_noise`, and number of all rows
SCATTER, SLOPES = CARRIED + 4, CARRIED + 13
#: mean square, in variances of their noise, from which on samples are those of a motion
_EXCITED = 25.0
#: the same for the scale of an accelerometer: its column is the sample itself; for changes, which show a low-pass
_SCALED, _CHANGING = 400.0, 4.0


@kernel
def set_slope(process: ProcessData) -> None:
    """Slope of the input in the present interval, times the standard deviation of the stamps' jitter."""
    scale = sqrt(process.imu_scatter[VARIANCE]) / process.times[0]
    for i in range(INPUTS):
        process.slopes[NOW, i] = scale * (process.samples[0, i] - process.samples[1, i])


@kernel
def has_slopes(process: ProcessData) -> bool:
    """Whether a stamp of the carried samples may be wrong, also one from before it was known that stamps are right."""
    for j in range(CARRIED):
        for k in range(INPUTS):
            if process.slopes[j, k] != 0.0:
                return True
    return False


@kernel
def shift_carried(process: ProcessData, carried: Array) -> int:
    """Let the first 18 columns of ``carried`` be those of samples 1, 0 and -1; how many first ones are 0."""
    if process.newest[0] == process.stamps[0]:
        return 0
    if process.newest[0] == process.stamps[1]:
        for i in range(len(carried)):
            for k in range(COLUMNS - 1, INPUTS - 1, -1):
                carried[i, k] = carried[i, k - INPUTS]
            for k in range(INPUTS):
                carried[i, k] = 0.0
        for k in range(INPUTS):
            process.slopes[2, k], process.slopes[1, k] = process.slopes[1, k], process.slopes[0, k]
            process.slopes[0, k] = process.slopes[NOW, k]
    else:  # not the interval before this one
        carried[:, :COLUMNS] = 0.0
        for j in range(CARRIED):
            for k in range(INPUTS):
                process.slopes[j, k] = process.slopes[NOW, k]
    process.newest[0] = process.stamps[0]
    return INPUTS


@kernel
def is_loud(process: ProcessData) -> bool:
    """Whether the samples' noise must be carried along over the present interval."""
    interval, noise = process.times[0], process.noise
    force, rate = max(noise[0, 0], noise[1, 1], noise[2, 2]), max(noise[3, 3], noise[4, 4], noise[5, 5])
    turning, pushing = process.loudness[0] * sqrt(rate), process.loudness[1] * sqrt(force)
    if process.imu_scatter[VARIANCE] > 0.0:
        s = process.slopes
        by_force, by_rate = (s[NOW, 0], s[NOW, 1], s[NOW, 2]), (s[NOW, 3], s[NOW, 4], s[NOW, 5])
        turning += process.loudness[0] * sqrt(dot(by_rate, by_rate))
        pushing += process.loudness[1] * sqrt(dot(by_force, by_force))
    return interval * (turning + interval * pushing) >= LOUD


@kernel
def forget_carried(process: ProcessData, carried: Array) -> None:
    """Carry no noise along."""
    if process.newest[0] != NO_STAMP:
        process.newest[0] = NO_STAMP
        carried[:, :COLUMNS] = 0.0


@kernel
def add_independent_noise(process: ProcessData, covariance: Array, duration: float) -> None:
    """``duration times[0] G Q G^T``: Eq. 23, with the growth of whole intervals in steps of any length."""
    variance = duration * process.times[0]
    for i in range(3, 9):
        row = process.effect[i]
        by_velocity, by_attitude = effect_of(process, (row[0], row[1], row[2]), (row[3], row[4], row[5]))
        for k in range(3):
            covariance[i, 3 + k] += variance * by_velocity[k]
            covariance[i, 6 + k] += variance * by_attitude[k]
    if process.imu_scatter[VARIANCE] > 0.0:
        by_velocity, by_attitude = effect_of_slope(process, NOW)
        effect = by_velocity + by_attitude
        for i in range(6):
            for j in range(6):
                covariance[VELOCITY_ROW + i, VELOCITY_ROW + j] += variance * effect[i] * effect[j]
    if process.has_gap[0]:
        add_gap_noise(process, covariance, duration)


@kernel
def effect_of_slope(process: ProcessData, sample: int) -> tuple[Vector, Vector]:
    """``G s`` of one of the slopes, in V and q."""
    s = process.slopes
    return effect_of(
        process, (s[sample, 0], s[sample, 1], s[sample, 2]), (s[sample, 3], s[sample, 4], s[sample, 5])
    )  # fmt: skip


@kernel
def add_half_jitter(process: ProcessData, carried: Array, duration: float) -> None:
    """Add ``N_j s_j s_j^T / 2`` to all columns."""
    at, s = process.effect_at, process.slopes
    to_base = (at[7], at[8], at[9]), (at[10], at[11], at[12]), (at[13], at[14], at[15])
    for j in range(CARRIED):
        by_moment, by_pulse = 0.5 * duration * duration * process.moments[j], 0.5 * duration * process.pulses[j]
        by_position = times(by_moment, turn(to_base, (s[j, 0], s[j, 1], s[j, 2])))
        by_velocity, by_attitude = effect_of_slope(process, j)
        by_velocity, by_attitude = times(by_pulse, by_velocity), times(by_pulse, by_attitude)
        for k in range(INPUTS):
            weight, column = s[j, k], j * INPUTS + k
            for i in range(3):
                carried[POSITION_ROW + i, column] += weight * by_position[i]
                carried[VELOCITY_ROW + i, column] += weight * by_velocity[i]
                carried[ATTITUDE_ROW + i, column] += weight * by_attitude[i]


@kernel
def add_half_effect(process: ProcessData, carried: Array, duration: float) -> None:
    """Add ``N_j Q / 2`` to all columns; ``effect`` (9, 6) has the rows ``R Q`` and ``G Q``."""
    for j in range(CARRIED):
        by_moment, by_pulse = 0.5 * duration * duration * process.moments[j], 0.5 * duration * process.pulses[j]
        for k in range(INPUTS):
            for i in range(3):
                carried[POSITION_ROW + i, j * INPUTS + k] += by_moment * process.effect[i, k]
            for i in range(3, 9):
                carried[i, j * INPUTS + k] += by_pulse * process.effect[i, k]
    if has_slopes(process):
        add_half_jitter(process, carried, duration)


@kernel
def effect_of(process: ProcessData, force: Vector, omega: Vector) -> tuple[Vector, Vector]:
    """``G`` times an error of the input, in V and q, by the state of :func:`set_effect`."""
    at = process.effect_at
    velocity, q, e0 = (at[0], at[1], at[2]), (at[3], at[4], at[5]), at[6]
    return plus(force, cross(velocity, omega)), times(0.5, plus(times(e0, omega), cross(q, omega)))


@kernel
def set_effect(process: ProcessData, state: Array) -> None:
    """``R Q`` and ``G Q`` at a state (n,), that before the step, as printed."""
    velocity: Vector = (state[VELOCITY_ROW], state[VELOCITY_ROW + 1], state[VELOCITY_ROW + 2])
    q: Vector = (state[ATTITUDE_ROW], state[ATTITUDE_ROW + 1], state[ATTITUDE_ROW + 2])
    square = 1.0 - dot(q, q)
    e0 = sqrt(square) if square > 0.0 else 0.0
    to_base, noise, effect, at = rotation(q, e0), process.noise, process.effect, process.effect_at
    for i in range(3):
        at[i], at[3 + i] = velocity[i], q[i]
        for j in range(3):
            at[7 + 3 * i + j] = to_base[i][j]
    at[6] = e0
    for k in range(INPUTS):
        force, omega = (noise[0, k], noise[1, k], noise[2, k]), (noise[3, k], noise[4, k], noise[5, k])
        by_moment, (by_velocity, by_attitude) = turn(to_base, force), effect_of(process, force, omega)
        for i in range(3):
            effect[i, k], effect[3 + i, k], effect[6 + i, k] = by_moment[i], by_velocity[i], by_attitude[i]


@kernel
def input_error(process: ProcessData, kind: int, axis: int, std: float) -> tuple[Vector, Vector]:
    """Error of specific force and angular rate by one standard deviation of a constant, platform axes.

    The state is that of the IMU's place in the file: a sample taken r away is wrong by ``omega' x r + omega x (omega x
    r)``, and one of an IMU that is turned by v by ``v x`` itself. Gravity acts like a specific force.
    """
    after, before, none = process.samples[0], process.samples[1], (0.0, 0.0, 0.0)
    force = 0.5 * (before[0] + after[0]), 0.5 * (before[1] + after[1]), 0.5 * (before[2] + after[2])
    omega = 0.5 * (before[3] + after[3]), 0.5 * (before[4] + after[4]), 0.5 * (before[5] + after[5])
    unit = std if axis % 3 == 0 else 0.0, std if axis % 3 == 1 else 0.0, std if axis % 3 == 2 else 0.0
    if kind == GRAVITY:
        at, chart = process.effect_at, process.chart
        to_base = (at[7], at[8], at[9]), (at[10], at[11], at[12]), (at[13], at[14], at[15])
        return turn_back(to_base, (std * chart[axis, 0], std * chart[axis, 1], std * chart[axis, 2])), none
    if kind == PLACE:
        rate = 1.0 / process.times[0]
        turning = rate * (after[3] - before[3]), rate * (after[4] - before[4]), rate * (after[5] - before[5])
        return times(-1.0, plus(cross(turning, unit), cross(omega, cross(omega, unit)))), none
    if kind == MOUNTING:
        return cross(unit, force), cross(unit, omega)
    if kind == WARMING:
        changed = (process.stamps[1] - process.reference[0]) * _NANOSECOND
        return (times(changed, unit), none) if axis < 3 else (none, times(changed, unit))
    if kind in (DELAY, SKEW):  # of a sample that was taken before its stamp
        late = std / process.times[0]
        if kind == SKEW:
            late *= (process.stamps[1] - process.reference[0]) * _NANOSECOND
        return (
            times(late, minus((after[0], after[1], after[2]), (before[0], before[1], before[2]))),
            times(late, minus((after[3], after[4], after[5]), (before[3], before[4], before[5]))),
        )
    if kind == AXIS_DELAY:
        along, first = sensor_axis(process, axis), axis // 3 * 3
        change = minus(
            (after[first], after[first + 1], after[first + 2]), (before[first], before[first + 1], before[first + 2])
        )
        error = times(std / process.times[0] * dot(along, change), along)
        return (error, none) if axis < 3 else (none, error)
    if kind == RESPONSE:
        if process.used[0] < 3:
            return none, none
        earlier, bend = process.samples[2], std / process.times[0] ** 2
        return (
            times(bend, (
                after[0] - 2.0 * before[0] + earlier[0], after[1] - 2.0 * before[1] + earlier[1],
                after[2] - 2.0 * before[2] + earlier[2],
            )),
            times(bend, (
                after[3] - 2.0 * before[3] + earlier[3], after[4] - 2.0 * before[4] + earlier[4],
                after[5] - 2.0 * before[5] + earlier[5],
            )),
        )  # fmt: skip
    row, sensed = axis % 9 // 3, force if axis < 9 else omega
    part = std * sensed[axis % 3]
    error = part if row == 0 else 0.0, part if row == 1 else 0.0, part if row == 2 else 0.0
    return (error, none) if axis < 9 else (none, error)


@kernel
def sensor_axis(process: ProcessData, axis: int) -> Vector:
    """One of the axes of the IMU itself, 0 to 2 of the accelerometer and 3 to 5 of the gyroscope, platform axes."""
    axes, place = process.sensor_axes, axis % 3
    return axes[0, place], axes[1, place], axes[2, place]


@kernel
def moves_along(process: ProcessData, axis: int) -> bool:
    """Whether samples along an axis of :func:`sensor_axis` are those of a motion, far beyond their noise."""
    along, power, noise = sensor_axis(process, axis), 0.0, 0.0
    for i in range(3):
        sensed = axis // 3 * 3 + i
        power += along[i] * along[i] * process.slopes[POWER, sensed]
        noise += along[i] * along[i] * process.noise[sensed, sensed]
    return power > _EXCITED * noise


@kernel
def watch_excitation(process: ProcessData, duration: float) -> None:
    """Mean of the samples, and mean square of their deviations from it, over a short time."""
    mean, power, part = process.slopes[MEAN], process.slopes[POWER], min(1.0, duration / _EXCITED_FOR)
    change = process.slopes[CHANGE]
    for i in range(INPUTS):
        if process.reference[0] == NO_STAMP:
            mean[i] = process.samples[0, i]
        off = process.samples[0, i] - mean[i]
        mean[i] += part * off
        power[i] += part * (off * off - power[i])
        step = process.samples[0, i] - process.samples[1, i]
        change[i] += part * (step * step - change[i])
    if process.reference[0] == NO_STAMP:
        process.reference[0] = process.stamps[1]


@kernel
def set_counted(process: ProcessData, counted: Array) -> None:
    """Which columns of a sensitivity count in what innovations say, 1 or 0 into ``counted`` (p,).

    A column that is made of samples has their noise in it, and so has the innovation: at rest it would be told that
    noise is a constant. So they count where the platform moves far beyond it; a place along an axis where it turns
    about another one.
    """
    moves, turns, first, changes = False, 0, len(counted) - len(process.constants), False
    for i in range(INPUTS):
        changes = changes or process.slopes[CHANGE, i] > 2.0 * _CHANGING * process.noise[i, i]
    for i in range(3):
        moves = moves or process.slopes[POWER, i] > _EXCITED * process.noise[i, i]
        if process.slopes[POWER, 3 + i] > _EXCITED * process.noise[3 + i, 3 + i]:
            turns += 1 << i
    counted[:] = 1.0 if moves or turns > 0 else 0.0
    for k in range(len(process.constants)):
        kind, axis = int(process.constants[k, 0]), int(process.constants[k, 1])
        if kind == RESPONSE and not changes:
            counted[first + k] = 0.0
        if kind == WARMING:
            counted[first + k] = 1.0
        if kind == PLACE and turns & ~(1 << axis) == 0:
            counted[first + k] = 0.0
        if kind == AXIS_DELAY and not moves_along(process, axis):
            counted[first + k] = 0.0
        sensed = axis % 3 + 3 * (axis // 9)
        if kind == SCALE and not process.slopes[POWER, sensed] > _SCALED * process.noise[sensed, sensed]:
            counted[first + k] = 0.0


@kernel
def correct_input(process: ProcessData, found: Array, sample: Array) -> None:
    """Add to a sample (6,) of now what constants that were found, the last of ``found`` (p,), make of it."""
    first = len(found) - len(process.constants)
    for k in range(len(process.constants)):
        size, kind = found[first + k] * process.constants[k, 2], int(process.constants[k, 0])
        if size != 0.0 and kind not in (GRAVITY, RESPONSE):  # gravity is not in it, and a second slope is noise
            force, omega = input_error(process, kind, int(process.constants[k, 1]), size)
            for i in range(3):
                sample[i] += force[i]
                sample[3 + i] += omega[i]


@kernel
def add_constants(process: ProcessData, carried: Array, duration: float) -> None:
    """Add to the last columns of ``carried``, after a step, what constants that act through the input make of it.

    An attitude that becomes wrong within the step turns gravity half a step long.
    """
    at, first = process.effect_at, carried.shape[1] - len(process.constants)
    watch_excitation(process, duration)
    to_base = (at[7], at[8], at[9]), (at[10], at[11], at[12]), (at[13], at[14], at[15])
    gravity = turn_back(to_base, (process.gravity[0], process.gravity[1], process.gravity[2]))
    for k in range(len(process.constants)):
        kind, axis = int(process.constants[k, 0]), int(process.constants[k, 1])
        force, omega = input_error(process, kind, axis, process.constants[k, 2])
        by_position = times(0.5 * duration * duration, turn(to_base, force))
        by_velocity, by_attitude = effect_of(process, force, omega)
        by_velocity = plus(by_velocity, times(0.5 * duration, cross(gravity, omega)))
        for i in range(3):
            carried[POSITION_ROW + i, first + k] += by_position[i]
            carried[VELOCITY_ROW + i, first + k] += duration * by_velocity[i]
            carried[ATTITUDE_ROW + i, first + k] += duration * by_attitude[i]


@kernel
def add_input_noise(process: ProcessData, covariance: Array, carried: Array, duration: float) -> None:
    """Carried noise of the samples in the step of :func:`set_inputs`, ``duration`` s, after ``F P F^T`` and ``F C_j``.

    With ``B_j = A_j + N_j Q / 2``, half way, the covariance gains ``sum_j B_j N_j^T + N_j B_j^T``.

    Parameters
    ----------
    covariance, carried : (n, n), (n, 18) or more, changed in place
    """
    at, size = process.effect_at, len(covariance)
    to_base = (at[7], at[8], at[9]), (at[10], at[11], at[12]), (at[13], at[14], at[15])
    add_half_effect(process, carried, duration)
    w, m = process.pulses, process.moments
    for i in range(size):
        f0 = w[0] * carried[i, 0] + w[1] * carried[i, 6] + w[2] * carried[i, 12]
        f1 = w[0] * carried[i, 1] + w[1] * carried[i, 7] + w[2] * carried[i, 13]
        f2 = w[0] * carried[i, 2] + w[1] * carried[i, 8] + w[2] * carried[i, 14]
        o0 = w[0] * carried[i, 3] + w[1] * carried[i, 9] + w[2] * carried[i, 15]
        o1 = w[0] * carried[i, 4] + w[1] * carried[i, 10] + w[2] * carried[i, 16]
        o2 = w[0] * carried[i, 5] + w[1] * carried[i, 11] + w[2] * carried[i, 17]
        g0 = m[0] * carried[i, 0] + m[1] * carried[i, 6] + m[2] * carried[i, 12]
        g1 = m[0] * carried[i, 1] + m[1] * carried[i, 7] + m[2] * carried[i, 13]
        g2 = m[0] * carried[i, 2] + m[1] * carried[i, 8] + m[2] * carried[i, 14]
        by_position = times(duration * duration, turn(to_base, (g0, g1, g2)))
        by_velocity, by_attitude = effect_of(process, (f0, f1, f2), (o0, o1, o2))
        by_velocity, by_attitude = times(duration, by_velocity), times(duration, by_attitude)
        for k in range(3):
            covariance[i, k] += by_position[k]
            covariance[k, i] += by_position[k]
            covariance[i, 3 + k] += by_velocity[k]
            covariance[3 + k, i] += by_velocity[k]
            covariance[i, 6 + k] += by_attitude[k]
            covariance[6 + k, i] += by_attitude[k]
    add_half_effect(process, carried, duration)
    if process.has_gap[0]:
        add_gap_noise(process, covariance, duration)


@kernel
def add_gap_noise(process: ProcessData, covariance: Array, duration: float) -> None:
    """Error of the polynomial over a gap: ``duration times[0] G diag(gap_variance) G^T``, in all steps the whole."""
    for k in range(INPUTS):
        unit = 1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0
        none = 0.0, 0.0, 0.0
        by_velocity, by_attitude = effect_of(process, none if k >= 3 else unit, unit if k >= 3 else none)
        variance = duration * process.times[0] * process.gap_variance[k]
        effect = by_velocity + by_attitude
        for i in range(6):
            for j in range(6):
                covariance[VELOCITY_ROW + i, VELOCITY_ROW + j] += variance * effect[i] * effect[j]
