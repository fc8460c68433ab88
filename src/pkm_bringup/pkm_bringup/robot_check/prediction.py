"""What the IMU should say and what the drives should push, by the positions of the drives alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.kinematics.drive_map import motion_of_configurations
from pkm_description.machine import Machine, PlatformMotion
from pkm_estimation.sensors.conditions import imu_truth


@dataclass(frozen=True)
class Prediction:
    """Platform and IMU by forward kinematics.

    Attributes
    ----------
    found : (N,) samples whose pose can be trusted
    motion : of those K samples
    specific_force, angular_rate : (K, 3) in the axes that the machine file gives to the IMU; of machines without an
        IMU in those of the platform, at its origin
    """

    found: NDArray[np.bool_]
    motion: PlatformMotion
    specific_force: Array
    angular_rate: Array


def predict(machine: Machine, time: Array, positions: Array, rates: Array, accelerations: Array) -> Prediction | None:
    """Predict from drives (N, A) m or rad and their derivatives; None if no sample has a pose.

    Raises
    ------
    KinematicsError
        The drives of this machine do not determine its pose at all.
    """
    result = forward_kinematics(machine, positions, tolerance=measured_tolerance(machine))
    found = result.trusted
    if not found.any():
        return None
    try:
        motion = motion_of_configurations(
            machine, time[found], result.rows(np.flatnonzero(found)), rates[found], accelerations[found]
        )
    except KinematicsError:
        return None
    lever, turn = (
        (machine.imu.position, machine.imu.rotation_platform_imu) if machine.has_imu else (np.zeros(3), np.eye(3))
    )
    return Prediction(found, motion, *imu_truth(motion, machine.gravity, lever, turn))
