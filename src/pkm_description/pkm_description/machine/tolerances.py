"""How exactly a machine was built: standard deviations of the constants of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pkm_description.arrays import Array

#: m or rad, of a machine whose file does not say: usual machining
USUAL_TOLERANCE = 1e-4
#: constants of an IMU and of what it feels: kinds, and how many of each; nine are a matrix, row by row
IMU_CONSTANTS = {
    'gravity': 3, 'place': 3, 'mounting': 3, 'accelerometer': 9, 'gyroscope': 9, 'delay': 1, 'skew': 1, 'response': 1
}  # fmt: skip
#: those that no machine file has
OF_STAMPS = 'delay', 'skew', 'response'
_AXES = 'xyz'


@dataclass(frozen=True, eq=False)
class Calibrated:
    """What a calibration left of the uncertainty of constants: they are known together.

    Attributes
    ----------
    names : of k constants, in words
    root : (k, k) lower triangular, SI; times its transpose the covariance of the constants
    """

    names: tuple[str, ...] = ()
    root: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def within(self, units: Mapping[str, float]) -> tuple[list[str], Array]:
        """Names of those that have a unit, and their covariance (m, m) in these units."""
        rows = [row for row, name in enumerate(self.names) if name in units]
        names = [self.names[row] for row in rows]
        root = self.root[rows] / np.array([units[name] for name in names]).reshape(-1, 1)
        return names, root @ root.T


@dataclass(frozen=True)
class Tolerances:
    """Standard deviations of the constants of a machine's geometry, independent of each other.

    Attributes
    ----------
    joint_centres : m, of each component of each joint's centre; one number, or (L,) for the joints of each leg
    leg_zeros : m or rad, of where each drive reads zero; one number, or (A,)
    gravity : m/s^2, of each component in ``base_link``
    imu_position, imu_rotation : m and rad, of each component of the IMU's place, and about each axis
    imu_scale : of each number of a sample, relative
    is_stated : whether the machine file says so
    calibrated : of constants that a calibration has found, instead
    """

    joint_centres: Array | float = USUAL_TOLERANCE
    leg_zeros: Array | float = USUAL_TOLERANCE
    gravity: float = 0.0
    imu_position: float = 0.0
    imu_rotation: float = 0.0
    imu_scale: float = 0.0
    is_stated: bool = True
    calibrated: Calibrated = Calibrated()

    @property
    def are_zero(self) -> bool:
        """Whether the machine is exactly as its file says."""
        return not (self.has_geometry or self.calibrated.names or any(value for value, _ in self._of_imu()))

    @property
    def has_geometry(self) -> bool:
        """Whether joint centres or zeros of the drives are not exact."""
        return bool(np.any(self.joint_centres) or np.any(self.leg_zeros))

    def _of_imu(self) -> tuple[tuple[float, str], ...]:
        return (
            (self.gravity, 'gravity {} m/s^2'),
            (self.imu_position, 'place of the IMU {} m'),
            (self.imu_rotation, 'mounting of the IMU {} rad'),
            (self.imu_scale, 'scale of the IMU {}'),
        )

    def __str__(self) -> str:
        """Return the numbers in words, in mm and mrad."""
        if self.are_zero:
            return 'exact'
        centres, zeros = (_range(1e3 * np.asarray(value)) for value in (self.joint_centres, self.leg_zeros))
        told = f'joint centres {centres} mm, zeros of the drives {zeros} mm or mrad'
        if self.calibrated.names:
            told = f'{len(self.calibrated.names)} constants calibrated; before that {told}'
        told = ', '.join([told, *(text.format(f'{value:.3g}') for value, text in self._of_imu() if value)])
        return told if self.is_stated else f'{told} (usual machining: the machine file has no tolerances)'


def imu_constant_name(kind: str, axis: int) -> str:
    """Name of a constant of :data:`IMU_CONSTANTS` in words; of a matrix, scale along x: xx, what x has of y: xy."""
    count = IMU_CONSTANTS[kind]
    return kind if count == 1 else f'{kind} {_AXES[axis // 3] if count > 3 else ""}{_AXES[axis % 3]}'


def _range(values: Array) -> str:
    least, most = float(values.min()), float(values.max())
    return f'{least:.3g}' if least == most else f'{least:.3g} to {most:.3g}'


#: of a machine file that says nothing
USUAL_TOLERANCES = Tolerances(is_stated=False)
#: of a machine that is exactly as its file says, as simulated ones are
EXACT = Tolerances(0.0, 0.0)
