"""The class ``PlatformMotion``: pose, velocity and acceleration of the platform at N samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import ShapeError


@dataclass(frozen=True)
class PlatformMotion:
    """Pose, velocity and acceleration of ``platform_link`` in ``base_link`` axes, N samples.

    Attributes
    ----------
    time : (N,) s
    position : (N, 3) m, origin of ``platform_link``
    rotation_base_platform : (N, 3, 3)
    linear_velocity, linear_acceleration : (N, 3) m/s, m/s^2 of the platform's origin, base axes
    angular_velocity, angular_acceleration : (N, 3) rad/s, rad/s^2, base axes

    Raises
    ------
    ShapeError
        Arrays of other shapes.
    """

    time: Array
    position: Array
    rotation_base_platform: Array
    linear_velocity: Array
    angular_velocity: Array
    linear_acceleration: Array
    angular_acceleration: Array

    def __post_init__(self) -> None:
        if np.ndim(self.time) != 1:
            raise ShapeError('time', '(N,)', np.shape(self.time))
        count = len(self.time)
        shapes = {'time': (count,), 'rotation_base_platform': (count, 3, 3)}
        for name in self.__dataclass_fields__:
            shape = shapes.get(name, (count, 3))
            values = getattr(self, name)
            if not isinstance(values, np.ndarray):
                values = np.asarray(values, dtype=float)
                object.__setattr__(self, name, values)  # the class is frozen for its users
            if values.shape != shape:
                raise ShapeError(name, f'{shape} beside a time of shape ({count},)', values.shape)

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, index: slice | NDArray[np.bool_] | NDArray[np.intp]) -> PlatformMotion:
        """Pick samples; the leading axis stays."""
        return PlatformMotion(**{name: getattr(self, name)[index] for name in self.__dataclass_fields__})

    @property
    def twist(self) -> Array:
        """Linear and angular velocity stacked, (N, 6), base axes."""
        return np.concatenate([self.linear_velocity, self.angular_velocity], axis=1)

    @property
    def acceleration(self) -> Array:
        """Linear and angular acceleration stacked, (N, 6), base axes."""
        return np.concatenate([self.linear_acceleration, self.angular_acceleration], axis=1)

    @classmethod
    def at_rest(cls, position: Array, rotation_base_platform: Array) -> PlatformMotion:
        """Describe one motionless sample at a pose: position (3,), rotation (3, 3)."""
        zero = np.zeros((1, 3))
        position, rotation = (np.asarray(values, dtype=float)[None] for values in (position, rotation_base_platform))
        return cls(np.zeros(1), position, rotation, zero, zero, zero, zero)
