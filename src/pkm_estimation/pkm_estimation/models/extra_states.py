"""Constants as extra states in addition to the fifteen of Miletovic et al. 2017.

The IMU position affects the measurement only: the state describes the IMU's point, so the position only determines
where the platform's joints lie relative to it. Offsets and delay affect the measurement only, too. The mounting rotates
the process's input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pkm_description.arrays import Array, packed
from pkm_description.driver import STANDARD_IMU, ImuConversion
from pkm_description.kernels.model import Integers
from pkm_description.kinematics.rotation import rotated
from pkm_description.machine import ImuSensor

from pkm_estimation.kernels.imu_constants import with_constants_of_all
from pkm_estimation.models.inertial_process import ImuMotion

#: names that the setting ``estimate`` takes, with their units; offsets of drives that turn are in rad
EXTRA_STATES = {'leg_offsets': 'm', 'imu_delay': 's', 'imu_rotation': 'rad', 'imu_position': 'm'}


def extra_state_units(position_units: Sequence[str]) -> dict[str, str]:
    """Units by name, on a machine whose drives' positions have units such as ``('m', 'm', 'm')``."""
    return EXTRA_STATES | {'leg_offsets': ', '.join(dict.fromkeys(position_units))}


@dataclass(frozen=True)
class StateLayout:
    """Rows of each group of states.

    Attributes
    ----------
    size : number of states n
    leg_offsets, imu_delay, imu_rotation, imu_position : rows of the extra states, ``None`` where not estimated
    """

    size: int
    leg_offsets: slice | None = None
    imu_delay: slice | None = None
    imu_rotation: slice | None = None
    imu_position: slice | None = None

    @classmethod
    def of(cls, base_size: int, drive_count: int, estimate: Sequence[str]) -> StateLayout:
        """Layout with the extra states named in ``estimate``, in the order of :data:`EXTRA_STATES`.

        Raises
        ------
        ValueError
            For a name that is no extra state.
        """
        unknown = [name for name in estimate if name not in EXTRA_STATES]
        if unknown:
            raise ValueError(f'{unknown[0]!r} cannot be estimated; there are {", ".join(EXTRA_STATES)}')
        sizes = {'leg_offsets': drive_count, 'imu_delay': 1, 'imu_rotation': 3, 'imu_position': 3}
        rows, end = {}, base_size
        for name in EXTRA_STATES:
            if name in estimate:
                rows[name] = slice(end, end + sizes[name])
                end += sizes[name]
        return cls(end, **rows)

    @cached_property
    def groups(self) -> dict[str, slice]:
        """Rows of each extra state that is estimated."""
        return {name: rows for name in EXTRA_STATES if (rows := getattr(self, name)) is not None}

    @cached_property
    def first_rows(self) -> Integers:
        """First row of each extra state, in the order of :data:`EXTRA_STATES`; -1 where it is not estimated."""
        return np.array([-1 if (rows := getattr(self, name)) is None else rows.start for name in EXTRA_STATES])


# Applies estimated delay, mounting and position of the IMU to states: motion at the stamp of the legs.
#
# Used by users' measurements and the outputs; the equations are in :mod:`pkm_estimation.kernels.imu_constants`.
def with_constants(layout: StateLayout, states: Array, motion: ImuMotion, gravity: Array) -> ImuMotion:
    """Apply mounting and position, and extrapolate over the remaining delay, by which the states lag.

    Parameters
    ----------
    layout : where the constants lie
    states : (N, n)
    motion : at the states, with nominal mounting and place
    gravity : (3,) m/s^2, axes of the positions
    """
    shapes = [(len(states), 3, 3) if name == 'rotation' else (len(states), 3) for name in motion._fields]
    copies = (np.array(np.broadcast_to(value, shape), order='C') for value, shape in zip(motion, shapes, strict=True))
    moved = ImuMotion(*copies)
    with_constants_of_all(layout.first_rows, packed(states), packed(gravity), *moved)
    return moved


class ImuFrame:
    """Turns vectors and covariances between IMU axes and platform axes.

    Parameters
    ----------
    imu : its axes, matrices and noise
    conversion : units and signs of the samples that :meth:`to_platform` takes

    Attributes
    ----------
    noise_covariance : (6, 6) of one sample, specific force and angular rate, platform axes; rounding of digits counts
        as noise of a twelfth of their step's square
    """

    def __init__(self, imu: ImuSensor, conversion: ImuConversion = STANDARD_IMU) -> None:
        self._scale = None if conversion.is_standard else conversion.scale
        self._block: Array = np.kron(np.eye(2), imu.rotation_platform_imu).astype(float)
        self._corrected = self._block @ imu.matrix
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
        return self._corrected.dot(samples) if samples.ndim == 1 else rotated(self._corrected, samples)

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
