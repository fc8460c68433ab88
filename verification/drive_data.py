"""Motion and efforts of drives as arrays, with sensor noise by seed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from pkm_description.arrays import Array
from pkm_description.kinematics import motion_from_drives
from pkm_description.machine import Machine, PlatformMotion


@dataclass(frozen=True)
class DriveNoise:
    """Standard deviations of white noise, one number or one per drive.

    Attributes
    ----------
    positions : m or rad
    velocities, accelerations : their time derivatives, where sensors of their own measure them
    efforts : N or N m
    uniform : the noise is uniform with these standard deviations, as of a quantised reading; else Gaussian
    """

    positions: ArrayLike = 0.0
    velocities: ArrayLike = 0.0
    accelerations: ArrayLike = 0.0
    efforts: ArrayLike = 0.0
    uniform: bool = False


@dataclass(frozen=True)
class DriveData:
    """Samples of A drives.

    Attributes
    ----------
    time : (N,) s
    positions, velocities, accelerations : (N, A) m or rad and time derivatives
    efforts : (N, A) N or N m
    """

    time: Array
    positions: Array
    velocities: Array
    accelerations: Array
    efforts: Array

    def __getitem__(self, samples: slice) -> DriveData:
        """Some of the samples."""
        parts = (self.time, self.positions, self.velocities, self.accelerations, self.efforts)
        return DriveData(*(part[samples] for part in parts))

    def with_noise(self, noise: DriveNoise, seed: int) -> DriveData:
        """Add noise; the same seed gives the same numbers, and each quantity has a stream of its own."""
        streams = np.random.default_rng(seed).spawn(4)
        noisy = {}
        for name, stream in zip(('positions', 'velocities', 'accelerations', 'efforts'), streams, strict=True):
            clean = getattr(self, name)
            draws = stream.uniform(-np.sqrt(3.0), np.sqrt(3.0), clean.shape) if noise.uniform else (
                stream.normal(size=clean.shape)
            )
            noisy[name] = clean + np.asarray(getattr(noise, name), dtype=float) * draws
        return replace(self, **noisy)

    def motion(self, machine: Machine) -> PlatformMotion:
        """Motion of the platform that belongs to the drives, by forward kinematics of every sample."""
        return motion_from_drives(machine, self.time, self.positions, self.velocities, self.accelerations)
