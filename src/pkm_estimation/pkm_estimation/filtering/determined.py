"""Whether drive positions and constraints determine the pose of the platform, which the IMU alone does not."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine import Machine

from pkm_estimation.models import ATTITUDE, POSITION
from pkm_estimation.models.drives import DriveModel

#: step of the central differences, in platform radii and rad; part of the largest slope that counts as none
_STEP, _NONE = 1e-5, 1e-5


def home_slopes(machine: Machine, model: DriveModel) -> Array:
    """Slopes (6, A + K) of drive positions and constraints by position [1/m] and rotation [1/rad], at home."""
    home = machine.home
    state = np.zeros(model.size)
    state[POSITION] = home.position + home.rotation_base_platform @ machine.imu.position
    model.set_chart(home.rotation_base_platform)
    state[POSITION] = home.rotation_base_platform.T @ state[POSITION]
    steps, lengths = np.zeros((6, model.size)), np.repeat((_STEP * float(machine.model.radius[0]), _STEP), 3)
    steps[:3, POSITION] = lengths[0] * np.eye(3)
    steps[3:, ATTITUDE] = 0.5 * _STEP * np.eye(3)
    values = model.observe(np.vstack([state, state + steps, state - steps]))
    slopes: Array = (values[1:7] - values[7:]) / (2.0 * lengths[:, None])
    return slopes


def check_determined(machine: Machine, model: DriveModel) -> None:
    """Raise KinematicsError if the slopes of all measurements at home have a rank below six."""
    slopes = home_slopes(machine, model) * np.repeat((float(machine.model.radius[0]), 1.0), 3)[:, None]
    sizes = np.linalg.norm(slopes, axis=0)
    slopes = slopes / np.where(sizes > 0.0, sizes, 1.0)  # metres and radians
    rank = int(np.linalg.matrix_rank(slopes, tol=_NONE * np.linalg.norm(slopes, 2)))
    if rank < 6:
        raise KinematicsError(
            f'{machine.name}: {machine.actuated_count} drive positions do not determine the pose of its platform, '
            f'which has {machine.degrees_of_freedom} degrees of freedom (rank {rank} of 6 with the constraints): '
            'the estimator needs as many independent drives'
        )
