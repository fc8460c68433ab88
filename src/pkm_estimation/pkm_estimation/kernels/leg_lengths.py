"""Leg lengths as a function of the state: the measurement model (Eq. 20 with Eqs 1 and 25), one state."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import closure_gaps, leg_rows
from pkm_description.kernels.kinematics.geometry_slopes import GeometryData, geometry_slopes
from pkm_description.kernels.kinematics.legs import close_leg, close_strut, eliminate
from pkm_description.kernels.kinematics.tree import leg_poses
from pkm_description.kernels.linalg import dot, minus, plus, reflect, store, vector
from pkm_description.kernels.model import Integers, ModelData, ScratchData

from pkm_estimation.kernels.imu_constants import LEG_OFFSETS, pose_at_legs
from pkm_estimation.kernels.process import ATTITUDE_ROW, POSITION_ROW, product, rotation, scalar_part, triple, turn

#: weight of a new measurement in the mean square of normalised innovations
_FORGETTING = 0.05
#: median of a chi-square variable with one degree of freedom
_MEDIAN = 0.4549
#: square of the largest error that lasts, in its standard deviations
_SHARED = 9.0
#: most iterations of a leg
MOST = 50


class LegsData(NamedTuple):
    """Geometry of L legs, and what constants as states need.

    Attributes
    ----------
    base_points : (L, 3) m, axes of the positions
    platform_points : (L, 3) m, from the nominal place of the IMU, platform axes
    gravity : (3,) m/s^2, axes of the positions
    rows : (4,) first rows of the constants, see :mod:`pkm_estimation.kernels.imu_constants`
    imu : (6,) IMU sample of now, nominal platform axes
    angular_acceleration : (3,) rad/s^2 of now, the same
    outside : (1,) number of evaluated points with ``q.q > 1`` so far
    tolerances : (L, 3) m, standard deviations of base points, platform points and zeros
    chart : (3, 3) axes of the positions to base axes
    """

    base_points: Array
    platform_points: Array
    gravity: Array
    rows: Integers
    imu: Array
    angular_acceleration: Array
    outside: Integers
    tolerances: Array
    chart: Array


@kernel
def leg_lengths(legs: LegsData, points: Array, point: int, values: Array) -> None:
    """``|c + T_ba a_l - b_l|`` of each leg, into a row of ``values`` (N, L); a_l from the IMU's point (Eq. 25)."""
    position, q = triple(points, point, POSITION_ROW), triple(points, point, ATTITUDE_ROW)
    attitude = rotation(q, scalar_part(q, legs.outside))
    rows, imu, turning = legs.rows, legs.imu, legs.angular_acceleration
    position, attitude, place = pose_at_legs(
        rows, imu, turning, legs.gravity, points, point, position, attitude
    )
    offsets = rows[LEG_OFFSETS]
    for leg in range(len(legs.base_points)):
        arm = turn(attitude, minus(vector(legs.platform_points, leg), place))
        along = minus(plus(position, arm), vector(legs.base_points, leg))
        values[point, leg] = sqrt(dot(along, along))
        if offsets >= 0:
            values[point, leg] += points[point, offsets + leg]


@kernel
def lengths_of_all(legs: LegsData, points: Array, values: Array) -> None:
    """Leg lengths (N, L) of all points."""
    for point in range(len(points)):
        leg_lengths(legs, points, point, values)


@kernel
def slopes_of_struts(legs: LegsData, points: Array, slopes: Array) -> None:
    """Slopes (L, L or more) of the lengths with respect to the geometry at the first point, per standard deviation.

    Of leg l column l: -1 at its zero; where joint centres are not exact the columns L + 6 l ..: ``-u`` at its base
    point, ``R^T u`` at its platform point.
    """
    position, q = triple(points, 0, POSITION_ROW), triple(points, 0, ATTITUDE_ROW)
    position, attitude, place = pose_at_legs(
        legs.rows, legs.imu, legs.angular_acceleration, legs.gravity, points, 0, position,
        rotation(q, scalar_part(q, legs.outside)),
    )  # fmt: skip
    for leg in range(len(legs.base_points)):
        arm = turn(attitude, minus(vector(legs.platform_points, leg), place))
        along = minus(plus(position, arm), vector(legs.base_points, leg))
        base, platform = legs.tolerances[leg, 0], legs.tolerances[leg, 1]
        slopes[leg, leg] = -legs.tolerances[leg, 2]
        if base == 0.0 and platform == 0.0:
            continue
        length, column = sqrt(dot(along, along)), len(legs.base_points) + 6 * leg
        for i in range(3):
            to_base, to_platform = 0.0, 0.0
            for k in range(3):
                to_base += legs.chart[i, k] * along[k]
                to_platform += attitude[k][i] * along[k]
            slopes[leg, column + i] = -base * to_base / length
            slopes[leg, column + 3 + i] = platform * to_platform / length


class DrivesData(NamedTuple):
    """Where the states lie, and memory. R constraint rows of the leg that has most, of W columns.

    Attributes
    ----------
    chart : (1, 3, 3) axes of positions and attitudes to base axes
    imu_position : (3,) m, platform axes; states describe this point
    gravity : (3,) m/s^2, axes of the positions
    constants : (4,) first rows of the constants, see :mod:`pkm_estimation.kernels.imu_constants`
    imu : (6,) IMU sample of now, nominal platform axes
    angular_acceleration : (3,) rad/s^2 of now, the same
    start : (J,) joint positions where the iterations of the first point begin; afterwards those that they found
    rows, reflections : (L, R, W), (L, R) QR of the closure rows of each leg at the first point
    outside : (1,) number of evaluated points with ``q.q > 1`` so far
    """

    chart: Array
    imu_position: Array
    gravity: Array
    constants: Integers
    imu: Array
    angular_acceleration: Array
    start: Array
    rows: Array
    reflections: Array
    outside: Integers


@kernel
def place_platform(model: ModelData, scratch: ScratchData, drives: DrivesData, points: Array, point: int) -> None:
    """Pose of the platform at a point (row)."""
    platform, chart, nominal = len(model.kind), drives.chart, drives.imu_position
    to_base = triple(chart[0], 0, 0), triple(chart[0], 1, 0), triple(chart[0], 2, 0)
    q = triple(points, point, ATTITUDE_ROW)
    imu_point, attitude, place = pose_at_legs(
        drives.constants, drives.imu, drives.angular_acceleration, drives.gravity, points, point,
        triple(points, point, POSITION_ROW), rotation(q, scalar_part(q, drives.outside)),
    )  # fmt: skip
    imu_point, attitude = turn(to_base, imu_point), product(to_base, attitude)
    arm = turn(attitude, plus((nominal[0], nominal[1], nominal[2]), place))
    store(scratch.origin, platform, minus(imu_point, arm))
    for i in range(3):
        for k in range(3):
            scratch.rotation[platform, i, k] = attitude[i][k]


@kernel
def drives_of_all(
    model: ModelData, scratch: ScratchData, drives: DrivesData, points: Array, values: Array
) -> None:
    """Positions of the drives, then gaps of legs and plane, (N, A + K), of all points.

    The gaps are seen along what the legs forbid at the first point, so that they have the same sense at all of them.
    The legs of the other points are closed from those of the first.
    """
    platform, columns_of, offsets = len(model.kind), model.column_start, drives.constants[LEG_OFFSETS]
    for point in range(len(points)):
        place_platform(model, scratch, drives, points, point)
        for joint in range(platform):
            scratch.joints[joint] = drives.start[joint]
        column = len(model.drive_joint)
        for leg in range(len(model.closed_form)):
            if model.closed_form[leg]:
                close_strut(model, scratch, leg)
                leg_poses(model, scratch, leg)
            else:
                close_leg(model, scratch, leg, MOST)
            columns, rows = columns_of[leg + 1] - columns_of[leg], leg_rows(model, leg)
            if rows == columns:
                continue
            if point == 0:
                eliminate(model, scratch, leg)
                for i in range(rows):
                    drives.reflections[leg, i] = scratch.reflections[leg, i]
                    for j in range(scratch.rows.shape[2]):
                        drives.rows[leg, i, j] = scratch.rows[leg, i, j]
            closure_gaps(model, scratch, leg)
            reflect(drives.rows[leg], drives.reflections[leg], rows, columns, scratch.bias)
            for row in range(columns, rows):
                values[point, column] = scratch.bias[row]
                column += 1
        if len(model.freedom) < 6:  # in a plane: height and tilt
            values[point, column] = scratch.origin[platform, 2] - model.home_position[2]
            for k in range(2):
                tilt = scratch.rotation[platform, 2, k] - model.home_rotation[2, k]
                values[point, column + 1 + k] = model.radius[0] * tilt
        for drive in range(len(model.drive_joint)):
            values[point, drive] = scratch.joints[model.drive_joint[drive]]
            if offsets >= 0:
                values[point, drive] += points[point, offsets + drive]
        if point == 0:
            for joint in range(platform):
                drives.start[joint] = scratch.joints[joint]


@kernel
def slopes_of_drives(
    model: ModelData, scratch: ScratchData, drives: DrivesData, geometry: GeometryData, points: Array, slopes: Array
) -> None:
    """Slopes (A + K, p) with respect to the geometry at the first of the points of :func:`drives_of_all`."""
    place_platform(model, scratch, drives, points, 0)
    for joint in range(len(model.kind)):
        scratch.joints[joint] = drives.start[joint]
    for leg in range(len(model.closed_form)):
        leg_poses(model, scratch, leg)
    geometry_slopes(model, scratch, geometry, slopes)


@kernel
def median_of_squares(values: Array, count: int) -> float:
    """Median of the first squares, which are put in order."""
    for i in range(1, count):
        value, place = values[i], i
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value
    middle = count // 2
    return values[middle] if count % 2 else 0.5 * (values[middle - 1] + values[middle])


@kernel
def add_to_scale(residual: Array, variance: Array, shared: Array, scale: Array, squares: Array) -> None:
    """Add an innovation (A,), NaN where a leg was not used, to the mean square ``scale`` (1,) of normalised ones.

    The median of the legs counts: an outlier says nothing of the others. What constants of the machine have of the
    variance, ``shared`` (A,), is one error for all samples, so that no mean makes it smaller: it counts as large as it
    can be. ``squares`` (A,) is memory.
    """
    count = 0
    for leg in range(len(squares)):
        if residual[leg] == residual[leg]:
            squares[count] = residual[leg] ** 2 / (variance[leg] * (1.0 + (_SHARED - 1.0) * shared[leg]))
            count += 1
    new = min(median_of_squares(squares, count) / _MEDIAN, 10.0 * max(1.0, scale[0]))
    scale[0] += _FORGETTING * (new - scale[0])
