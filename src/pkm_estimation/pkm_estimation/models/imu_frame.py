"""The IMU's mounting: samples to platform axes and back, noise covariance in platform axes."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.driver import STANDARD_IMU, ImuConversion
from pkm_description.kinematics.rotation import rotated
from pkm_description.machine import ImuSensor


class ImuFrame:
    """Turns vectors and covariances between IMU axes and platform axes.

    Parameters
    ----------
    imu : its axes and noise
    conversion : units and signs of the samples that :meth:`to_platform` takes

    Attributes
    ----------
    noise_covariance : (6, 6) of one sample, specific force and angular rate, platform axes; rounding of digits counts
        as noise of a twelfth of their step's square
    """

    def __init__(self, imu: ImuSensor, conversion: ImuConversion = STANDARD_IMU) -> None:
        self._scale = None if conversion.is_standard else conversion.scale
        self._block: Array = np.kron(np.eye(2), imu.rotation_platform_imu).astype(float)
        steps = np.concatenate([imu.accelerometer_resolution, imu.gyroscope_resolution])
        variances = np.concatenate([imu.accelerometer_noise, imu.gyroscope_noise]) ** 2 + steps**2 / 12.0
        self._variances = variances
        self.noise_covariance = self._block @ np.diag(variances) @ self._block.T

    def take_stated(self, covariance: Array) -> None:
        """Take another noise: (6, 6) of one sample as its driver has it; NaN where it states none, which stays."""
        scale = np.ones(6) if self._scale is None else self._scale
        noise = np.diag(self._variances)
        for rows in (slice(0, 3), slice(3, 6)):
            if np.isfinite(covariance[rows, rows]).all():
                noise[rows, rows] = covariance[rows, rows] * np.outer(scale[rows], scale[rows])
        self.noise_covariance = self._block @ noise @ self._block.T

    def to_platform(self, sample: Array) -> Array:
        """Pairs of vectors (..., 6) of the driver from IMU axes to platform axes, in SI units."""
        samples = sample if self._scale is None else sample * self._scale
        return self._block.dot(samples) if samples.ndim == 1 else rotated(self._block, samples)

    def to_imu(self, samples: Array) -> Array:
        """Pairs of vectors (..., 6) from platform axes to IMU axes."""
        return rotated(self._block.T, samples)

    def vector_to_imu(self, vectors: Array) -> Array:
        """Vectors (..., 3) from platform axes to IMU axes."""
        return rotated(self._block.T[:3, :3], vectors)

    def covariance_to_imu(self, covariance: Array) -> Array:
        """Covariances (..., 6, 6) of pairs of vectors, from platform axes to IMU axes."""
        turned: Array = self._block.T @ covariance @ self._block
        return turned
