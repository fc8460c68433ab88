"""Sinusoidal motion of the drives, for machines with any number of degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics.drive_motion import motion_from_drives
from pkm_description.kinematics.drives import drive_positions
from pkm_description.kinematics.forward import forward_kinematics
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.envelope import Envelope, product

#: part of the stroke (or of a turn) that the drives swing to either side at scale 1, and their frequencies
_SWING, _TURN_SWING = 0.25, 0.3
_LOWEST, _HIGHEST = 0.25, 0.6


@dataclass(frozen=True)
class DriveSines:
    """Sines of all drives around home, one frequency [Hz] and phase each, faded in and out.

    Attributes
    ----------
    machine : any machine with a platform and one drive per degree of freedom
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

    def evaluate(self, times: Array) -> PlatformMotion:
        """Motion at times (N,) s, exact on the constraints.

        Raises
        ------
        KinematicsError
            The swing leaves the workspace or meets a singular configuration; names the sample.
        """
        times = np.asarray(times, dtype=float)
        machine, random = self.machine, np.random.default_rng(self.seed)
        count = machine.actuated_count
        # evenly spread frequencies, so that no two drives swing alike; which drive has which is drawn
        frequency = 2.0 * np.pi * random.permutation(np.linspace(_LOWEST, _HIGHEST, count))
        angle = times[:, None] * frequency + random.uniform(0.0, 2.0 * np.pi, count)
        swing = self.scale * self._swings()
        wave = swing * np.sin(angle), swing * frequency * np.cos(angle), -swing * frequency**2 * np.sin(angle)
        fades = tuple(part[:, None] for part in Envelope(self.duration, self.fade_in, self.fade_out).evaluate(times))
        positions, velocities, accelerations = product((fades[0], fades[1], fades[2]), wave)
        home = machine.home
        centre = drive_positions(machine, home.position[None], home.rotation_base_platform[None])[0]
        # as forward kinematics measures it
        condition = forward_kinematics(machine, centre).condition[0]
        return motion_from_drives(
            machine, times, centre + positions, velocities, accelerations,
            max_condition=self.condition_ratio * float(condition),
        )  # fmt: skip

    def _swings(self) -> Array:
        """Swing of each drive (A,) at scale 1."""
        swings = []
        for joint in self.machine.actuated_joints:
            stroke = joint.limits.upper - joint.limits.lower
            revolute = joint.kind == 'revolute'
            swings.append(_TURN_SWING if revolute or not np.isfinite(stroke) else _SWING * stroke)
        return np.array(swings)
