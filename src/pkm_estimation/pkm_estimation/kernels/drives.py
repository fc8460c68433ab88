"""Positions of the drives of any machine, and gaps of its constraints, as functions of the state."""

from __future__ import annotations

from typing import NamedTuple

from pkm_description.arrays import Array
from pkm_description.kernels.closures import closure_gaps, leg_rows
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.legs import close_leg, close_strut, eliminate
from pkm_description.kernels.linalg import reflect
from pkm_description.kernels.model import Integers, ModelData, ScratchData
from pkm_description.kernels.tree import leg_poses
from pkm_description.kernels.vectors import minus, plus, store

from pkm_estimation.kernels.attitude import product, rotation, scalar_part, triple, turn
from pkm_estimation.kernels.imu_constants import LEG_OFFSETS, pose_at_legs
from pkm_estimation.kernels.process import ATTITUDE_ROW, POSITION_ROW

#: most iterations of a leg
MOST = 50


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
