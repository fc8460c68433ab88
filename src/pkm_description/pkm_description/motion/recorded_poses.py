"""A smooth motion through the poses of a CSV file."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.interpolate import PPoly, make_interp_spline

from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation import matrix_from_quaternion, matrix_from_rpy, rotation_exp, rotation_log
from pkm_description.machine import PlatformMotion, Pose
from pkm_description.motion.coordinates import (
    angular_motion,
    left_jacobian,
    left_jacobian_rate,
    motion_from_coordinates,
    pose_coordinates,
)

_POSITION = ('time', 'x', 'y', 'z')

#: columns of a file with angles: s, m, rad about the fixed axes x, y, z of base_link in this order
RPY_COLUMNS = (*_POSITION, 'roll', 'pitch', 'yaw')

#: columns of a file with quaternions: s, m, unit quaternion of platform_link in base_link
QUATERNION_COLUMNS = (*_POSITION, 'qx', 'qy', 'qz', 'qw')

#: how far a quaternion's norm may be from 1: digits that the file does not have
_NORM_TOLERANCE = 1e-3

#: s; longer ones would fill the memory when they are sampled
_LONGEST = 4.0 * 3600.0

#: poses that a quintic spline needs, with free ends and with ends at rest
_LEAST_FREE, _LEAST_AT_REST = 6, 3


class MotionFileError(PkmError):
    """A file of poses that cannot be used."""


@dataclass(frozen=True)
class RecordedPoses:
    """Motion through recorded poses: a quintic spline of displacement and rotation vector, accelerations continuous.

    Attributes
    ----------
    time : (N,) s, rising
    position : (N, 3) m, platform origin, base axes
    rotation_base_platform : (N, 3, 3)
    at_rest : the motion begins and ends without velocity and acceleration; otherwise as the poses suggest
    """

    time: Array
    position: Array
    rotation_base_platform: Array
    at_rest: bool = False

    @classmethod
    def from_csv(cls, path: str | Path, at_rest: bool = False) -> RecordedPoses:
        """Read a file whose first line names at least :data:`RPY_COLUMNS` or :data:`QUATERNION_COLUMNS`, in any order.

        Raises
        ------
        MotionFileError
            Names file, line and column.
        """
        path = Path(path)
        names, table = _read_table(path)
        least = _LEAST_AT_REST if at_rest else _LEAST_FREE
        if len(table) < least:
            raise MotionFileError(f'{path}: {len(table)} poses; a smooth motion needs at least {least}')
        rising = np.diff(table[:, 0]) > 0.0
        if not rising.all():
            raise MotionFileError(f'{path}: line {int(np.argmin(rising)) + 3}: time does not increase')
        span = float(table[-1, 0] - table[0, 0])
        if span > _LONGEST:
            raise MotionFileError(
                f'{path}: lasts {span:g} s, at most {_LONGEST:g} s are played; the column time is in seconds'
            )
        if names == RPY_COLUMNS:
            rotations = np.array([matrix_from_rpy(rpy) for rpy in table[:, 4:]])
        else:
            rotations = _rotations_of_quaternions(path, table[:, 4:])
        recorded = cls(table[:, 0], table[:, 1:4], rotations, at_rest)
        turns = np.linalg.norm(np.diff(recorded._coordinates()[:, 3:], axis=0), axis=1)
        if (turns > np.pi).any():
            place = int(np.argmax(turns > np.pi)) + 3
            raise MotionFileError(f'{path}: line {place}: half a turn or more away from the first pose')
        return recorded

    def evaluate(self, time: Array) -> PlatformMotion:
        """Motion at times (N,) s; before the first and after the last pose it stands still there."""
        ends = ([(1, np.zeros(6)), (2, np.zeros(6))],) * 2 if self.at_rest else None
        spline = make_interp_spline(self.time, self._coordinates(), k=5, bc_type=ends)
        time = np.asarray(time, dtype=float)
        inside = np.clip(time, self.time[0], self.time[-1])
        moving = (time >= self.time[0]) & (time <= self.time[-1])
        rates, second = (spline(inside, order) * moving[:, None] for order in (1, 2))
        return motion_from_coordinates(time, spline(inside), rates, second, self._first)

    def sampled(self, rate: float) -> PlatformMotion:
        """Motion from the first to the last pose at ``rate`` Hz, its time counted from the first pose."""
        time = np.arange(int(np.floor((self.time[-1] - self.time[0]) * rate + 1e-9)) + 1) / rate
        shifted = RecordedPoses(self.time - self.time[0], self.position, self.rotation_base_platform, self.at_rest)
        return shifted.evaluate(time)

    @property
    def _first(self) -> Pose:
        return Pose(self.position[0], self.rotation_base_platform[0])

    def _coordinates(self) -> Array:
        """Displacement and rotation vector (N, 6) from the first pose."""
        return pose_coordinates(self.position, self.rotation_base_platform, self._first)


def _rotations_of_quaternions(path: Path, xyzw: Array) -> Array:
    norms = np.linalg.norm(xyzw, axis=1)
    wrong = np.abs(norms - 1.0) > _NORM_TOLERANCE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise MotionFileError(
            f'{path}: line {row + 2}: quaternion (qx, qy, qz, qw) has norm {norms[row]:.4f}, expected 1'
        )
    return matrix_from_quaternion(xyzw)


def _read_table(path: Path) -> tuple[tuple[str, ...], Array]:
    """Names of the columns and their values (N, 7) or (N, 8)."""
    try:
        with path.open(newline='', encoding='utf-8-sig') as file:
            reader = csv.DictReader(file, skipinitialspace=True)
            given = [name.strip() for name in reader.fieldnames or []]
            reader.fieldnames = given
            names = QUATERNION_COLUMNS if 'qw' in given else RPY_COLUMNS
            missing = [name for name in names if name not in given]
            if missing:
                raise MotionFileError(
                    f'{path}: columns {missing} are missing; expected a first line with {",".join(RPY_COLUMNS)} or '
                    f'{",".join(QUATERNION_COLUMNS)}'
                )
            rows = [[_number(path, line, name, row[name]) for name in names] for line, row in enumerate(reader, 2)]
    except OSError as error:
        raise MotionFileError(f'{path}: cannot be read: {error.strerror or error}') from None
    except UnicodeDecodeError as error:
        raise MotionFileError(f'{path}: is no UTF-8 text (byte {error.start}); save it as UTF-8') from None
    except csv.Error as error:
        raise MotionFileError(f'{path}: is no CSV file: {error}; is a quotation mark missing?') from None
    return names, np.array(rows).reshape(-1, len(names))


def _number(path: Path, line: int, column: str, text: str | None) -> float:
    try:
        value = float(text or '')
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise MotionFileError(f'{path}: line {line}: {column} = {_shown(text)} is not a finite number')
    return value


def _shown(text: str | None) -> str:
    return repr(text) if text is None or len(text) <= 60 else f'{text[:60]!r}...'


class QuinticInterpolator:
    """Interpolates pose, velocity and acceleration of all samples exactly; twice continuously differentiable.

    Within an interval the attitude is ``exp(theta(t)) R_0`` with a quintic rotation vector, so that
    successive samples must be less than half a turn apart. Outside the samples the end pose is held, at rest.

    Parameters
    ----------
    motion : at least two samples, strictly increasing times
    """

    def __init__(self, motion: PlatformMotion) -> None:
        if len(motion) < 2 or not np.all(np.diff(motion.time) > 0.0):
            raise ValueError('interpolation needs at least two samples with strictly increasing times')
        self.motion = motion
        step = np.diff(motion.time)
        rotation = motion.rotation_base_platform
        turn = rotation_log(rotation[1:] @ np.swapaxes(rotation[:-1], 1, 2))
        zero = np.zeros_like(turn)
        # derivatives of the rotation vector at both ends from angular velocity and acceleration
        start_rate = motion.angular_velocity[:-1]
        start_second = motion.angular_acceleration[:-1]  # the Jacobian's rate maps the rate itself to 0 here
        jacobian = left_jacobian(turn)
        end_rate = np.asarray(np.linalg.solve(jacobian, motion.angular_velocity[1:, :, None]), dtype=float)[..., 0]
        spin_rate = (left_jacobian_rate(turn, end_rate) @ end_rate[..., None])[..., 0]
        end_second = np.linalg.solve(jacobian, (motion.angular_acceleration[1:] - spin_rate)[..., None])[..., 0]
        position = motion.position - motion.position[0]
        coefficients = quintic(
            np.concatenate([position[:-1], zero], axis=1),
            np.concatenate([motion.linear_velocity[:-1], start_rate], axis=1),
            np.concatenate([motion.linear_acceleration[:-1], start_second], axis=1),
            np.concatenate([position[1:], turn], axis=1),
            np.concatenate([motion.linear_velocity[1:], end_rate], axis=1),
            np.concatenate([motion.linear_acceleration[1:], end_second], axis=1),
            step[:, None],
        )
        self._curve = PPoly(coefficients, motion.time)

    def evaluate(self, time: Array) -> PlatformMotion:
        """Motion at times (N,) s."""
        time = np.asarray(time, dtype=float)
        samples = self.motion.time
        clipped = np.clip(time, samples[0], samples[-1])
        interval = np.clip(np.searchsorted(samples, clipped, side='right') - 1, 0, len(samples) - 2)
        value, rate, second = (self._curve(clipped, order) for order in range(3))
        held = (time != clipped)[:, None]
        rate, second = np.where(held, 0.0, rate), np.where(held, 0.0, second)
        angular_velocity, angular_acceleration = angular_motion(value[:, 3:], rate[:, 3:], second[:, 3:])
        return PlatformMotion(
            time=time,
            position=self.motion.position[0] + value[:, :3],
            rotation_base_platform=rotation_exp(value[:, 3:]) @ self.motion.rotation_base_platform[interval],
            linear_velocity=rate[:, :3],
            angular_velocity=angular_velocity,
            linear_acceleration=second[:, :3],
            angular_acceleration=angular_acceleration,
        )


def quintic(
    value_0: Array, rate_0: Array, second_0: Array, value_1: Array, rate_1: Array, second_1: Array, step: Array
) -> Array:
    """Coefficients (6, ...) in the elapsed time, highest power first, from value and two derivatives at both ends."""
    rest = value_1 - value_0 - step * rate_0 - step**2 / 2 * second_0
    rest_rate = step * (rate_1 - rate_0 - step * second_0)
    rest_second = step**2 * (second_1 - second_0)
    return np.array([
        (6 * rest - 3 * rest_rate + rest_second / 2) / step**5,
        (-15 * rest + 7 * rest_rate - rest_second) / step**4,
        (10 * rest - 4 * rest_rate + rest_second / 2) / step**3,
        second_0 / 2,
        rate_0,
        value_0,
    ])
