"""Platform motions from CSV files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.machine import PlatformMotion
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

#: header of a motion file: s, m, unit quaternion of platform_link in base_link
COLUMNS = ('time', 'x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')


class MotionFileError(PkmError):
    """A motion file that cannot be used."""


def read_motion_file(path: str | Path, rate: float) -> PlatformMotion:
    """Read poses from a CSV file and sample a smooth motion through them.

    Positions are joined by cubic splines at rest at both ends, attitudes by the spline of continuous angular
    acceleration (scipy's RotationSpline); velocities and accelerations are the splines' derivatives.

    Parameters
    ----------
    path : CSV with a header line that has at least the columns of :data:`COLUMNS`
    rate : Hz of the result

    Raises
    ------
    MotionFileError
        Names file, line and column.

    """
    table = _read_table(Path(path))
    time = table[:, 0] - table[0, 0]
    if len(time) < 3:
        raise MotionFileError(f'{path}: {len(time)} rows, a motion needs at least 3')
    later = np.diff(time) > 0.0
    if not later.all():
        raise MotionFileError(f'{path}: line {int(np.argmin(later)) + 3}: time does not increase')
    norms = np.linalg.norm(table[:, 4:], axis=1)
    if (np.abs(norms - 1.0) > 1e-3).any():
        row = int(np.argmax(np.abs(norms - 1.0)))
        raise MotionFileError(
            f'{path}: line {row + 2}: quaternion (qx, qy, qz, qw) has norm {norms[row]:.4f}, expected 1'
        )
    samples = np.arange(int(np.floor(time[-1] * rate + 1e-9)) + 1) / rate
    positions = CubicSpline(time, table[:, 1:4], axis=0, bc_type='clamped')
    attitudes = RotationSpline(time, Rotation.from_quat(table[:, 4:]))
    attitude = attitudes(samples)
    # RotationSpline's derivatives are in the rotating axes
    return PlatformMotion(
        time=samples, position=positions(samples), rotation_base_platform=attitude.as_matrix(),
        linear_velocity=positions(samples, 1), angular_velocity=attitude.apply(attitudes(samples, 1)),
        linear_acceleration=positions(samples, 2), angular_acceleration=attitude.apply(attitudes(samples, 2)),
    )  # fmt: skip


def _read_table(path: Path) -> Array:
    try:
        with path.open(newline='') as file:
            reader = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or [])]
            if missing:
                raise MotionFileError(
                    f'{path}: columns {missing} are missing; expected a header with {", ".join(COLUMNS)}'
                )
            rows = [
                [_number(path, line, name, row[name]) for name in COLUMNS] for line, row in enumerate(reader, start=2)
            ]
    except OSError as error:
        raise MotionFileError(f'{path}: cannot be read ({error.strerror})') from error
    if not rows:
        raise MotionFileError(f'{path}: there is no row below the header')
    return np.array(rows)


def _number(path: Path, line: int, column: str, text: str | None) -> float:
    try:
        value = float(text or '')
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise MotionFileError(f'{path}: line {line}: {column} = {text!r} is not a number')
    return value
