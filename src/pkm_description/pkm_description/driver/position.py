"""Positions and velocities of a driver in the suite's convention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.driver.hall_sensor import quantised
from pkm_description.driver.linear import LinearConversion
from pkm_description.driver.periodic_error import PeriodicError


@dataclass(frozen=True, eq=False)
class PositionConversion:
    """``position = r - e(r) + offset`` with the sensor's reading ``r = scale * x``, drive by drive.

    Attributes
    ----------
    linear : scale (A,) m or rad per unit of the driver, and offset (A,) m or rad; of absolute lengths the offset
        contains the leg's length at joint position zero
    velocity : the same for velocities; its scale is that of the positions unless the file gives one
    periodic_error : error ``e`` of the sensor, if there is a compensation
    velocity_is_of_sensor : the velocities come from the same sensor, and so have the derivative of its error
    resolution : (A,) m or rad of the sensor, for simulation; 0: without end
    """

    linear: LinearConversion
    velocity: LinearConversion
    periodic_error: PeriodicError | None
    velocity_is_of_sensor: bool
    resolution: Array

    def position(self, reading: Array) -> Array:
        """Joint positions (..., A) m or rad of a driver's readings (..., A)."""
        if self.periodic_error is None:
            return self.linear.value(reading)
        measured = reading * self.linear.scale
        position: Array = measured - self.periodic_error.error(measured) + self.linear.offset
        return position

    def rate(self, reading: Array, at: Array | None = None) -> Array:
        """Joint velocities (..., A) m/s or rad/s.

        Parameters
        ----------
        reading : (..., A) the driver's velocities
        at : (..., A) the driver's positions at the same time: needed to compensate velocities of a sensor with a
            periodic error
        """
        rate = self.velocity.value(reading)
        if self.periodic_error is None or not self.velocity_is_of_sensor or at is None:
            return rate
        slope = self.periodic_error.slope(at * self.linear.scale)
        return rate * (1.0 - slope)

    def reading(self, position: Array) -> Array:
        """Readings (..., A) that the driver would give at joint positions (..., A), with its sensor's resolution."""
        measured: Array = np.asarray(position, dtype=float) - self.linear.offset
        if self.periodic_error is not None:
            measured = self.periodic_error.reading(measured)
        reading: Array = quantised(measured, self.resolution) / self.linear.scale
        return reading

    def rate_reading(self, rate: Array, position: Array) -> Array:
        """Velocity readings (..., A) that the driver would give at joint velocities and positions (..., A)."""
        if self.periodic_error is not None and self.velocity_is_of_sensor:
            measured = self.periodic_error.reading(np.asarray(position, dtype=float) - self.linear.offset)
            rate = rate / (1.0 - self.periodic_error.slope(measured))
        return self.velocity.reading(rate)
