"""Leg lengths as a function of the state: the measurement model (Eq. 20 with Eqs 1 and 25), one state."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import Integers
from pkm_description.kernels.vectors import dot, minus, plus, vector

from pkm_estimation.kernels.attitude import rotation, scalar_part, triple, turn
from pkm_estimation.kernels.imu_constants import LEG_OFFSETS, pose_at_legs
from pkm_estimation.kernels.process import ATTITUDE_ROW, POSITION_ROW


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
    """

    base_points: Array
    platform_points: Array
    gravity: Array
    rows: Integers
    imu: Array
    angular_acceleration: Array
    outside: Integers


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
