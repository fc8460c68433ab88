"""Platform motion from leg lengths (or from an estimator's poses): smooth, with analytic derivatives, no phase lag."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kinematics import forward_kinematics
from pkm_description.machine import Machine, PlatformMotion, Pose
from pkm_description.motion.coordinates import motion_from_coordinates, pose_coordinates

from pkm_identification.signals.fourier_fit import fourier_fit
from pkm_identification.signals.low_pass import derivatives, low_pass


def poses_from_lengths(machine: Machine, lengths: Array) -> tuple[Array, Array]:
    """Position (N, 3) and rotation (N, 3, 3) of every sample by forward kinematics, all samples at once from home.

    Raises
    ------
    KinematicsError
        Naming the sample, if one does not converge or lies on another assembly mode.
    """
    result = forward_kinematics(machine, lengths)
    result.require()
    return result.position, result.rotation_base_platform


def filtered_motion(
    time: Array, position: Array, rotation_base_platform: Array, home: Pose, sample_rate: float, cutoff_frequency: float
) -> PlatformMotion:
    """Motion of poses (N, 3), (N, 3, 3) whose coordinates around ``home`` are low-passed; cut-off in Hz."""
    coordinates = pose_coordinates(position, rotation_base_platform, home)
    smooth = low_pass(coordinates, sample_rate, cutoff_frequency)
    return motion_from_coordinates(time, smooth, *derivatives(time, smooth), home)


def fourier_motion(
    time: Array, position: Array, rotation_base_platform: Array, home: Pose, base_frequency: float, harmonics: int
) -> PlatformMotion:
    """Motion of a Fourier series fitted to the coordinates around ``home`` of periodic poses; base frequency in Hz."""
    coordinates = pose_coordinates(position, rotation_base_platform, home)
    return motion_from_coordinates(time, *fourier_fit(time, coordinates, base_frequency, harmonics), home)
