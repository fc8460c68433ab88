"""Tilts of ball joints in their cones along a motion, and their derivatives."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.joint_limits import ball_joint_studs, tilt_limits
from pkm_description.kinematics.joint_motion import JointMotion
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine, PlatformMotion

from pkm_identification.excitation.coordinates import Mover
from pkm_identification.excitation.joint_rates import JointRates, body_turns


class Tilts:
    """Ball joints with cones; their use is ``(1 - cos tilt) / (1 - cos cone)``, which is smooth where a tilt is zero.

    Attributes
    ----------
    names : K ball joints
    """

    def __init__(self, machine: Machine, motion: PlatformMotion, joints: JointMotion) -> None:
        self._machine, self._motion, self._joints = machine, motion, joints
        legs = close_legs(machine, motion.position, motion.rotation_base_platform, joints.positions)
        home = close_legs(machine, machine.home.position[None], machine.home.rotation_base_platform[None])
        limits = tilt_limits(machine, home, 1)
        self._chosen = np.flatnonzero(np.isfinite(limits.upper))
        self.names = tuple(limits.joints[place] for place in self._chosen)
        self._room = 1.0 - np.cos(limits.upper[self._chosen])
        self._studs = ball_joint_studs(legs)[:, self._chosen]
        self._at_home = ball_joint_studs(home)[:, self._chosen]

    def uses(self) -> Array:
        """Use (N, K)."""
        return np.asarray((1.0 - np.sum(self._studs * self._at_home, axis=-1)) / self._room)

    def slope(self, rates: JointRates, move: Mover) -> Array:
        """Derivative (N, K, C) of the uses by the coordinates.

        The stud's direction in the other body turns with the difference of both bodies' angular velocities.
        """
        machine, positions = self._machine, self._joints.positions
        count, coordinates = len(positions), rates.first.shape[2]
        still = np.zeros((count, coordinates))
        platform = np.empty((count, coordinates, 3))
        for k in range(coordinates):
            unit = still.copy()
            unit[:, k] = 1.0
            platform[:, k] = move(np.zeros(count), unit, still).angular_velocity
        turns, rotations = body_turns(machine, positions, rates.first, platform, self._motion.rotation_base_platform)
        balls = np.flatnonzero([closure.kind == 'ball' for closure in machine.closures])[self._chosen]
        body, other = machine.model.closure_body[balls], machine.model.closure_other[balls]
        to_base = rotations[:, other]
        studs, at_home = ((to_base @ one[..., None])[..., 0] for one in (self._studs, self._at_home))
        spin = turns[:, body] - turns[:, other]
        change = np.sum(cross(spin, studs[:, :, None]) * at_home[:, :, None], axis=-1)
        return np.asarray(-change / self._room[:, None])
