"""Motion of the platform during a recording: smooth, with analytic derivatives, no phase lag."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kinematics import forward_kinematics, motion_from_drives
from pkm_description.machine import Machine, PlatformMotion, Pose
from pkm_description.motion.coordinates import motion_from_coordinates, pose_coordinates
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import RecordingError
from pkm_identification.motion_source.filters import derivatives, low_pass
from pkm_identification.motion_source.fourier_fit import fourier_fit
from pkm_identification.recording.recording import Recording


def recorded_motions(
    machine: Machine, recording: Recording, config: IdentificationConfig, cutoff_frequency: float, sign_cutoff: float
) -> tuple[PlatformMotion, PlatformMotion]:
    """Platform motion of a recording by the configured method, and a livelier one for the signs of velocities.

    Filtered are the platform's six coordinates. A platform with fewer degrees of freedom would leave its constraints
    by that, so for it the positions of the drives are filtered, and the motion that belongs to them is found.

    Parameters
    ----------
    machine : the machine, its home pose is the origin of the coordinates that are filtered
    recording : positions of the drives, or an estimator's poses
    config : ``motion_source`` and the settings of the Fourier fit
    cutoff_frequency : Hz, of the motion
    sign_cutoff : Hz, of the livelier motion
    """
    home, time, rate = machine.home, recording.time, recording.sample_rate
    if machine.constraint_count:
        return _motions_of_drives(machine, recording, config, cutoff_frequency, sign_cutoff)
    poses = estimated_poses(recording) if config.motion_source == 'estimator' else recorded_poses(machine, recording)
    lively = filtered_motion(time, *poses, home, rate, sign_cutoff)
    if config.fourier_base_frequency > 0.0:
        return fourier_motion(time, *poses, home, config.fourier_base_frequency, config.fourier_harmonics), lively
    return filtered_motion(time, *poses, home, rate, cutoff_frequency), lively


def _motions_of_drives(
    machine: Machine, recording: Recording, config: IdentificationConfig, cutoff_frequency: float, sign_cutoff: float
) -> tuple[PlatformMotion, PlatformMotion]:
    """Motions of filtered drive positions; arguments and result as :func:`recorded_motions`."""
    if config.motion_source == 'estimator':
        raise RecordingError(
            f"{machine.name}: motion_source = 'estimator' needs a platform with six degrees of freedom, this one has "
            f"{machine.degrees_of_freedom}; use 'forward_kinematics'"
        )
    time, positions, rate = recording.time, recording.drive_positions, recording.sample_rate
    lively = low_pass(positions, rate, sign_cutoff)
    smooth = low_pass(positions, rate, cutoff_frequency)
    motions = [(smooth, *derivatives(time, smooth)), (lively, *derivatives(time, lively))]
    if config.fourier_base_frequency > 0.0:
        motions[0] = fourier_fit(time, positions, config.fourier_base_frequency, config.fourier_harmonics)
    return motion_from_drives(machine, time, *motions[0]), motion_from_drives(machine, time, *motions[1])


def recorded_poses(machine: Machine, recording: Recording) -> tuple[Array, Array]:
    """Position (N, 3) and rotation (N, 3, 3) of every sample by forward kinematics, all samples at once from home.

    Raises
    ------
    KinematicsError
        Naming the sample, if one does not converge or lies on another assembly mode.
    """
    result = forward_kinematics(machine, recording.drive_positions)
    result.require()
    return result.position, result.rotation_base_platform


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
            "motion_source = 'forward_kinematics'"
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
