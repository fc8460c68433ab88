"""Geometry of a machine for the estimator's models, in any frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine


def measured_at_zero(machine: Machine) -> Array:
    """What sensors measure (A,) where the drives' joints are at zero: the lengths of struts, or else zero."""
    return machine.lengths_at_zero if machine.has_closed_form else np.zeros(machine.actuated_count)


def measures_lengths(machine: Machine) -> bool:
    """Whether the drives measure the lengths of struts that leave the platform all its freedom."""
    return machine.has_closed_form and not machine.constraint_count and machine.drives_are_struts


@dataclass(frozen=True)
class EstimatorGeometry:
    """Joint centres, IMU mounting and gravity; no assumption about the direction of any axis.

    Attributes
    ----------
    base_points, platform_points : (L, 3) m, base frame and platform frame; empty where the legs are no struts
    gravity : (3,) m/s^2, base frame
    imu_position : (3,) m, platform frame
    rotation_platform_imu : (3, 3), maps IMU axes to platform axes
    lengths_at_zero : (A,) m, of legs whose drives are at zero; zeros where the legs are no struts
    radius : m, mean distance of the platform joints from the platform's origin
    """

    base_points: Array
    platform_points: Array
    gravity: Array
    imu_position: Array
    rotation_platform_imu: Array
    lengths_at_zero: Array
    radius: float

    @classmethod
    def from_machine(cls, machine: Machine) -> EstimatorGeometry:
        """Read the geometry from a machine file's data."""
        struts, none = measures_lengths(machine), np.zeros((0, 3))
        return cls(
            machine.base_points if struts else none,
            machine.platform_points if struts else none,
            machine.gravity,
            machine.imu.position,
            machine.imu.rotation_platform_imu,
            measured_at_zero(machine),
            float(machine.model.radius[0]),
        )

    @property
    def platform_points_from_imu(self) -> Array:
        """Platform joint centres seen from the IMU's point, platform axes (L, 3) (Miletovic Eq. 25)."""
        return self.platform_points - self.imu_position
