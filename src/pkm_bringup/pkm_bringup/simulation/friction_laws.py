"""Friction laws that MuJoCo does not have, as forces beside its viscous and dry friction."""

from __future__ import annotations

from typing import Any

import numpy as np
from pkm_description.friction_laws import FrictionLaw, Sign
from pkm_description.machine import Machine

#: m/s or rad/s, in which the difference of two laws changes its sign
_FADE = 1e-3


class FrictionCorrections:
    """Force of each joint's law less that of the pair which MuJoCo has in its place (its nearest one).

    MuJoCo's own dry friction sticks and slips; what is left to do is small and smooth. Load-dependent laws are left
    out, because MuJoCo does not tell the load of a joint: they stay at their nearest pair.

    Parameters
    ----------
    machine : joints and laws
    model : MuJoCo's model of it

    Attributes
    ----------
    left_out : names of joints whose law is not simulated
    """

    def __init__(self, machine: Machine, model: Any) -> None:
        self.left_out: list[str] = []
        self._laws: list[tuple[int, FrictionLaw, float, float]] = []
        for joint in machine.joints:
            if joint.friction.is_viscous_coulomb:
                continue
            if joint.friction.law.needs_load:
                self.left_out.append(joint.name)
                continue
            law = joint.friction.law.with_sign(Sign('tanh', _FADE))
            dof = int(model.joint(joint.name).dofadr[0])
            self._laws.append((dof, law, joint.friction.viscous, joint.friction.coulomb))

    def apply(self, data: Any) -> None:
        """Set the forces for the velocities of now."""
        for dof, law, viscous, coulomb in self._laws:
            velocity = data.qvel[dof]
            near = viscous * velocity + coulomb * np.tanh(velocity / _FADE)
            data.qfrc_applied[dof] = near - float(law.force(velocity))
