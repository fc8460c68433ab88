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
    title : in words for reports
    """

    title: ClassVar[str]

    @abstractmethod
    def curve(self, time: Array, values: Array, cutoff_frequency: float) -> Curve:
        """Smooth noisy samples (N, M) at uniform times (N,) s; ``cutoff_frequency`` [Hz] where the source has one."""

    def poses(self, machine: Machine, recording: Recording) -> tuple[Array, Array]:
        """Position (N, 3) m and rotation (N, 3, 3) of every sample, not smoothed: by forward kinematics, from home.

        Raises
        ------
        KinematicsError
            Naming the sample, if one does not converge or lies on another assembly mode.
        """
        closed = _configurations(machine, recording.drive_positions)
        return closed.position, closed.rotation_base_platform

    def drives(self, machine: Machine, recording: Recording) -> Array:
        """Positions (N, A) m or rad of the drives of a platform with fewer than six degrees of freedom."""
        return recording.drive_positions

    def coordinates(self, machine: Machine, recording: Recording) -> Array:
        """What is smoothed (N, M): positions of the drives, or the platform's coordinates around home."""
        if smooths_drives(machine):
            return self.drives(machine, recording)
        return pose_coordinates(*self.poses(machine, recording), machine.home)

    def motion(self, machine: Machine, recording: Recording, bands: Bands) -> RecordedMotion:
        """Smooth and livelier motion of a recording; of ``bands`` the cut-off frequencies of motion and signs count."""
        values = self.coordinates(machine, recording)
        return self.moved(machine, recording, bands, values, self.curve(recording.time, values, bands.motion_cutoff))

    def moved(
        self, machine: Machine, recording: Recording, bands: Bands, values: Array, smooth: Curve,
        repeatability: Repeatability | None = None,
    ) -> RecordedMotion:  # fmt: skip
        """Motion of a smooth curve of the coordinates, and the livelier one of their values (N, M) as they are."""
        values, time = low_pass(values, recording.sample_rate, bands.sign_cutoff), recording.time
        curves = smooth, Curve(values, *derivatives(time, values))
        if smooths_drives(machine):
            # on the constraints; redundant drives may contradict themselves by noise
            found = [
                motion_of_configurations(machine, time, _configurations(machine, one.values), one.first, one.second)
                for one in curves
            ]
        else:
            found = [motion_from_coordinates(time, *one, machine.home) for one in curves]
        return RecordedMotion(recording, found[0], found[1], repeatability)


def smooths_drives(machine: Machine) -> bool:
    """Whether positions of the drives are smoothed, not coordinates of the platform.

    Redundant drives would contradict each other by that. A platform in a plane stays in it by its own coordinates.
    """
    redundant = machine.actuated_count > machine.degrees_of_freedom
    return machine.constraint_count > 0 and not (redundant and not holds_platform(machine))


def _configurations(machine: Machine, positions: Array) -> ForwardKinematicsResult:
    """Configurations of drive positions (N, A); of redundant drives, whose noise contradicts itself, the nearest."""
    result = forward_kinematics(machine, positions)
    if machine.actuated_count > machine.degrees_of_freedom:
        # the least squares of all is the pose
        near = result.residual <= CONTRADICTION * float(np.max(machine.leg_sensors.position_noise))
        result = replace(result, converged=result.converged | near)
    return result.require()


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
