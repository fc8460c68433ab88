"""Leg measurements that are ordinary, one after the other: predict along the IMU samples, correct, judge.

A measurement is ordinary if nothing has to be decided: all legs fit, no gap, no change of the chart. At the first one
that is not, everything is as it was before it.
"""

from __future__ import annotations

from typing import NamedTuple

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.geometry_slopes import GeometryData
from pkm_description.kernels.model import Integers, ModelData, ScratchData

from pkm_estimation.kernels.carried import VARIANCE, add_claim, add_found, observe_stamp
from pkm_estimation.kernels.input_noise import correct_input
from pkm_estimation.kernels.input_path import input_at, take_samples
from pkm_estimation.kernels.leg_lengths import DrivesData, LegsData, add_to_scale, drives_of_all, slopes_of_drives
from pkm_estimation.kernels.process import ACCELEROMETER_ROW, ProcessData, left_chart
from pkm_estimation.kernels.sample_noise import PLACES
from pkm_estimation.kernels.steps import differentiate, predict, score, update
from pkm_estimation.kernels.unscented import CARRIED_NOISES, CorrectionData, FilterData, correct, draw_points

_NANOSECOND = 1e-9
#: places in ``times``
NOW, LOOK_FROM, LOOK_BEFORE, SINCE = 0, 1, 2, 3
#: places in ``ages``
AGE, INTERVAL = 0, 1


class FollowData(NamedTuple):
    """What surrounds the filter; n states, A legs.

    Attributes
    ----------
    times : (4,) ns, clock of the IMU: of the state, from which on and before which the pose need not be looked at, and
        of the filter's start
    place : (1,) last IMU sample at the state or before it
    now, end : (6,) input at the state, and at the end of a step
    differentiated : (3, 3) memory of the differentiator of the angular rate
    ages : (2,) s, since the differentiator began, and between its last samples
    fit : (1,) mean square of normalised innovations, see :func:`~pkm_estimation.kernels.leg_lengths.add_to_scale`
    squares : (A,) memory
    normal : (n,) what it measures of the state must be above ``height``
    walk : (n,) growth of the variances per second
    lengths_at_zero : (A,) m
    kept_state, kept_covariance, kept_carried, kept_differentiated, kept_joints : before the measurement
    kept_slopes, kept_scatter, kept_stamps : of the process, too: (16, 6), (2, 6), (3, 4)
    longest_step, longest_imu_gap, longest_leg_gap : s
    chart_radius : size of the quaternion's vector part at which the chart must move
    has_struts : 1 if the legs are struts; else the machine's model says what its drives measure
    fitting_nis : largest NIS of a model that fits, see :class:`~pkm_estimation.tracking.tracker_state.InnovationFit`
    largest_nis : above it other things must happen
    is_judged : 1 if there is a gate
    stiffness, drag : of the differentiator
    height : m
    largest_biases : (6,) beyond them something else must be wrong, m/s^2 and rad/s
    largest_scale : of the innovations, beyond it the same
    largest_constraint_nis : NIS of the constraints, beyond it the same
    pose_weights : (n,) of the variances of the states in ``largest_spread``
    largest_spread : m^2, above it a singular pose may be within what is known of the pose
    """

    times: Integers
    place: Integers
    now: Array
    end: Array
    differentiated: Array
    ages: Array
    fit: Array
    squares: Array
    normal: Array
    walk: Array
    lengths_at_zero: Array
    kept_state: Array
    kept_covariance: Array
    kept_carried: Array
    kept_differentiated: Array
    kept_joints: Array
    kept_slopes: Array
    kept_scatter: Array
    kept_stamps: Integers
    longest_step: float
    longest_imu_gap: float
    longest_leg_gap: float
    chart_radius: float
    has_struts: int
    fitting_nis: float
    largest_nis: float
    is_judged: int
    stiffness: float
    drag: float
    height: float
    largest_biases: Array
    largest_scale: float
    largest_constraint_nis: float
    pose_weights: Array
    largest_spread: float


class FollowedData(NamedTuple):
    """What is kept of N measurements.

    Attributes
    ----------
    states, covariances : (N, n), (N, n, n), covariances as claimed, with the machine's constants
    samples : (N, 6) IMU
    residuals, variances, nis : (N, A), (N, A), (N,) innovations
    white : (N, A) residuals divided by the root of their covariance
    shared : (N, A) part of the variances that constants of the machine have
    rates, ages : (N, 3), (N, 2) differentiated angular rate
    """

    states: Array
    covariances: Array
    samples: Array
    residuals: Array
    variances: Array
    nis: Array
    rates: Array
    ages: Array
    white: Array
    shared: Array


@kernel
def put(numbers: Array, into: Array) -> None:
    """Copy a vector."""
    for i in range(len(numbers)):
        into[i] = numbers[i]


@kernel
def put_rows(rows: Array, into: Array) -> None:
    """Copy a matrix."""
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            into[i, j] = rows[i, j]


@kernel
def advance(filter_: FilterData, process: ProcessData, data: FollowData, stamp: int) -> bool:
    """Predict up to ``stamp`` [ns] within the present interval of samples; whether that was an ordinary step."""
    duration, interval = (stamp - data.times[NOW]) * _NANOSECOND, process.times[0]
    if duration > data.longest_step or interval > data.longest_imu_gap:
        return False
    input_at(process, (stamp - process.stamps[1]) * _NANOSECOND, data.end)
    differentiate(data.differentiated, data.end, 3, duration, data.stiffness, data.drag)
    data.ages[AGE] += duration
    data.ages[INTERVAL] = interval
    if predict(filter_, process, (data.times[NOW] - process.stamps[1]) * _NANOSECOND, duration) < 0:
        return False
    for i in range(len(filter_.state)):
        filter_.covariance[i, i] += duration * data.walk[i]
    if left_chart(filter_.state, data.chart_radius):
        return False
    data.times[NOW] = stamp
    put(data.end, data.now)
    return True


@kernel
def advance_to(
    filter_: FilterData, process: ProcessData, data: FollowData, stamps: Integers, samples: Array, due: int
) -> bool:
    """Predict along the IMU samples up to ``due`` [ns]."""
    last, times = data.place[0], data.times
    if not (due - times[NOW] > 0 and (due - times[NOW]) * _NANOSECOND <= data.longest_leg_gap):
        return False
    while times[NOW] < due:
        while last + 1 < len(stamps) and stamps[last + 1] <= times[NOW]:
            last += 1
        if not (stamps[last] <= times[NOW] and last + 1 < len(stamps)):
            return False
        take_samples(process, stamps, samples, last, times[SINCE])
        if not advance(filter_, process, data, min(due, stamps[last + 1])):
            return False
    while last + 1 < len(stamps) and stamps[last + 1] <= due:
        last += 1
    data.place[0] = last
    return True


@kernel
def update_by_drives(
    filter_: FilterData, model: ModelData, scratch: ScratchData, drives: DrivesData, geometry: GeometryData,
    correction: CorrectionData, limit: float,
) -> int:  # fmt: skip
    """Correct with the numbers in use of what the drives measure, if the NIS is within ``limit``."""
    status = draw_points(filter_)
    if status < 0:
        return status
    drives_of_all(model, scratch, drives, filter_.points, correction.values)
    if correction.constants.shape[1]:
        slopes_of_drives(model, scratch, drives, geometry, filter_.points, correction.constants)
    return correct(filter_, correction, limit)


@kernel
def onto_constraints(
    filter_: FilterData, model: ModelData, scratch: ScratchData, drives: DrivesData, geometry: GeometryData,
    correction: CorrectionData, limit: float,
) -> bool:  # fmt: skip
    """Correct with the numbers behind those in use, the constraints; whether their NIS is within ``limit``."""
    used, count = correction.used, correction.used_count[0]
    constraints = len(used) - count
    for k in range(constraints):
        used[k] = count + k
    correction.used_count[0] = constraints
    status = update_by_drives(filter_, model, scratch, drives, geometry, correction, limit)
    for k in range(count):
        used[k] = k
    correction.used_count[0] = count
    return status >= 0 and correction.nis[0] <= limit


@kernel
def correct_and_judge(
    filter_: FilterData, legs: LegsData, model: ModelData, scratch: ScratchData, drives: DrivesData,
    geometry: GeometryData, correction: CorrectionData, data: FollowData,
) -> bool:  # fmt: skip
    """Correct with the measured positions; whether they fit and the result is sound."""
    limit, spread = data.largest_nis, 0.0
    for i in range(len(filter_.state)):
        spread += data.pose_weights[i] * filter_.covariance[i, i]
    if spread > data.largest_spread:
        return False
    if data.is_judged:
        if data.fit[0] > data.largest_scale:
            return False
        limit = min(limit, data.fitting_nis * max(1.0, data.fit[0]))
    if data.has_struts:
        status = update(filter_, legs, correction, limit)
    elif correction.used_count[0] < len(correction.used) and not onto_constraints(
        filter_, model, scratch, drives, geometry, correction, data.largest_constraint_nis
    ):
        return False
    else:
        status = update_by_drives(filter_, model, scratch, drives, geometry, correction, limit)
    if status < 0 or not correction.nis[0] <= limit:
        return False
    above = 0.0
    for i in range(len(filter_.state)):
        above += data.normal[i] * filter_.state[i]
    if not above > data.height:
        return False
    for i in range(len(data.largest_biases)):
        if not abs(filter_.state[ACCELEROMETER_ROW + i]) <= data.largest_biases[i]:
            return False
    if data.is_judged:
        add_to_scale(correction.residual, correction.variance, correction.shared, data.fit, data.squares)
    return True


@kernel
def follow(
    filter_: FilterData,
    process: ProcessData,
    legs: LegsData,
    model: ModelData,
    scratch: ScratchData,
    drives: DrivesData,
    geometry: GeometryData,
    correction: CorrectionData,
    data: FollowData,
    stamps: Integers,
    samples: Array,
    due: Integers,
    positions: Array,
    states: Array,
    covariances: Array,
    taken: Array,
    residuals: Array,
    variances: Array,
    nis: Array,
    rates: Array,
    ages: Array,
    white: Array,
    shared: Array,
) -> int:
    """Follow measurements up to the first that is not ordinary, or after which to look at the pose; returns how many.

    Parameters
    ----------
    stamps, samples : (M,) ns, (M, 6) IMU
    due : (N,) ns of the measurements, by the clock of the IMU
    positions : (N, A) m of the drives
    states, ... : take the results, see :class:`FollowedData`
    """
    estimate, covariance = filter_.state, filter_.covariance
    for k in range(len(due)):
        put(estimate, data.kept_state)
        put(drives.start, data.kept_joints)
        put_rows(covariance, data.kept_covariance)
        put_rows(filter_.carried, data.kept_carried)
        put_rows(data.differentiated, data.kept_differentiated)
        put_rows(process.slopes, data.kept_slopes)
        put(process.imu_scatter, data.kept_scatter[0])
        put(process.leg_scatter, data.kept_scatter[1])
        for i in range(3):
            data.kept_stamps[0, i], data.kept_stamps[1, i] = process.imu_stamps[i], process.leg_stamps[i]
        for i in range(PLACES):
            data.kept_stamps[2, i] = process.scatter_stamps[i]
        newest, columns = process.newest[0], filter_.carried_count[0]
        now, place, age, interval = data.times[NOW], data.place[0], data.ages[AGE], data.ages[INTERVAL]
        outside_process, outside_legs, outside_drives = process.outside[0], legs.outside[0], drives.outside[0]
        for leg in range(len(data.lengths_at_zero)):
            correction.measurement[leg] = positions[k, leg] + data.lengths_at_zero[leg]
        observe_stamp(process.leg_scatter, process.leg_stamps, due[k])
        filter_.stamp_variance[0] = process.leg_scatter[VARIANCE]
        is_ordinary = advance_to(filter_, process, data, stamps, samples, due[k])
        if not is_ordinary or not correct_and_judge(
            filter_, legs, model, scratch, drives, geometry, correction, data
        ):
            put(data.kept_state, estimate)
            put(data.kept_joints, drives.start)
            put_rows(data.kept_covariance, covariance)
            put_rows(data.kept_carried, filter_.carried)
            put_rows(data.kept_slopes, process.slopes)
            put(data.kept_scatter[0], process.imu_scatter)
            put(data.kept_scatter[1], process.leg_scatter)
            for i in range(3):
                process.imu_stamps[i], process.leg_stamps[i] = data.kept_stamps[0, i], data.kept_stamps[1, i]
            for i in range(PLACES):
                process.scatter_stamps[i] = data.kept_stamps[2, i]
            process.newest[0], filter_.carried_count[0] = newest, columns
            put_rows(data.kept_differentiated, data.differentiated)
            data.times[NOW], data.place[0], data.ages[AGE], data.ages[INTERVAL] = now, place, age, interval
            process.outside[0], legs.outside[0], drives.outside[0] = outside_process, outside_legs, outside_drives
            return k
        put(estimate, states[k])
        add_found(filter_.carried, CARRIED_NOISES, filter_.found, states[k])
        put_rows(covariance, covariances[k])
        weight = filter_.scale[0]
        add_claim(filter_.carried, CARRIED_NOISES, filter_.claim, filter_.claim_rows, weight, covariances[k])
        score(filter_, process, correction)
        put(data.now, taken[k])
        correct_input(process, filter_.found, taken[k])
        for drive in range(residuals.shape[1]):
            residuals[k, drive], variances[k, drive] = correction.residual[drive], correction.variance[drive]
            white[k, drive], shared[k, drive] = correction.judged[drive], correction.shared[drive]
        nis[k] = correction.nis[0]
        put(data.differentiated[0], rates[k])
        put(data.ages, ages[k])
        if due[k] >= data.times[LOOK_BEFORE] or due[k] < data.times[LOOK_FROM]:
            return k + 1
    return len(due)
