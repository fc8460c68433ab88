"""Forces of a machine from its MJCF model in MuJoCo.

MuJoCo's constraint solver is soft by design, so its own constraint forces cannot serve as an exact reference. The
inverse dynamics of its open tree (``mj_inverse`` without constraints) and the Jacobians of its sites are exact; the
closures enter as multipliers, ``tau = S^T f + J_c^T lambda``. MuJoCo is imported when a model is built, so the package
runs without it.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.export.mjcf import mjcf_text
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.machine.machine import ClosureEnd, closure_ends

from verification.engines.projection import (
    EngineMissingError,
    EngineResult,
    Projection,
    closure_rows,
    closure_wrench,
    idle_joints,
    perpendicular_axes,
    position_rows,
    project,
    turning_drift,
    turning_gap,
)


class MujocoTree:
    """The exported model with friction, damping and constraints switched off.

    Raises
    ------
    EngineMissingError
        MuJoCo is not installed.
    """

    def __init__(self, machine: Machine) -> None:
        try:
            mujoco = importlib.import_module('mujoco')
        except ImportError:
            raise EngineMissingError('MuJoCo is not installed: pip install mujoco') from None
        if not hasattr(mujoco, 'mj_jacDot'):
            raise EngineMissingError('MuJoCo is older than 3.2.3: pip install --upgrade mujoco')
        self.mujoco: Any = mujoco
        self.machine = machine
        model = mujoco.MjModel.from_xml_string(mjcf_text(machine))
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        model.dof_damping[:] = 0.0
        model.dof_frictionloss[:] = 0.0
        model.jnt_stiffness[:] = 0.0
        self.model, self.data = model, mujoco.MjData(model)
        joints = [model.joint(name) for name in machine.joint_names]
        self.places = np.array([joint.qposadr[0] for joint in joints])
        self.dofs = np.array([joint.dofadr[0] for joint in joints])
        self.driven, self.idle = self.dofs[machine.drive_columns], self.dofs[idle_joints(machine)]
        self.cuts = [_Cut(model, end, machine.planar) for end in closure_ends(machine)]
        self.platform = model.body(machine.platform.name).id if machine.has_platform else -1

    def place(self, joint_positions: Array, position: Array, rotation: Array) -> None:
        """Set joint positions (J,) and the platform's pose, whatever joints carry the platform in the model."""
        mujoco, model, data = self.mujoco, self.model, self.data
        data.qpos[self.places] = joint_positions
        x, y, z, w = quaternion_from_matrix(rotation)
        first = model.body_jntadr[self.platform]
        for joint in range(first, first + model.body_jntnum[self.platform]):
            start, kind, axis = model.jnt_qposadr[joint], model.jnt_type[joint], model.jnt_axis[joint]
            if kind == mujoco.mjtJoint.mjJNT_SLIDE:
                data.qpos[start] = axis @ (position - model.body_pos[self.platform])
            elif kind == mujoco.mjtJoint.mjJNT_HINGE:
                data.qpos[start] = 2.0 * np.arctan2(axis @ np.array([x, y, z]), w)
            elif kind == mujoco.mjtJoint.mjJNT_BALL:
                data.qpos[start : start + 4] = [w, x, y, z]
            else:
                data.qpos[start : start + 7] = [*position, w, x, y, z]
        for cut in self.cuts:  # crosses of universal joints, which are not ours
            if cut.cross >= 0:
                data.qpos[cut.cross] = 0.0
                mujoco.mj_kinematics(model, data)
                tip, anchor = self._axes(cut)
                _, cosine, sine = tip.T @ anchor[:, 1]
                data.qpos[cut.cross] = np.arctan2(sine, cosine)

    def _axes(self, cut: _Cut) -> tuple[Array, Array]:
        tip, anchor = (self.data.site_xmat[site].reshape(3, 3).copy() for site in (cut.tip, cut.anchor))
        return tip, anchor

    def rows(self, dotted: bool = False) -> tuple[Array, Array]:
        """Jacobians (or their time derivatives): of the closures (C, nv), of the platform's twist (6, nv)."""
        planar, data = self.machine.planar, self.data
        loops = []
        for cut in self.cuts:
            difference = self._frame(cut.tip, dotted) - self._frame(cut.anchor, dotted)
            loops.append(closure_rows(cut.pairs, planar, *self._axes(cut), difference))
        translation, turn = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        jacobian = self.mujoco.mj_jacDot if dotted else self.mujoco.mj_jac
        jacobian(self.model, data, translation, turn, data.xpos[self.platform].copy(), self.platform)
        return np.vstack(loops), np.vstack([translation, turn])

    def _frame(self, site: int, dotted: bool) -> Array:
        translation, turn = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        point, body = self.data.site_xpos[site].copy(), self.model.site_bodyid[site]
        jacobian = self.mujoco.mj_jacDot if dotted else self.mujoco.mj_jac
        jacobian(self.model, self.data, translation, turn, point, body)
        return np.vstack([translation, turn])

    def _drift(self) -> Array:
        """Second derivatives (C + 6,) of the closures' equations and of the platform's pose that velocities make."""
        velocity = np.array(self.data.qvel)
        loops, platform = self.rows(dotted=True)
        drift, row = loops @ velocity, 0
        for cut in self.cuts:
            row += position_rows(self.machine.planar)
            spins = [self._frame(site, False)[3:] @ velocity for site in (cut.tip, cut.anchor)]
            drift[row : row + len(cut.pairs)] += turning_drift(cut.pairs, *self._axes(cut), *spins)
            row += len(cut.pairs)
        return np.concatenate([drift, platform @ velocity])

    def gap(self) -> float:
        """Largest distance [m], or cosine, by which a closure is open."""
        gaps = []
        for cut in self.cuts:
            gaps.append(float(np.linalg.norm(self.data.site_xpos[cut.tip] - self.data.site_xpos[cut.anchor])))
            gaps.append(turning_gap(cut.pairs, *self._axes(cut)))
        return max(gaps)

    def tree_torques(self, acceleration: Array) -> Array:
        """Generalised forces (nv,) of the open tree at the current position and velocity."""
        self.data.qacc[:] = acceleration
        self.mujoco.mj_inverse(self.model, self.data)
        return np.array(self.data.qfrc_inverse)

    def solve(self, joint_positions: Array, motion: PlatformMotion, sample: int) -> tuple[Any, ...]:
        """Gap, open rate, joint rates and accelerations, drive forces, wrenches of the closures, whether determined."""
        data, mujoco = self.data, self.mujoco
        self.place(joint_positions, motion.position[sample], motion.rotation_base_platform[sample])
        data.qvel[:] = 0.0
        mujoco.mj_forward(self.model, data)
        loops, platform = self.rows()
        gap, still = self.gap(), np.eye(self.model.nv)[self.idle]
        everything = np.vstack([loops, platform, still])
        wanted = np.concatenate([np.zeros(len(loops)), motion.twist[sample], np.zeros(len(still))])
        data.qvel[:] = np.linalg.lstsq(everything, wanted, rcond=None)[0]
        left_open = np.abs(everything @ data.qvel - wanted).max()
        mujoco.mj_forward(self.model, data)
        wanted = np.concatenate([np.zeros(len(loops)), motion.acceleration[sample], np.zeros(len(still))])
        wanted[: len(loops) + 6] -= self._drift()
        acceleration = np.linalg.lstsq(everything, wanted, rcond=None)[0]
        found = self._project(loops, platform, self.tree_torques(acceleration))
        wrenches, row = [], 0
        for cut in self.cuts:
            count = position_rows(self.machine.planar) + len(cut.pairs)
            own = found.multipliers[row : row + count]
            wrenches.append(closure_wrench(cut.pairs, self.machine.planar, *self._axes(cut), -own))
            row += count
        forces, moments = zip(*wrenches, strict=True)
        return (
            gap, left_open, np.array(data.qvel[self.dofs]), acceleration[self.dofs], found.drives, np.array(forces),
            np.array(moments), found.determined,
        )  # fmt: skip

    def _project(self, loops: Array, platform: Array, torques: Array) -> Projection:
        if self.machine.planar and self.model.nv - len(self.dofs) == 6:
            # where the model lets the platform leave the plane, the plane's own three forces hold it
            loops = np.vstack([loops, platform[2:5]])
        return project(torques, self.driven, self.idle, loops, self.machine.model.drive_weight)


class _Cut:
    """A closure: sites of the model on both sides, their axes that stay perpendicular, and its cross, if any."""

    def __init__(self, model: Any, end: ClosureEnd, planar: bool) -> None:
        self.tip, self.anchor = model.site(end.tip).id, model.site(end.anchor).id
        self.cross = -1
        self.pairs = perpendicular_axes(end.closure, planar)
        if end.closure.kind == 'universal':
            # the cross stands on the leg's body and turns about the y axis of the other one
            self.cross = int(model.joint(f'{end.closure.name}_cross').qposadr[0])
            self.pairs = ((0, 1), (2, 1))


def mujoco_result(machine: Machine, joint_positions: Array, motion: PlatformMotion) -> EngineResult:
    """Forces of a machine with a platform by MuJoCo; joint positions (N, J) close its loops."""
    tree = MujocoTree(machine)
    rows = [tree.solve(joint_positions[sample], motion, sample) for sample in range(len(motion))]
    gaps, residuals, velocities, accelerations, drives, forces, moments, determined = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    mass = float(np.sum(tree.model.body_mass)) - added_mass(machine, tree.model)
    return EngineResult(
        gaps, residuals, velocities, accelerations, drives, forces, moments, mass, bool(determined.all())
    )


def added_mass(machine: Machine, model: Any) -> float:
    """Mass [kg] that the model has and the machine has not: of crosses, and of bodies without mass."""
    crosses = [end.link for end in closure_ends(machine) if end.closure.kind == 'universal']
    bodies = {model.body(number).name for number in range(model.nbody)}
    light = [joint.body.name for joint in machine.joints if joint.body.mass == 0.0 and joint.body.name in bodies]
    return float(sum(model.body(name).mass[0] for name in [*crosses, *light]))


def mujoco_open_chain(machine: Machine, positions: Array, velocities: Array, accelerations: Array) -> EngineResult:
    """Joint forces (N, J) of a machine without a platform, without friction."""
    tree = MujocoTree(machine)
    forces = np.empty((len(positions), len(tree.dofs)))
    for sample in range(len(positions)):  # MuJoCo takes one state at a time
        tree.data.qpos[tree.places] = positions[sample]
        tree.data.qvel[tree.dofs] = velocities[sample]
        acceleration = np.zeros(tree.model.nv)
        acceleration[tree.dofs] = accelerations[sample]
        forces[sample] = tree.tree_torques(acceleration)[tree.dofs]
    none, nothing = np.zeros(len(positions)), np.zeros((len(positions), 0, 3))
    mass = float(np.sum(tree.model.body_mass))
    return EngineResult(none, none, velocities, accelerations, forces, nothing, nothing, mass)
