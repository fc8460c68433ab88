"""Forces and torques of the drives from currents, torques, forces or pressures, and commands for a driver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array


@dataclass(frozen=True, eq=False)
class Channel:
    """One entry per drive among a driver's efforts.

    Attributes
    ----------
    names : (A) names of the entries, by drive
    scale : (A,) N or N m per unit of the driver, with its sign
    """

    names: tuple[str, ...]
    scale: Array


@dataclass(frozen=True, eq=False)
class EffortConversion:
    """``effort = sum over channels of scale * reading, + offset``, drive by drive.

    One channel for forces, torques, currents and pressure differences; two for the chambers of hydraulic cylinders.

    Attributes
    ----------
    channels : see there
    offset : (A,) N or N m
    quantity : ``'force'``, ``'torque'``, ``'current'``, ``'voltage'``, ``'pressure'`` or
        ``'pressure_difference'``
    """

    channels: tuple[Channel, ...]
    offset: Array
    quantity: str

    @property
    def takes_commands(self) -> bool:
        """Whether a driver that measures this can be commanded by the same; pressures are not."""
        return self.quantity in ('force', 'torque', 'current', 'voltage')

    def effort(self, readings: list[Array]) -> Array:
        """Efforts (..., A) N or N m of the readings (..., A) of each channel."""
        total = readings[0] * self.channels[0].scale
        for channel, reading in zip(self.channels[1:], readings[1:], strict=True):
            total = total + reading * channel.scale
        result: Array = total + self.offset
        return result

    def readings(self, effort: Array) -> list[Array]:
        """Readings (..., A) of each channel that a driver would give; of two chambers the one that pushes has all."""
        total: Array = np.asarray(effort, dtype=float) - self.offset
        if len(self.channels) == 1:
            return [total / self.channels[0].scale]
        return [np.maximum(total / channel.scale, 0.0) for channel in self.channels]


@dataclass(frozen=True, eq=False)
class CommandConversion:
    """Commands that a driver takes for forces and torques of the drives.

    Attributes
    ----------
    scale : (A,) N or N m per unit of the driver's command, by drive, with its sign
    order : (A,) drives in the order in which the driver takes them
    quantity : ``'force'``, ``'torque'``, ``'current'`` or ``'voltage'``
    """

    scale: Array
    order: tuple[int, ...]
    quantity: str

    def command(self, forces: Array) -> Array:
        """Commands (..., A) in the driver's order and unit for forces (..., A) by drive [N or N m]."""
        result: Array = (np.asarray(forces, dtype=float) / self.scale)[..., list(self.order)]
        return result

    def forces(self, command: Array) -> Array:
        """Forces (..., A) by drive [N or N m] of commands (..., A) in the driver's order and unit."""
        numbers = np.asarray(command, dtype=float)
        result = np.empty(numbers.shape)
        result[..., list(self.order)] = numbers
        result *= self.scale
        return result
