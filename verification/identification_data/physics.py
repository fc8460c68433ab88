"""A machine in MuJoCo, led along a motion by a servo, with friction of our own in its drives."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from pkm_bringup.simulation.mujoco_simulation import PlatformPayload
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import PkmError
from pkm_description.export.mjcf import mjcf_text
from pkm_description.kinematics import joint_motion
from pkm_description.machine import Machine, PlatformMotion, RigidBody
from pkm_description.machine.machine import closure_ends

from verification.identification_data.friction import DriveFriction, drive_forces

#: Hz, of the servo; its damping ratio is 1
BANDWIDTH = 15.0
#: s, the machine is held at the first pose before the recording begins
SETTLING = 0.5
#: part of the velocity limit in which the feed-forward of Coulomb friction changes its sign
_TURN = 0.01
#: rad/s in which friction of a hinge changes its sign, so that a step does not throw it back and forth
_HINGE_TURN = 1e-3


class DataSetError(PkmError):
    """Data that cannot be simulated."""


@dataclass(frozen=True)
class Run:
    """What happened in the drives, without sensors.

    Attributes
    ----------
    time : (N,) s
    positions, velocities : (N, A) m or rad, m/s or rad/s
    efforts : (N, A) N or N m, of the motors: the mean of the steps before and after the instant, which belongs to it
    friction : (N, A) of the same kind
    closure_gap : m, the largest distance by which a loop was open
    saturated : (A,) steps with the largest effort
    """

    time: Array
    positions: Array
    velocities: Array
    efforts: Array
    friction: Array
    closure_gap: float
    saturated: Array


@dataclass(frozen=True)
class Happening:
    """What changes on the way.

    Attributes
    ----------
    payload : put on the platform; ``None``: nothing
    since : s, when it is put there
    friction : factor, or one for each drive (A,), by which viscous and Coulomb friction grow, steadily from the begin
        to the end
    """

    payload: RigidBody | None = None
    since: float = np.inf
    friction: float | Array = 1.0


#: the machine stays as it is
NOTHING = Happening()


class Physics:
    """MuJoCo's model of a machine: its drives' own friction is switched off, passive joints keep theirs.

    Parameters
    ----------
    machine : bodies and geometry
    step : s
    passive_radius : m, of friction by load in passive hinges, see :class:`PassiveFriction`
    """

    def __init__(self, machine: Machine, step: float, passive_radius: float = 0.0) -> None:
        self.mujoco: Any = importlib.import_module('mujoco')
        self.machine, self.step = machine, step
        self.model = self.mujoco.MjModel.from_xml_string(mjcf_text(machine, step))
        self.data = self.mujoco.MjData(self.model)
        joints = [self.model.joint(joint.name) for joint in machine.actuated_joints]
        self._positions = np.array([joint.qposadr[0] for joint in joints])
        self._velocities = np.array([joint.dofadr[0] for joint in joints])
        self.model.dof_damping[self._velocities] = 0.0
        self.model.dof_frictionloss[self._velocities] = 0.0
        self.model.actuator_ctrllimited[:] = 0
        ends = closure_ends(machine)
        self._tips = np.array([self.model.site(end.tip).id for end in ends], dtype=int)
        self._anchors = np.array([self.model.site(end.anchor).id for end in ends], dtype=int)
        self.drive_inertia = self._drive_inertia()
        self._passive = (
            PassiveFriction(self.mujoco, self.model, machine, passive_radius) if passive_radius > 0.0 else None
        )

    def _reset(self) -> None:
        self.mujoco.mj_resetDataKeyframe(self.model, self.data, self.model.key('home').id)
        self.mujoco.mj_forward(self.model, self.data)

    def _drive_inertia(self) -> Array:
        """Inertia (A,) that each drive feels at home while the others are held: from the answers to unit efforts."""
        self._reset()
        rest, hold = self.data.qacc[self._velocities].copy(), self.data.ctrl.copy()
        answers = []
        for drive in range(len(hold)):
            self.data.ctrl[:] = hold
            self.data.ctrl[drive] += 1.0
            self.mujoco.mj_forward(self.model, self.data)
            answers.append(self.data.qacc[self._velocities] - rest)
        return np.diag(np.linalg.pinv(np.array(answers), rcond=1e-6)).copy()

    def run(self, motion: PlatformMotion, believed: Machine, friction: DriveFriction, happening: Happening) -> Run:
        """Lead the machine along a motion that begins at rest at home, one sample per step.

        Parameters
        ----------
        believed : machine of the servo's feed-forward
        happening : what changes on the way

        Raises
        ------
        DataSetError
            The machine is lost: it does not follow the motion.
        """
        wanted = joint_motion(believed, motion)
        columns = believed.drive_columns
        positions, velocities = wanted.positions[:, columns], wanted.velocities[:, columns]
        fastest = np.array([joint.limits.velocity for joint in believed.actuated_joints])
        turn = _TURN * np.where(np.isfinite(fastest), fastest, 1.0)
        rubbing = np.array([[joint.friction.viscous, joint.friction.coulomb] for joint in believed.actuated_joints])
        feedforward = inverse_dynamics(believed, motion, friction=False)
        feedforward += rubbing[:, 0] * velocities + rubbing[:, 1] * np.tanh(velocities / turn)
        reference = np.stack([positions, velocities, feedforward], axis=1)
        settling = round(SETTLING / self.step)
        reference = np.concatenate([np.repeat(reference[:1], settling, axis=0), reference])
        record, gap, saturated = self._steps(reference, friction, settling, happening)
        lost = np.abs(record[:, 0] - positions).max() > 0.05 * np.ptp(positions)
        if lost or not np.isfinite(record).all():
            raise DataSetError(
                f'{self.machine.name}: the simulated machine does not follow the motion: position error '
                f'{np.abs(record[:, 0] - positions).max():.3g}; try a smaller step, or less friction'
            )
        return Run(motion.time.copy(), record[:, 0], record[:, 1], record[:, 2], record[:, 3], gap, saturated)

    def _steps(
        self, reference: Array, friction: DriveFriction, settling: int, happening: Happening
    ) -> tuple[Array, float, Array]:
        """Record (N, 4, A) of positions, velocities, efforts, friction; gap; saturated steps."""
        self._reset()
        data, step = self.data, self.step
        frequency = 2.0 * np.pi * BANDWIDTH
        drives = self.machine.actuated_joints
        servo = np.array([
            self.drive_inertia * frequency**2,
            2.0 * self.drive_inertia * frequency,
            [joint.limits.effort for joint in drives],
            [joint.rotor_inertia for joint in drives],
        ])  # fmt: skip
        table, memory = friction.table(), np.zeros((6, len(drives)))
        memory[2] = data.ctrl
        record, gap = np.empty((len(reference), 4, len(drives))), 0.0
        last = (len(reference) - settling) * step
        before = memory[2:4].copy()
        growth = np.ones_like(table)
        growth[:3] = happening.friction
        grows = bool((growth != 1.0).any())
        payload = PlatformPayload(self.machine, self.model)
        for index in range(len(reference)):
            time = (index - settling) * step
            if payload.body is None and time >= happening.since:
                payload.put(happening.payload)
            grown = table * growth ** max(time / last, 0.0) if grows else table
            positions, velocities = data.qpos[self._positions], data.qvel[self._velocities]
            drive_forces(grown, servo, reference[index], positions, velocities, memory, step)
            now = record[index]
            now[0], now[1], now[2:4] = positions, velocities, 0.5 * (before + memory[2:4])
            before[:] = memory[2:4]
            data.ctrl[:] = before[0]
            data.qfrc_applied[self._velocities] = -before[1]
            if self._passive is not None:
                self._passive.apply(data)
            self.mujoco.mj_step(self.model, data)
            if index % 20 == 0 and len(self._tips):
                apart = data.site_xpos[self._tips] - data.site_xpos[self._anchors]
                gap = max(gap, float(np.sqrt((apart * apart).sum(axis=1)).max()))
        payload.put(None)  # the next run begins without
        return record[settling:], gap, memory[5].copy()


class PassiveFriction:
    """Torques ``-radius |force across the axis| tanh(rate / _HINGE_TURN)`` in all hinges without a drive.

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
        data.qfrc_applied[self._freedoms] = -self._radius * across * np.tanh(data.qvel[self._freedoms] / _HINGE_TURN)
