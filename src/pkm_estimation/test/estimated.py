"""The estimator over samples one by one, as a node gets them, and errors of what it says by what it claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import matrix_from_quaternion, rotation_log
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import motion_from_coordinates
from pkm_estimation.bags import BagWriter
from pkm_estimation.exchange.output import EstimatorOutput
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.sensors import SensorData
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline


def follow(
    machine: Machine, data: SensorData, config: EstimatorConfig | None = None, pipeline: EstimatorPipeline | None = None
) -> tuple[EstimatorPipeline, list[EstimatorOutput]]:
    """Pipeline after all samples that arrived, IMU first, and its outputs."""
    pipeline, outputs = pipeline or EstimatorPipeline(machine, config), []
    every = np.ones(len(data.stamps), dtype=bool)
    imu, legs = (getattr(data, name, every) for name in ('imu_received', 'legs_received'))
    for k, stamp in enumerate(data.stamps.tolist()):
        if imu[k]:
            outputs += pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
        if legs[k]:
            outputs += pipeline.add_joint_positions(stamp, machine.actuated_joint_names, data.drive_positions[k])
    return pipeline, outputs


def write_bag(path: Path, machine: Machine, data: SensorData, positions: Array | None = None) -> Path:
    """Recording of drives and IMU; ``positions`` (N, A) of the drives in place of those of the data."""
    with BagWriter(path, 'mcap', '') as writer:
        positions = data.drive_positions if positions is None else positions
        writer.write_joint_states(data.stamps, machine.actuated_joint_names, positions)
        writer.write_imu(data.stamps, data.specific_force, data.angular_rate)
    return path


def with_backlash(positions: Array, width: float) -> Array:
    """What an encoder behind a coupling with backlash reads: it stands until the leg has moved by the width."""
    read = positions.copy()
    for k in range(1, len(read)):
        read[k] = np.clip(read[k - 1], positions[k] - 0.5 * width, positions[k] + 0.5 * width)
    return read


def pose_errors(motion: MotionEstimate, truth: PlatformMotion) -> Array:
    """Errors (N, 6) of position [m] and attitude [rad] in base axes, ``truth`` at the same times."""
    turn = matrix_from_quaternion(motion.orientation) @ truth.rotation_base_platform.transpose(0, 2, 1)
    return np.hstack([motion.position - truth.position, rotation_log(turn)])


def twist_errors(motion: MotionEstimate, truth: PlatformMotion) -> Array:
    """Errors (N, 6) of velocity [m/s] and angular velocity [rad/s] in platform axes."""
    turned = [np.einsum('nji,nj->ni', truth.rotation_base_platform, value)
              for value in (truth.linear_velocity, truth.angular_velocity)]  # fmt: skip
    return np.hstack([motion.linear_velocity, motion.angular_velocity]) - np.hstack(turned)


def squares(errors: Array, covariances: Array) -> Array:
    """Squares (N,) of errors (N, n) by their covariances (N, n, n): n on average where claims are true."""
    return np.einsum('ni,ni->n', errors, np.linalg.solve(covariances, errors[..., None])[..., 0])


def swinging(machine: Machine, frequency: float, phases: Array, time: Array) -> PlatformMotion:
    """Sines of about a frequency [Hz] of all six coordinates, 0.06 m and 0.06 rad, each with its phase (6,)."""
    rates = 2.0 * np.pi * frequency * np.array([1.0, 0.93, 0.87, 0.97, 0.9, 0.83])
    angles = np.multiply.outer(np.asarray(time), rates) + phases
    coordinates = 0.06 * np.sin(angles)
    derivatives = 0.06 * rates * np.cos(angles), -(rates**2) * coordinates
    return motion_from_coordinates(np.asarray(time), coordinates, *derivatives, machine.home)
