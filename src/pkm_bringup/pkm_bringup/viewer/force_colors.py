"""Leg forces as colours: blue pulls, orange pushes, red is at the drive's limit."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces
from pkm_description.machine import Machine

#: no force; the strongest pull and push; from :data:`AT_LIMIT` of the limit on
NEUTRAL, PULL, PUSH, LIMIT = (np.array(color) for color in ([0.8, 0.82, 0.85], [0.0, 0.35, 0.8], [0.95, 0.55, 0.0],
                                                            [0.8, 0.0, 0.1]))  # fmt: skip
AT_LIMIT = 0.95
#: the colour is full at so many times the force that holds the machine at home
_FULL = 2.5


class ForceColors:
    """Colours of the drives' legs of one machine.

    Forces far below their limits differ visibly, too: the scale is the force that holds the machine at home, where
    that is smaller than the limit.

    Parameters
    ----------
    machine : any machine with a platform

    Attributes
    ----------
    limits : (A,) N or N m, infinite where the machine file states none
    """

    def __init__(self, machine: Machine) -> None:
        home = machine.home
        held = np.abs(gravity_forces(machine, home.position[None], home.rotation_base_platform[None])[0])
        self.limits = np.array([joint.limits.effort for joint in machine.actuated_joints])
        bounded = np.where(np.isfinite(self.limits), self.limits, np.inf)
        full = _FULL * float(held.max(initial=0.0))
        # across gravity (planar machines) nothing holds the machine: the limits are the scale
        self._full = np.minimum(bounded, full if full > 0.0 else np.inf)
        self._full[~np.isfinite(self._full)] = 1.0

    def __call__(self, forces: Array) -> Array:
        """Colours (A, 3), from 0 to 1, of forces (A,) N or N m; NaN is neutral."""
        part = np.clip(np.nan_to_num(forces / self._full), -1.0, 1.0)[:, None]
        colors = NEUTRAL + np.abs(part) * (np.where(part > 0.0, PUSH, PULL) - NEUTRAL)
        with np.errstate(invalid='ignore'):
            colors[np.abs(forces) >= AT_LIMIT * self.limits] = LIMIT
        return np.asarray(colors)
