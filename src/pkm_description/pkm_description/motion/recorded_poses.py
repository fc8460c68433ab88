"""A motion from a file of recorded poses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.interpolate import make_interp_spline

from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation_formats import rotation_from_rpy
from pkm_description.machine import PlatformMotion, Pose
from pkm_description.motion.coordinates import motion_from_coordinates, pose_coordinates

COLUMNS = ('time', 'x', 'y', 'z', 'roll', 'pitch', 'yaw')

#: a quintic spline needs so many samples
LEAST_SAMPLES = 6


@dataclass(frozen=True)
class RecordedPoses:
    """Motion through recorded poses: a quintic spline of displacement and rotation vector, accelerations continuous.

    Attributes
    ----------
    time : (N,) s, rising
    position : (N, 3) m, platform origin, base axes
    rotation_base_platform : (N, 3, 3)
    """

    time: Array
    position: Array
    rotation_base_platform: Array

    @classmethod
    def from_csv(cls, path: Path) -> RecordedPoses:
        """Read a file with the heading ``time,x,y,z,roll,pitch,yaw``: s, m, rad, base axes, z-y-x angles.

        Raises
        ------
        PkmError
            Saying what is wrong with the file, and in which line where it is one.
        """
        try:
            lines = path.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise PkmError(f'{path}: cannot be read: {error}') from None
        heading = [name.strip() for name in lines[0].split(',')] if lines else []
        if heading != list(COLUMNS):
            raise PkmError(f'{path}: first line must be "{",".join(COLUMNS)}", it is "{",".join(heading)}"')
        rows = []
        for number, line in enumerate(lines[1:], start=2):
            if not line.strip():
                continue
            try:
                row = [float(cell) for cell in line.split(',')]
            except ValueError:
                row = []
            if len(row) != len(COLUMNS) or not np.isfinite(row).all():
                raise PkmError(f'{path}, line {number}: needs {len(COLUMNS)} finite numbers, holds "{line[:80]}"')
            rows.append(row)
        table = np.array(rows).reshape(-1, len(COLUMNS))
        if len(table) < LEAST_SAMPLES:
            raise PkmError(f'{path}: {len(table)} poses; a smooth motion needs at least {LEAST_SAMPLES}')
        if not (np.diff(table[:, 0]) > 0.0).all():
            place = int(np.argmin(np.diff(table[:, 0]) > 0.0)) + 3
            raise PkmError(f'{path}, line {place}: time does not rise')
        rotations = np.array([rotation_from_rpy(rpy) for rpy in table[:, 4:]])
        return cls(table[:, 0], table[:, 1:4], rotations)

    def evaluate(self, time: Array) -> PlatformMotion:
        """Motion at times (N,) s; before the first and after the last pose it stands still there."""
        home = Pose(self.position[0], self.rotation_base_platform[0])
        coordinates = pose_coordinates(self.position, self.rotation_base_platform, home)
        spline = make_interp_spline(self.time, coordinates, k=5)
        time = np.asarray(time, dtype=float)
        inside = np.clip(time, self.time[0], self.time[-1])
        moving = (time >= self.time[0]) & (time <= self.time[-1])
        rates, second = (spline(inside, order) * moving[:, None] for order in (1, 2))
        return motion_from_coordinates(time, spline(inside), rates, second, home)
