"""Delay, mounting and place of the IMU as states: the motion at the stamp of the legs, one state."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.linalg import Vector, cross, minus, plus, store, times, vector
from pkm_description.kernels.model import Integers

from pkm_estimation.kernels.process import (
    ACCELEROMETER_ROW,
    GYROSCOPE_ROW,
    VELOCITY_ROW,
    Rotation,
    exponential,
    product,
    triple,
    turn,
    turn_back,
)

#: places of the first rows of the constants in an array ``rows`` (4,); -1 there: not estimated
LEG_OFFSETS, IMU_DELAY, IMU_ROTATION, IMU_POSITION = 0, 1, 2, 3

#: position [m] and rotation to its axes; velocity, angular velocity, specific force, angular acceleration and the IMU's
#: place in platform axes
Motion = tuple[Vector, Rotation, Vector, Vector, Vector, Vector, Vector]


@kernel
def with_constants(rows: Integers, points: Array, point: int, gravity: Vector, motion: Motion) -> Motion:
    """Apply mounting and place, and extrapolate over the remaining delay, by which the states lag.

    The position is extrapolated to second order, the attitude with the mean angular velocity of that time (rate plus
    half the angular acceleration times the remaining delay), and the velocity to first order.

    Parameters
    ----------
    rows : (4,) where the constants lie
    points, point : states as rows, and which of them
    gravity : m/s^2, axes of the positions
    motion : at the state, with nominal mounting and place
    """
    position, attitude, velocity, rate, force, turning, place = motion
    if rows[IMU_POSITION] >= 0:
        place = plus(place, triple(points, point, rows[IMU_POSITION]))
    if rows[IMU_ROTATION] >= 0:
        mounting = exponential(triple(points, point, rows[IMU_ROTATION]))
        rate, force, turning = turn(mounting, rate), turn(mounting, force), turn(mounting, turning)
    if rows[IMU_DELAY] >= 0:
        rest = points[point, rows[IMU_DELAY]]
        acceleration = plus(force, turn_back(attitude, gravity))
        way = plus(times(rest, velocity), times(0.5 * rest * rest, acceleration))
        position = plus(position, turn(attitude, way))
        attitude = product(attitude, exponential(times(rest, plus(rate, times(0.5 * rest, turning)))))
        velocity = plus(velocity, times(rest, minus(acceleration, cross(rate, velocity))))
    return position, attitude, velocity, rate, force, turning, place


@kernel
def pose_at_legs(
    rows: Integers,
    imu: Array,
    turning: Array,
    gravity: Array,
    points: Array,
    point: int,
    position: Vector,
    attitude: Rotation,
) -> tuple[Vector, Rotation, Vector]:
    """Position of the IMU's point and attitude at the stamp of the legs, and by how much the IMU's place is another.

    Parameters
    ----------
    rows : (4,) where the constants lie
    imu, turning : (6,) IMU sample and (3,) rad/s^2 angular acceleration of now, nominal platform axes
    gravity : (3,) m/s^2, axes of the positions
    points, point : states as rows, and which of them
    position, attitude : of that state
    """
    place = (0.0, 0.0, 0.0)
    if rows[IMU_DELAY] < 0 and rows[IMU_POSITION] < 0:
        return position, attitude, place
    velocity = triple(points, point, VELOCITY_ROW)
    rate = minus((imu[3], imu[4], imu[5]), triple(points, point, GYROSCOPE_ROW))
    force = minus((imu[0], imu[1], imu[2]), triple(points, point, ACCELEROMETER_ROW))
    motion = position, attitude, velocity, rate, force, (turning[0], turning[1], turning[2]), place
    position, attitude, _, _, _, _, place = with_constants(
        rows, points, point, (gravity[0], gravity[1], gravity[2]), motion
    )
    return position, attitude, place


@kernel
def with_constants_of_all(
    rows: Integers,
    points: Array,
    gravity: Array,
    position: Array,
    attitude: Array,
    velocity: Array,
    rate: Array,
    force: Array,
    turning: Array,
    place: Array,
) -> None:
    """The same of N points, in place; arrays (N, 3), the attitude (N, 3, 3)."""
    for k in range(len(points)):
        r: Rotation = vector(attitude[k], 0), vector(attitude[k], 1), vector(attitude[k], 2)
        motion: Motion = (
            vector(position, k), r, vector(velocity, k), vector(rate, k), vector(force, k), vector(turning, k),
            vector(place, k),
        )  # fmt: skip
        motion = with_constants(rows, points, k, (gravity[0], gravity[1], gravity[2]), motion)
        store(position, k, motion[0])
        for i in range(3):
            store(attitude[k], i, motion[1][i])
        store(velocity, k, motion[2])
        store(rate, k, motion[3])
        store(force, k, motion[4])
        store(turning, k, motion[5])
        store(place, k, motion[6])
