"""Machines and motions on which consistency is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from pkm_description.arrays import Array
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import motion_from_coordinates
from pkm_description.motion.profiles import (
    RollPitchSines,
    drives_profile,
    fourier_profile,
    mp1_profile,
    mp2_profile,
)
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.sensors import measure
from pkm_estimation.sensors.simulated import Evaluate

#: Hz
RATE = 100.0


def sines(machine: Machine, frequency: float, time: Array, phase: float = 0.0) -> PlatformMotion:
    """Sines of all six coordinates, 0.06 m and 0.06 rad, of 0.83 to 1 times a frequency [Hz]."""
    rates = 2.0 * np.pi * frequency * np.array([1.0, 0.93, 0.87, 0.97, 0.9, 0.83])
    angles = np.multiply.outer(time, rates) + phase + np.arange(6.0)
    coordinates = 0.06 * np.sin(angles)
    return motion_from_coordinates(
        time, coordinates, 0.06 * rates * np.cos(angles), -(rates**2) * coordinates, machine.home
    )


#: motions of a machine that last so many s: those of the paper; at home at rest; all six coordinates, of up to 2 Hz,
#: and of up to 1 Hz; sines of the drives, for machines of any freedom
MOTIONS: dict[str, Callable[[Machine, float], Evaluate]] = {
    'MP1': lambda machine, length: mp1_profile(machine, length).evaluate,
    'MP2 surrogate': lambda machine, length: mp2_profile(machine, length).evaluate,
    'standstill': lambda machine, length: RollPitchSines(machine.home, scale=0.0, heave=0.0).evaluate,
    '2 Hz': lambda machine, length: partial(sines, machine, 2.0),
    'rich motion': lambda machine, length: fourier_profile(machine, length).evaluate,
    'sines': lambda machine, length: drives_profile(machine, length).evaluate,
}


@dataclass(frozen=True)
class Scenario:
    """A machine on a motion.

    Attributes
    ----------
    title : machine and motion in words
    machine : the machine
    evaluate : the motion at any times
    begin, duration : s, of what is used of it
    """

    title: str
    machine: Machine
    evaluate: Evaluate
    begin: float
    duration: float

    @property
    def interval(self) -> float:
        """Time between two samples [s]."""
        return 1.0 / RATE

    @property
    def time(self) -> Array:
        """Times (N,) s of all samples."""
        return self.begin + np.arange(round(self.duration * RATE)) / RATE

    @cached_property
    def motion(self) -> PlatformMotion:
        """The truth, N samples."""
        return self.evaluate(self.time)

    @cached_property
    def ideal(self) -> tuple[Array, Array]:
        """What ideal sensors measure: IMU (N, 6) without noise and bias, platform axes; drives (N, L) m or rad."""
        imu = replace(self.machine.imu, accelerometer_bias=np.zeros(3), gyroscope_bias=np.zeros(3))
        data = measure(replace(self.machine, imu=imu), self.motion, None)
        samples = np.hstack([data.specific_force, data.angular_rate])
        return np.array([ImuFrame(imu).to_platform(sample) for sample in samples]), data.drive_positions


def scenario_of(machine: Machine | str, motion: str, begin: float, duration: float, length: float) -> Scenario:
    """A machine on one of :data:`MOTIONS`, which is ``length`` s long as a whole."""
    machine = load_machine(machine) if isinstance(machine, str) else machine
    return Scenario(f'{machine.name}, {motion}', machine, MOTIONS[motion](machine, length), begin, duration)


def titled(title: str, begin: float, duration: float, length: float) -> Scenario:
    """The same by its title: ``'srs, MP1'``."""
    machine, motion = title.split(', ')
    return scenario_of(machine, motion, begin, duration, length)


def after_lead_in(title: str, duration: float) -> Scenario:
    """One of :data:`SCENARIOS` for ``duration`` s, or its share of that."""
    begin, share = SCENARIOS[title]
    return titled(title, begin, share * duration, 2.0 * begin + share * duration)


#: title: s where on the motion it begins, part of the duration that is asked for. SIMONA at rest, on MP1 and MP2 and on
#: faster motion, and three machines of other kinds, half as long each: their legs are closed by iterations for every
#: sigma point, which takes forty times as long as struts do
SCENARIOS = {
    'srs, MP1': (10.0, 1.0), 'srs, MP2 surrogate': (5.0, 1.0), 'srs, standstill': (0.0, 1.0), 'srs, 2 Hz': (0.0, 1.0),
    'hexaglide_6pus, sines': (0.0, 0.5), 'valencia_3rps, sines': (0.0, 0.5), 'khalifa_3prr, sines': (0.0, 0.5),
}  # fmt: skip
