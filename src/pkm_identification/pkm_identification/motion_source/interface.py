"""What a motion source is: a recording in, the platform's motion with velocities and accelerations out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import forward_kinematics
from pkm_description.kinematics.arguments import holds_platform
from pkm_description.kinematics.drive_map import motion_of_configurations
from pkm_description.kinematics.forward import ForwardKinematicsResult
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import motion_from_coordinates, pose_coordinates
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from pkm_identification.errors import RecordingError
from pkm_identification.motion_source.bands import Bands
from pkm_identification.motion_source.filters import derivatives, low_pass
from pkm_identification.recording.recording import Recording

#: samples by which periods may be longer or shorter than a whole number, all together, before they are interpolated
WHOLE = 0.02
#: gap of a leg, in standard deviations of a drive's position, up to which redundant drives only differ by noise
CONTRADICTION = 10.0


class Curve(NamedTuple):
    """Smooth values (N, M) with their first and second time derivatives."""

    values: Array
    first: Array
    second: Array


@dataclass(frozen=True)
class RecordedMotion:
    """Motion of a recording.

    Attributes
    ----------
    recording : the part of the recording that has this motion; most sources take all of it
    smooth : at all of its samples
    lively : the same with a higher cut-off frequency, for the signs of velocities
    repeatability : of sources that average over periods
    """

    recording: Recording
    smooth: PlatformMotion
    lively: PlatformMotion
    repeatability: Repeatability | None = None


class MotionSource(ABC):
    """Makes the platform's motion from positions of the drives, or from poses.

    Smoothed are the platform's six coordinates around home. A platform with fewer degrees of freedom would leave its
    constraints by that, so for it the positions of the drives are smoothed, and the motion that belongs to them is
    found; see :func:`smooths_drives`.

    Attributes
    ----------
    name : in the setting ``motion.source``
    title : in words for reports
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def curve(self, time: Array, values: Array, cutoff_frequency: float) -> Curve:
        """Smooth noisy samples (N, M) at uniform times (N,) s; ``cutoff_frequency`` [Hz] where the source has one."""

    def poses(self, machine: Machine, recording: Recording) -> tuple[Array, Array]:
        """Position (N, 3) m and rotation (N, 3, 3) of every sample, not smoothed."""
        return recorded_poses(machine, recording)

    def drives(self, machine: Machine, recording: Recording) -> Array:
        """Positions (N, A) m or rad of the drives of a platform with fewer than six degrees of freedom."""
        return recording.drive_positions

    def motion(self, machine: Machine, recording: Recording, bands: Bands) -> RecordedMotion:
        """Smooth and livelier motion of a recording; of ``bands`` the cut-off frequencies of motion and signs count."""
        time, rate = recording.time, recording.sample_rate
        constrained = smooths_drives(machine)
        if constrained:
            values = self.drives(machine, recording)
        else:
            values = pose_coordinates(*self.poses(machine, recording), machine.home)
        smooth = self.curve(time, values, bands.motion_cutoff)
        values = low_pass(values, rate, bands.sign_cutoff)
        lively = Curve(values, *derivatives(time, values))
        moved = [motion_of_curve(machine, time, curve, constrained) for curve in (smooth, lively)]
        return RecordedMotion(recording, moved[0], moved[1])


def smooths_drives(machine: Machine) -> bool:
    """Whether positions of the drives are smoothed, not coordinates of the platform.

    Redundant drives would contradict each other by that. A platform in a plane stays in it by its own coordinates.
    """
    redundant = machine.actuated_count > machine.degrees_of_freedom
    return machine.constraint_count > 0 and not (redundant and not holds_platform(machine))


def motion_of_curve(machine: Machine, time: Array, curve: Curve, constrained: bool) -> PlatformMotion:
    """Platform motion of a curve of the drives (``constrained``) or of the platform's six coordinates."""
    if constrained:
        return motion_of_drives(machine, time, *curve)
    return motion_from_coordinates(time, *curve, machine.home)


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


# Mean and variance over the periods of a periodic recording (Heimann & Abdellatif; Swevers et al. 1996).
@dataclass(frozen=True)
class Repeatability:
    """What a motion and its efforts are on the average of K periods, and how far single periods are off.

    The standard deviations are those of single samples (divisor K - 1): noise of the sensors, and everything that does
    not repeat. They come from no model, so they tell noise from what a model lacks. Of few periods that of one sample
    is rough, its relative error is ``1 / sqrt(2 (K - 1))``; the figures by drive are over the whole period.

    Attributes
    ----------
    base_frequency : Hz
    found : whether it was found in the data, not given
    periods : K
    time : (P,) s from the beginning of a period
    positions, position_std : (P, A) m or rad
    efforts, effort_std : (P, A) N or N m
    """

    base_frequency: float
    found: bool
    periods: int
    time: Array
    positions: Array
    position_std: Array
    efforts: Array
    effort_std: Array

    @property
    def position_noise(self) -> Array:
        """Standard deviation (A,) of a sample of each drive's position."""
        return np.sqrt(np.mean(self.position_std**2, axis=0))

    @property
    def effort_noise(self) -> Array:
        """Standard deviation (A,) of a sample of each drive's effort."""
        return np.sqrt(np.mean(self.effort_std**2, axis=0))

    @property
    def summary(self) -> str:
        """One line for logs."""
        how = 'found' if self.found else 'given'
        return (
            f'{self.periods} periods of {self.base_frequency:.6g} Hz ({how}); single samples are off their mean by '
            f'{self.position_noise.max():.2g} m or rad and {self.effort_noise.max():.3g} N or N m (worst drive)'
        )


def repeatability(recording: Recording, base_frequency: float, periods: int, found: bool) -> Repeatability:
    """Average a recording that begins with whole periods.

    Parameters
    ----------
    base_frequency : Hz
    periods : K, how many there are
    found : kept with the result
    """
    period = recording.sample_rate / base_frequency
    count = round(period)
    both = np.concatenate([recording.drive_positions, recording.forces], axis=1)
    if abs(period - count) * periods > WHOLE or periods * count > len(both):
        # between samples: the grid of each period begins where the period does
        step = 1.0 / (base_frequency * count)
        grid = np.minimum(np.arange(periods * count) * step, recording.duration)
        both = CubicSpline(recording.time - recording.time[0], both, axis=0)(grid)
    folded = both[: periods * count].reshape(periods, count, -1)
    mean, std = folded.mean(axis=0), folded.std(axis=0, ddof=1)
    drives = recording.drive_positions.shape[1]
    return Repeatability(
        base_frequency, found, periods, np.arange(count) / (base_frequency * count),
        mean[:, :drives], std[:, :drives], mean[:, drives:], std[:, drives:],
    )  # fmt: skip
