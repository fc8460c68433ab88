"""Machines and motions on which consistency is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import motion_from_coordinates
from pkm_description.motion.profiles import mp1_profile, mp2_profile, profile
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.sensors import measure
from pkm_estimation.sensors.simulated import Evaluate

#: Hz
RATE = 100.0


@dataclass(frozen=True)
class MotionScenario:
    """A machine on a motion that sensors of any kind follow.

    Attributes
    ----------
    title : machine and motion in words
    machine : the machine
    evaluate : the motion at any times
    begin : s, where on the motion
    """

    title: str
    machine: Machine
    evaluate: Evaluate
    begin: float

    def time(self, duration: float) -> Array:
        """Times [s] of all samples of ``duration`` s."""
        return self.begin + np.arange(round(duration * RATE)) / RATE


@dataclass(frozen=True)
class Scenario:
    """A motion of a machine and what ideal sensors measure along it.

    Attributes
    ----------
    title : machine and motion in words
    machine : the machine
    motion : the truth, N samples
    inputs : (N, 6) specific force and angular rate without noise and bias, platform axes
    positions : (N, L) m or rad, of the drives, without noise
    """

    title: str
    machine: Machine
    motion: PlatformMotion
    inputs: Array
    positions: Array

    @classmethod
    def of(cls, title: str, machine: Machine, motion: PlatformMotion) -> Scenario:
        """Measure a motion with ideal sensors."""
        imu = replace(machine.imu, accelerometer_bias=np.zeros(3), gyroscope_bias=np.zeros(3))
        data = measure(replace(machine, imu=imu), motion, None)
        frame = ImuFrame(machine.imu)
        inputs = [frame.to_platform(sample) for sample in np.hstack([data.specific_force, data.angular_rate])]
        return cls(title, machine, motion, np.array(inputs), data.drive_positions)

    @property
    def interval(self) -> float:
        """Time between two samples [s]."""
        return float(self.motion.time[1] - self.motion.time[0])


def mp1_scenario(machine: Machine, duration: float) -> Scenario:
    """MP1 after its lead-in."""
    motion = mp1_profile(machine, 20.0 + duration).evaluate(_times(10.0, duration))
    return Scenario.of(f'{machine.name}, MP1', machine, motion)


def mp2_scenario(machine: Machine, duration: float) -> Scenario:
    """Surrogate of MP2 after its lead-in."""
    motion = mp2_profile(machine, 10.0 + duration).evaluate(_times(5.0, duration))
    return Scenario.of(f'{machine.name}, MP2 surrogate', machine, motion)


def standstill_scenario(machine: Machine, duration: float) -> Scenario:
    """At home at rest."""
    return Scenario.of(f'{machine.name}, standstill', machine, profile('hold', machine, duration, RATE))


def sines(machine: Machine, frequency: float, time: Array, phase: float = 0.0) -> PlatformMotion:
    """Sines of all six coordinates, 0.06 m and 0.06 rad, of 0.83 to 1 times a frequency [Hz]."""
    rates = 2.0 * np.pi * frequency * np.array([1.0, 0.93, 0.87, 0.97, 0.9, 0.83])
    angles = np.multiply.outer(time, rates) + phase + np.arange(6.0)
    coordinates = 0.06 * np.sin(angles)
    return motion_from_coordinates(
        time, coordinates, 0.06 * rates * np.cos(angles), -(rates**2) * coordinates, machine.home
    )


def fast_scenario(machine: Machine, duration: float) -> Scenario:
    """Sines of 1.7 to 2 Hz of all six coordinates."""
    return Scenario.of(f'{machine.name}, 2 Hz', machine, sines(machine, 2.0, _times(0.0, duration)))


def drives_scenario(machine: Machine, duration: float) -> Scenario:
    """Sines of the drives, for machines of any kind."""
    return Scenario.of(f'{machine.name}, sines', machine, profile('drives', machine, duration, RATE))


@dataclass(frozen=True)
class NamedScenario:
    """How a scenario is made.

    Attributes
    ----------
    title : machine and motion in words, as that of the scenario
    machine : name
    make : makes it
    share : part of the duration that is asked for
    """

    title: str
    machine: str
    make: Callable[[Machine, float], Scenario]
    share: float = 1.0


#: SIMONA at rest, on MP1 and MP2 and on faster motion, and three machines of other kinds, half as long each: their legs
#: are closed by iterations for every sigma point, which takes forty times as long as struts do
SCENARIOS = (
    NamedScenario('srs, MP1', 'srs', mp1_scenario),
    NamedScenario('srs, MP2 surrogate', 'srs', mp2_scenario),
    NamedScenario('srs, standstill', 'srs', standstill_scenario),
    NamedScenario('srs, 2 Hz', 'srs', fast_scenario),
    NamedScenario('hexaglide_6pus, sines', 'hexaglide_6pus', drives_scenario, 0.5),
    NamedScenario('valencia_3rps, sines', 'valencia_3rps', drives_scenario, 0.5),
    NamedScenario('khalifa_3prr, sines', 'khalifa_3prr', drives_scenario, 0.5),
)


def make_scenario(title: str, duration: float) -> Scenario:
    """One of :data:`SCENARIOS` for ``duration`` s, or its share of that."""
    named = next(scenario for scenario in SCENARIOS if scenario.title == title)
    return named.make(load_machine(named.machine), named.share * duration)


def _times(begin: float, duration: float) -> Array:
    times: Array = begin + np.arange(round(duration * RATE)) / RATE
    return times
