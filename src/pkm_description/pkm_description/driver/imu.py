"""Units and signs of a driver's IMU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.arrays import Array


@dataclass(frozen=True)
class ImuConversion:
    """What an IMU driver publishes in the suite's convention (REP 145: SI units, +g upwards at rest).

    Turned axes are not here: ``sensors.imu.rpy`` of the machine file says how the sensor is mounted.

    Attributes
    ----------
    acceleration_scale : m/s^2 per unit of the driver; negative where the driver reports gravity instead of its reaction
    rate_scale : rad/s per unit of the driver
    """

    acceleration_scale: float = 1.0
    rate_scale: float = 1.0

    @property
    def is_standard(self) -> bool:
        """Whether nothing is to be converted."""
        return self.acceleration_scale == 1.0 and self.rate_scale == 1.0

    @property
    def scale(self) -> Array:
        """Factors (6,) of specific force and angular rate."""
        return np.repeat([self.acceleration_scale, self.rate_scale], 3)

    def specific_force(self, reading: ArrayLike) -> Array:
        """Specific force (..., 3) m/s^2 of the driver's acceleration (..., 3)."""
        result: Array = np.asarray(reading, dtype=float) * self.acceleration_scale
        return result

    def angular_rate(self, reading: ArrayLike) -> Array:
        """Angular velocity (..., 3) rad/s of the driver's (..., 3)."""
        result: Array = np.asarray(reading, dtype=float) * self.rate_scale
        return result

    def readings(self, specific_force: ArrayLike, angular_rate: ArrayLike) -> tuple[Array, Array]:
        """Acceleration and rate (..., 3) that the driver would publish."""
        return (
            np.asarray(specific_force, dtype=float) / self.acceleration_scale,
            np.asarray(angular_rate, dtype=float) / self.rate_scale,
        )


STANDARD_IMU = ImuConversion()
