"""Constants that a calibration finds: of the geometry, each joint centre and zero, and of the IMU; in words."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.kinematics.geometry_slopes import DRIVE_ZERO, GeometryData
from pkm_description.kinematics.geometry_constants import geometry_constant_names, geometry_constants, with_geometry
from pkm_description.machine import Machine
from pkm_description.machine.tolerances import imu_constant_name

from pkm_estimation.filtering.constant_columns import with_imu_constants

#: priors of the constants of an IMU that nobody has calibrated: m, rad, s, relative, m/s^2; and of its stamps
IMU_PRIORS = {
    'place': 2e-2, 'mounting': 5e-2, 'delay': 1e-2, 'accelerometer': 3e-3, 'gyroscope': 3e-3, 'gravity': 5e-2,
    'skew': 5e-5, 'response': 2e-5,
}  # fmt: skip
#: of the IMU that change the machine or the settings; the others act linearly only
APPLIED = 'mounting', 'place', 'delay', 'accelerometer', 'gyroscope', 'gravity'
_UNITS = {
    'place': 'm', 'mounting': 'rad', 'delay': 's', 'accelerometer': '', 'gyroscope': '', 'gravity': 'm/s^2', 'skew': '',
    'response': 's^2',
}  # fmt: skip


@dataclass(frozen=True)
class Constants:
    """The constants g of a problem, counted in standard deviations of their prior from what the machine file says.

    The prior is the gauge, too: a displacement of all base points alike, which no measurement in an unknown frame sees,
    stays at its likeliest value, zero. So the base frame is the one in which the base points are, in the mean and
    weighed by their tolerances, where the file has them; so is that of the platform.

    Attributes
    ----------
    machine : as its file says, with the tolerances that are the prior of the geometry
    imu : kind and axis of each constant of the IMU, behind those of the geometry
    imu_delay : s, from which the delay is counted
    prior : (p, p) covariance before anything is measured: one, or what an earlier calibration left
    precision : (p, p) inverse of it
    """

    machine: Machine
    imu: tuple[tuple[str, int], ...] = ()
    imu_delay: float = 0.0
    geometry: GeometryData = field(init=False)
    prior: Array = field(init=False)
    precision: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'geometry', geometry_constants(self.machine))
        prior, names = np.eye(len(self)), self.names
        known, covariance = self.machine.tolerances.calibrated.within(dict(zip(names, self.std, strict=True)))
        places = [names.index(name) for name in known]
        prior[np.ix_(places, places)] = covariance
        object.__setattr__(self, 'prior', prior)
        object.__setattr__(self, 'precision', np.linalg.inv(prior))

    def __len__(self) -> int:
        return len(self.geometry.kind) + len(self.imu)

    @property
    def std(self) -> Array:
        """Standard deviations (p,) of the prior, SI."""
        return np.concatenate([self.geometry.std, [IMU_PRIORS[kind] for kind, _ in self.imu]])

    @property
    def units(self) -> list[str]:
        """Units of the constants, SI."""
        drives = self.machine.position_units
        own = [
            drives[place] if kind == DRIVE_ZERO else 'm'
            for kind, place in zip(self.geometry.kind.tolist(), self.geometry.place.tolist(), strict=True)
        ]
        return own + [_UNITS[kind] for kind, _ in self.imu]

    @property
    def names(self) -> list[str]:
        """What each constant is, in words."""
        return geometry_constant_names(self.machine, self.geometry) + [imu_constant_name(*one) for one in self.imu]

    def places(self, kind: str) -> list[int]:
        """Places of the constants of the IMU of a kind."""
        first = len(self.geometry.kind)
        return [first + place for place, (name, _) in enumerate(self.imu) if name == kind]

    @property
    def applied(self) -> Array:
        """Whether :meth:`machine_at` changes the machine by each constant (p,); the others act linearly only."""
        return np.array([True] * len(self.geometry.kind) + [kind in APPLIED for kind, _ in self.imu])

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Which constants (p,) cannot be negative: the time over which a sample of the IMU is a mean."""
        return np.array([False] * len(self.geometry.kind) + [kind == 'response' for kind, _ in self.imu], dtype=bool)

    def machine_at(self, values: Array) -> Machine:
        """Machine with constants (p,), in their standard deviations."""
        machine = with_geometry(self.machine, values[: len(self.geometry.kind)])
        if not self.imu:
            return machine
        sizes = values * self.std
        return with_imu_constants(machine, {kind: sizes[self.places(kind)] for kind, _ in self.imu})

    def delay_at(self, values: Array) -> float:
        """Delay of the IMU's stamps [s] with constants (p,)."""
        return self.imu_delay + float((values * self.std)[self.places('delay')].sum())

