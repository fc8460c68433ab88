"""The numbers that the estimator's models need from a machine, in whatever frames the caller uses."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.arrays import Array
from pkm_description.machine import Machine


@dataclass(frozen=True)
class EstimatorGeometry:
    """Joint centres, IMU mounting and gravity; no assumption about the direction of any axis.

    Attributes
    ----------
    base_points : (L, 3) m, base frame
    platform_points : (L, 3) m, platform frame
    gravity : (3,) m/s^2, base frame
    imu_position : (3,) m, platform frame
    rotation_platform_imu : (3, 3), maps IMU axes to platform axes
    """

    base_points: Array
    platform_points: Array
    gravity: Array
    imu_position: Array
    rotation_platform_imu: Array

    @classmethod
    def from_machine(cls, machine: Machine) -> EstimatorGeometry:
        """Read the geometry from a machine file's data."""
        return cls(
            machine.base_points,
            machine.platform_points,
            machine.gravity,
            machine.imu.position,
            machine.imu.rotation_platform_imu,
        )

    @property
    def platform_points_from_imu(self) -> Array:
        """Platform joint centres seen from the IMU's point, platform axes (L, 3) (Miletovic Eq. 25)."""
        return self.platform_points - self.imu_position
