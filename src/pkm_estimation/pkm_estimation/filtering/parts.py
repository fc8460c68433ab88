"""Parts of a platform filter, chosen by settings and machine: Kalman filter, measurement model, random walks."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kernels.model import Integers
from pkm_description.machine import Machine, Tolerances
from pkm_description.machine.tolerances import EXACT

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.filtering.constants import ConstantStates
from pkm_estimation.filtering.start import start_std
from pkm_estimation.filters import (
    ExtendedKalmanFilter,
    KalmanFilter,
    ScaledUnscentedTransform,
    UnscentedKalmanFilter,
)
from pkm_estimation.filters.unscented import MAX_ITERATIONS
from pkm_estimation.models import (
    ACCELEROMETER_BIAS,
    ATTITUDE,
    GYROSCOPE_BIAS,
    POSITION,
    EstimatorGeometry,
    LegLengthModel,
)
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.leg_model import DriveModel, LegModel, measures_lengths

#: step of the central differences, in platform radii and rad; part of the largest slope that counts as none
_STEP, _NONE = 1e-5, 1e-5


def make_filter(
    config: EstimatorConfig, layout: StateLayout, geometry: EstimatorGeometry, constants: int, changes: Integers,
    at_zero: Array,
) -> KalmanFilter:
    """Kalman filter of the kind set by ``filter``, with so many columns for constants, and what changes zeros."""
    size = layout.size
    if config.filter in ('ekf', 'iekf'):
        iterations = 1 if config.filter == 'ekf' else MAX_ITERATIONS
        return ExtendedKalmanFilter(np.zeros(size), np.eye(size), iterations, constants)
    transform = ScaledUnscentedTransform(size, config.alpha, config.beta, config.kappa)
    if config.filter == 'paper':
        return UnscentedKalmanFilter(transform, np.zeros(size), np.eye(size), constants)
    limits = step_limits(layout, geometry)
    return UnscentedKalmanFilter(
        transform, np.zeros(size), np.eye(size), constants, changes, at_zero, config.iteration_nis, limits
    )


def measurement_model(
    geometry: EstimatorGeometry, layout: StateLayout, machine: Machine | None, tolerances: Tolerances = EXACT
) -> LegModel:
    """Measurement model of the legs for the kind of machine and the extra states.

    Parameters
    ----------
    tolerances : of the geometry that the filter considers

    Raises
    ------
    KinematicsError
        Drives and constraints do not determine the platform's pose.
    """
    if machine is not None and not measures_lengths(machine):
        model = DriveModel(machine, geometry.imu_position, layout, tolerances)
        check_determined(machine, model)
        return model
    points = geometry.platform_points_from_imu
    return LegLengthModel(geometry.base_points, points, geometry.lengths_at_zero, geometry.gravity, layout, tolerances)


def walk_variances(layout: StateLayout, config: EstimatorConfig, machine: Machine | None) -> Array:
    """Growth of the variances (n,) per second by random walks.

    Biases walk as the settings say, or else as the machine's IMU does; for the paper's filter only by settings.
    """
    walk = np.zeros(layout.size)
    imu = None if machine is None or config.filter == 'paper' else machine.imu
    for rows, setting, name in (
        (ACCELEROMETER_BIAS, config.accelerometer_bias_walk, 'accelerometer_bias_walk'),
        (GYROSCOPE_BIAS, config.gyroscope_bias_walk, 'gyroscope_bias_walk'),
    ):
        if setting >= 0.0:
            walk[rows] = setting**2
        elif imu is not None:
            walk[rows] = np.square(imu.rotation_platform_imu) @ np.square(getattr(imu, name))
    if layout.leg_offsets is not None:
        walk[layout.leg_offsets] = config.leg_offset_walk**2
    if layout.imu_delay is not None:
        walk[layout.imu_delay] = config.imu_delay_walk**2
    return walk


def constant_states(
    layout: StateLayout, geometry: EstimatorGeometry, config: EstimatorConfig, legs: LegModel
) -> ConstantStates | None:
    """Keeps the covariance of extra states consistent; ``None`` if there are none."""
    if not layout.groups:
        return None
    if isinstance(legs, DriveModel):
        slopes = home_slopes(legs.machine, legs)[:, : legs.drive_count]
        gains = [float(np.linalg.norm(slopes[rows], axis=0).max()) for rows in (slice(3), slice(3, 6))]
    else:
        gains = [1.0, float(np.linalg.norm(geometry.platform_points, axis=1).max())]
    return ConstantStates(layout, start_std(config, layout, 1.0, 1.0), (gains[0], gains[1]))


def step_limits(layout: StateLayout, geometry: EstimatorGeometry) -> Array:
    """Largest change (n,) of each state in one iteration of an update, within which the linearisation is usable."""
    limit = np.full(layout.size, np.inf)
    limit[POSITION] = 0.5 * geometry.radius
    limit[ATTITUDE] = 0.15
    return limit


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
