"""Configurations of a recording: poses by forward kinematics, poses of an estimator, motions of drives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import forward_kinematics
from pkm_description.kinematics.drive_motion import motion_of_configurations
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.machine import Machine, PlatformMotion
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from pkm_identification.errors import RecordingError
from pkm_identification.recording.recording import Recording

#: gap of a leg, in standard deviations of a drive's position, up to which redundant drives only differ by noise
CONTRADICTION = 10.0


def recorded_poses(machine: Machine, recording: Recording) -> tuple[Array, Array]:
    """Position (N, 3) and rotation (N, 3, 3) of every sample by forward kinematics, all samples at once from home.

    Raises
    ------
    KinematicsError
        Naming the sample, if one does not converge or lies on another assembly mode.
    """
    result = _configurations(machine, recording.drive_positions).require()
    return result.position, result.rotation_base_platform


def _configurations(machine: Machine, positions: Array) -> ForwardKinematicsResult:
    """Configurations of drive positions (N, A); of redundant drives, whose noise contradicts itself, the nearest."""
    result = forward_kinematics(machine, positions)
    if machine.actuated_count > machine.degrees_of_freedom:
        # the least squares of all is the pose
        near = result.residual <= CONTRADICTION * float(np.max(machine.leg_sensors.position_noise))
        result = replace(result, converged=result.converged | near)
    return result


def motion_of_drives(
    machine: Machine, time: Array, positions: Array, velocities: Array, accelerations: Array
) -> PlatformMotion:
    """Platform motion of drive motions (N, A), on the constraints; redundant drives may contradict themselves by noise.

    See :func:`pkm_description.kinematics.motion_from_drives`.
    """
    closed = _configurations(machine, positions).require()
    return motion_of_configurations(machine, time, closed, velocities, accelerations)


def estimated_poses(recording: Recording) -> tuple[Array, Array]:
    """Estimator's poses at the recording's times: position (N, 3), rotation (N, 3, 3).

    Raises
    ------
    RecordingError
        If there are none, or they do not cover the recording.
    """
    poses = recording.poses
    if poses is None or len(poses.time) < 4:
        raise RecordingError(
            f'{recording.source}: no platform poses were recorded; start the estimator or use '
            "motion.source = 'low_pass'"
        )
    if poses.time[0] > recording.time[0] + 0.05 or poses.time[-1] < recording.time[-1] - 0.05:
        raise RecordingError(
            f'{recording.source}: platform poses cover {poses.time[0]:.2f} to {poses.time[-1]:.2f} s, '
            f'joint states {recording.time[0]:.2f} to {recording.time[-1]:.2f} s; record both over the whole motion'
        )
    time = recording.time.clip(poses.time[0], poses.time[-1])
    position = CubicSpline(poses.time, poses.position)(time)
    rotation = RotationSpline(poses.time, Rotation.from_matrix(poses.rotation_base_platform))(time)
    return position, rotation.as_matrix()
