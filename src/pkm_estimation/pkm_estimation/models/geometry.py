"""Geometry of a machine for the estimator's models, in any frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine


def measured_at_zero(machine: Machine) -> Array:
    """What sensors measure (L,) where the drives' joints are at zero: the lengths of struts, or else zero."""
    return machine.lengths_at_zero if machine.has_closed_form else np.zeros(machine.actuated_count)


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
    lengths_at_zero : (L,) m, of legs whose drives are at zero; zeros where the legs are no struts
    """

    base_points: Array
    platform_points: Array
    gravity: Array
    imu_position: Array
    rotation_platform_imu: Array
    lengths_at_zero: Array

    @classmethod
    def from_machine(cls, machine: Machine) -> EstimatorGeometry:
        """Read the geometry from a machine file's data."""
        return cls(
            machine.base_points,
            machine.platform_points,
            machine.gravity,
            machine.imu.position,
            machine.imu.rotation_platform_imu,
            measured_at_zero(machine),
        )

    @property
    def platform_points_from_imu(self) -> Array:
        """Platform joint centres seen from the IMU's point, platform axes (L, 3) (Miletovic Eq. 25)."""
        return self.platform_points - self.imu_position
