"""Friction of passive hinges that grows with the force in them, by MuJoCo's own joint forces."""

from __future__ import annotations

from typing import Any

import numpy as np
from pkm_description.machine import Machine

#: rad/s in which friction changes its sign, so that a step does not throw a hinge back and forth
TURN = 1e-3


class PassiveFriction:
    """Torques ``-radius |force across the axis| tanh(rate / TURN)`` in all hinges without a drive.

    The force is the one between the two bodies, of the step before, with the forces of the loops' closures in it
    (``mj_rnePostConstraint``).

    Parameters
    ----------
    mujoco, model : of the machine
    machine : whose hinges they are
    radius : m, coefficient of friction times radius of the bearing
    """

    def __init__(self, mujoco: Any, model: Any, machine: Machine, radius: float) -> None:
        self._mujoco, self._model, self._radius = mujoco, model, radius
        hinges = [joint.name for joint in machine.joints if joint.kind == 'revolute' and not joint.actuated]
        self._joints = np.array([model.joint(name).id for name in hinges], dtype=int)
        self._freedoms = model.jnt_dofadr[self._joints]
        self._bodies = model.jnt_bodyid[self._joints]

    def apply(self, data: Any) -> None:
        """Write the torques of the next step into MuJoCo's data."""
        self._mujoco.mj_rnePostConstraint(self._model, data)
        forces, axes = data.cfrc_int[self._bodies, 3:], data.xaxis[self._joints]
        across = np.linalg.norm(forces - (forces * axes).sum(axis=1, keepdims=True) * axes, axis=1)
        data.qfrc_applied[self._freedoms] = -self._radius * across * np.tanh(data.qvel[self._freedoms] / TURN)
