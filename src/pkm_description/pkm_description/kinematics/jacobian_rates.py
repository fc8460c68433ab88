"""Analytic time derivatives of the Jacobians."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kernels.map_rates import map_rates
from pkm_description.kinematics.arguments import require_machine_and_motion
from pkm_description.kinematics.failures import require_ok
from pkm_description.kinematics.joint_motion import packed_motion, require_legs
from pkm_description.machine import Machine, PlatformMotion


def joint_map_rate(machine: Machine, motion: PlatformMotion) -> Array:
    """Time derivative (N, J, 6) of the map from the platform's twist to joint velocities.

    Joint accelerations are ``joint_map @ acceleration + joint_map_rate @ twist``. Of legs that hold the platform
    (3-RPS) the map is the least-squares inverse of their closures, and the identity holds for admissible motions.

    Raises
    ------
    As :func:`pkm_description.kinematics.joint_motion`.
    """
    require_machine_and_motion(machine, motion)
    require_legs(machine)
    data, scratch = machine.scratch
    result = np.empty((len(motion), len(machine.joints), 6))
    status = map_rates(machine.compiled_model, scratch, *packed_motion(motion)[:4], result)
    if status < 0:
        require_ok(machine, status, data.detail)
    return result


def drive_jacobian_rate(machine: Machine, motion: PlatformMotion) -> Array:
    """Time derivative (N, A, 6) of :func:`pkm_description.kinematics.drive_jacobian`."""
    return joint_map_rate(machine, motion)[:, machine.drive_columns]
