"""Sinusoidal motion of the drives, for machines with any number of degrees of freedom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError, PkmError
from pkm_description.kinematics.drive_map import motion_from_drives
from pkm_description.kinematics.drives import drive_positions
from pkm_description.kinematics.forward import forward_kinematics
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import Envelope, product

#: part of the stroke (or of a turn) that the drives swing to either side at scale 1, and their frequencies
_SWING, _TURN_SWING = 0.25, 0.3
_LOWEST, _HIGHEST = 0.25, 0.6


def without_redundant_legs(machine: Machine) -> Machine:
    """The machine with those of its legs that hold the platform best, so that there is one drive per degree of freedom.

    A machine that is not redundant is returned as it is.

    Raises
    ------
    ArgumentError
        No choice of legs leaves as many drives.
    """
    if not machine.is_redundant:
        return machine
    found = min(_choices(machine), key=lambda one: one[0], default=None)
    if found is None:
        raise ArgumentError(
            f'{machine.name}: no choice of its legs has {machine.degrees_of_freedom} drives, one per freedom, so '
            'its drives cannot swing by themselves; use a motion of the platform'
        )
    return found[1]


def _choices(machine: Machine) -> Iterator[tuple[float, Machine]]:
    """Machines with fewer legs, as many drives as degrees of freedom, and the condition number at home."""
    freedoms = machine.degrees_of_freedom
    for count in range(1, machine.leg_count):
        for legs in combinations(machine.legs, count):
            fewer = replace(machine, legs=legs)
            if fewer.actuated_count == freedoms == fewer.degrees_of_freedom:
                try:
                    yield float(forward_kinematics(fewer, _at_home(fewer)).condition[0]), fewer
                except PkmError:  # these legs do not hold the platform
                    continue


def _at_home(machine: Machine) -> Array:
    """Positions (A,) of the drives at home."""
    return drive_positions(machine, machine.home.position[None], machine.home.rotation_base_platform[None])[0]


@dataclass(frozen=True)
class DriveSines:
    """Sines of all drives around home, one frequency [Hz] and phase each, faded in and out.

    Of a redundant machine the drives of some legs swing, see :func:`without_redundant_legs`; the others follow.

    Attributes
    ----------
    machine : any machine with a platform
    duration, fade_in, fade_out : s
    scale : 1 swings a quarter of the stroke to either side (revolute drives: 0.3 rad)
    seed : of frequencies and phases
    condition_ratio : how many times worse than at home the condition number may become: a real machine, whose drives
        lag, passes into another assembly mode where the exact one just does not
    """

    machine: Machine
    duration: float
    scale: float = 1.0
    seed: int = 0
    fade_in: float = 3.0
    fade_out: float = 3.0
    condition_ratio: float = 3.0

    def scaled(self, factor: float) -> DriveSines:
        """Return the same sines with all amplitudes multiplied."""
        return replace(self, scale=factor * self.scale)

    def evaluate(self, times: Array) -> PlatformMotion:
        """Motion at times (N,) s, exact on the constraints.

        Raises
        ------
        KinematicsError
            The swing leaves the workspace or meets a singular configuration; names the sample.
        ArgumentError
            A redundant machine whose drives cannot swing by themselves.
        """
        times = np.asarray(times, dtype=float)
        machine, random = without_redundant_legs(self.machine), np.random.default_rng(self.seed)
        count = machine.actuated_count
        # evenly spread frequencies, so that no two drives swing alike; which drive has which is drawn
        frequency = 2.0 * np.pi * random.permutation(np.linspace(_LOWEST, _HIGHEST, count))
        angle = times[:, None] * frequency + random.uniform(0.0, 2.0 * np.pi, count)
        swing = self.scale * _swings(machine)
        wave = swing * np.sin(angle), swing * frequency * np.cos(angle), -swing * frequency**2 * np.sin(angle)
        fades = tuple(part[:, None] for part in Envelope(self.duration, self.fade_in, self.fade_out).evaluate(times))
        positions, velocities, accelerations = product((fades[0], fades[1], fades[2]), wave)
        centre = _at_home(machine)
        # as forward kinematics measures it
        condition = forward_kinematics(machine, centre).condition[0]
        return motion_from_drives(
            machine, times, centre + positions, velocities, accelerations,
            max_condition=self.condition_ratio * float(condition),
        )  # fmt: skip


def _swings(machine: Machine) -> Array:
    """Swing of each drive (A,) at scale 1."""
    swings = []
    for joint in machine.actuated_joints:
        stroke = joint.limits.upper - joint.limits.lower
        revolute = joint.kind == 'revolute'
        swings.append(_TURN_SWING if revolute or not np.isfinite(stroke) else _SWING * stroke)
    return np.array(swings)
