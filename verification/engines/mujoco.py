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

from verification.engines.result import EngineMissingError, EngineResult


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
        self.driven = np.array([model.joint(joint.name).dofadr[0] for joint in machine.actuated_joints])
        self.tips = [model.site(f'{leg.name}_tip').id for leg in machine.legs] if machine.has_platform else []
        self.anchors = [model.site(f'platform_anchor{number + 1}').id for number in range(len(self.tips))]
        self.platform = model.body(machine.platform.name).id if machine.has_platform else -1

    def place(self, joint_positions: Array, position: Array, rotation: Array) -> None:
        """Set joint positions (L, J) and the platform's pose, whatever joints carry the platform in the model."""
        mujoco, model, data = self.mujoco, self.model, self.data
        data.qpos[self.places] = joint_positions.ravel()
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

    def rows(self, dotted: bool = False) -> tuple[Array, Array]:
        """Jacobians (or their time derivatives): tips minus anchors (3 L, nv), twist of the platform (6, nv)."""
        loops = [
            self._point(tip, dotted) - self._point(anchor, dotted)
            for tip, anchor in zip(self.tips, self.anchors, strict=True)
        ]
        translation, turn = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        origin = self.data.xpos[self.platform].copy()
        jacobian = self.mujoco.mj_jacDot if dotted else self.mujoco.mj_jac
        jacobian(self.model, self.data, translation, turn, origin, self.platform)
        return np.vstack(loops), np.vstack([translation, turn])

    def _point(self, site: int, dotted: bool) -> Array:
        result = np.zeros((3, self.model.nv))
        point, body = self.data.site_xpos[site].copy(), self.model.site_bodyid[site]
        (self.mujoco.mj_jacDot if dotted else self.mujoco.mj_jac)(self.model, self.data, result, None, point, body)
        return result

    def tree_torques(self, acceleration: Array) -> Array:
        """Generalised forces (nv,) of the open tree at the current position and velocity."""
        self.data.qacc[:] = acceleration
        self.mujoco.mj_inverse(self.model, self.data)
        return np.array(self.data.qfrc_inverse)

    def solve(self, joint_positions: Array, motion: PlatformMotion, sample: int) -> tuple[Any, ...]:
        """Gap, open rate, joint rates and accelerations, drive forces, forces of the legs on the platform."""
        data, mujoco = self.data, self.mujoco
        self.place(joint_positions, motion.position[sample], motion.rotation_base_platform[sample])
        data.qvel[:] = 0.0
        mujoco.mj_forward(self.model, data)
        loops, platform = self.rows()
        gap = np.linalg.norm(data.site_xpos[self.tips] - data.site_xpos[self.anchors], axis=1).max()
        everything = np.vstack([loops, platform])
        wanted = np.concatenate([np.zeros(len(loops)), motion.twist[sample]])
        data.qvel[:] = np.linalg.lstsq(everything, wanted, rcond=None)[0]
        left_open = np.abs(everything @ data.qvel - wanted).max()
        mujoco.mj_forward(self.model, data)
        drift = np.vstack(self.rows(dotted=True)) @ data.qvel
        wanted = np.concatenate([np.zeros(len(loops)), motion.acceleration[sample]]) - drift
        acceleration = np.linalg.lstsq(everything, wanted, rcond=None)[0]
        torques = self.tree_torques(acceleration)
        drives, tips = self._project(loops, platform, torques)
        return gap, left_open, np.array(data.qvel[self.dofs]), acceleration[self.dofs], drives, -tips

    def _project(self, loops: Array, platform: Array, torques: Array) -> tuple[Array, Array]:
        selection = np.zeros((self.model.nv, len(self.driven)))
        selection[self.driven, np.arange(len(self.driven))] = 1.0
        count = len(self.tips)
        if self.machine.freedom != 'planar':
            solution = np.linalg.solve(np.hstack([selection, loops.T]), torques)
            return solution[: len(self.driven)], solution[len(self.driven) :].reshape(count, 3)
        in_plane = loops.reshape(count, 3, -1)[:, :2].reshape(2 * count, -1)
        # where the model lets the platform leave the plane, the plane's own three forces hold it
        free = self.model.nv - len(self.dofs) == 6
        columns = [selection, in_plane.T, *([platform[2:5].T] if free else [])]
        solution = np.linalg.solve(np.hstack(columns), torques)[: len(self.driven) + 2 * count]
        tips = np.hstack([solution[len(self.driven) :].reshape(count, 2), np.zeros((count, 1))])
        return solution[: len(self.driven)], tips


def mujoco_result(machine: Machine, joint_positions: Array, motion: PlatformMotion) -> EngineResult:
    """Forces of a machine with a platform by MuJoCo; joint positions (N, L, J) close its loops."""
    tree = MujocoTree(machine)
    rows = [tree.solve(joint_positions[sample], motion, sample) for sample in range(len(motion))]
    gaps, residuals, velocities, accelerations, drives, closures = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    shape = joint_positions.shape
    mass = float(np.sum(tree.model.body_mass))
    return EngineResult(
        gaps, residuals, velocities.reshape(shape), accelerations.reshape(shape), drives, closures, mass
    )


def mujoco_open_chain(machine: Machine, positions: Array, velocities: Array, accelerations: Array) -> EngineResult:
    """Joint forces (N, L, J) of a machine without a platform, without friction."""
    tree = MujocoTree(machine)
    forces = np.empty((len(positions), len(tree.dofs)))
    for sample in range(len(positions)):  # MuJoCo takes one state at a time
        tree.data.qpos[tree.places] = positions[sample].ravel()
        tree.data.qvel[tree.dofs] = velocities[sample].ravel()
        acceleration = np.zeros(tree.model.nv)
        acceleration[tree.dofs] = accelerations[sample].ravel()
        forces[sample] = tree.tree_torques(acceleration)[tree.dofs]
    none = np.zeros(len(positions))
    mass = float(np.sum(tree.model.body_mass))
    return EngineResult(
        none, none, velocities, accelerations, forces.reshape(positions.shape), np.zeros((len(positions), 0, 3)), mass
    )
