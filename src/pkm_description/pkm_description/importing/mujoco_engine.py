"""MuJoCo on the original MJCF: its equality rows, mass matrix and bias forces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.importing.engine import SourceEngine
from pkm_description.importing.graph import Link
from pkm_description.importing.mjcf_model import compiled
from pkm_description.importing.placement import Placement, angle_about


class MujocoEngine(SourceEngine):
    """A file in MuJoCo.

    Parameters
    ----------
    path : MJCF
    start : configuration (nq,)
    """

    name = 'MuJoCo'

    def __init__(self, path: Path, start: Any) -> None:
        super().__init__()
        import mujoco

        self._mujoco, self._model = mujoco, compiled(path)
        flags = mujoco.mjtDisableBit
        self._model.opt.disableflags |= (
            int(flags.mjDSBL_LIMIT) | int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_FRICTIONLOSS)
        )
        # friction and armature of balls are not part of a machine file
        for joint in range(self._model.njnt):
            if int(self._model.jnt_type[joint]) < 2:
                self._model.dof_armature[self.columns_of(joint)] = 0.0
        # else the equality rows are not there as a matrix
        self._model.opt.jacobian = int(mujoco.mjtJacobian.mjJAC_DENSE)
        self._data = mujoco.MjData(self._model)
        self.start = np.array(start)
        self._at: Any = None

    def _set(self, configuration: Any) -> None:
        if self._at is not None and np.array_equal(self._at, configuration):
            return
        self._at = np.array(configuration)
        self._data.qpos[:] = configuration
        self._data.qvel[:] = 0.0
        self._mujoco.mj_forward(self._model, self._data)

    def _joint(self, joint: str) -> int:
        index: int = self._mujoco.mj_name2id(self._model, self._mujoco.mjtObj.mjOBJ_JOINT, joint)
        return index if index >= 0 or not joint.startswith('joint') else int(joint[5:])

    def column(self, joint: str) -> int | None:
        """See the base class."""
        columns = self.columns(joint)
        return columns[0] if len(columns) == 1 else None

    def columns(self, joint: str) -> list[int]:
        """See the base class."""
        index = self._joint(joint)
        if index < 0:
            return []
        return self.columns_of(index)

    def columns_of(self, joint: int) -> list[int]:
        """Velocity columns of a joint of MuJoCo's model."""
        first = int(self._model.jnt_dofadr[joint])
        return list(range(first, first + (6, 3, 1, 1)[int(self._model.jnt_type[joint])]))

    def position(self, configuration: Any, joint: str) -> float:
        """See the base class."""
        return float(configuration[self._model.jnt_qposadr[self._joint(joint)]])

    def with_position(self, configuration: Any, joint: str, position: float) -> Any:
        """See the base class."""
        changed = np.array(configuration)
        changed[self._model.jnt_qposadr[self._joint(joint)]] = position
        return changed

    def with_motion(self, configuration: Any, link: Link, motion: Placement) -> Any:
        """See the base class."""
        joint = self._joint(link.name)
        if link.kind == 'revolute':
            return self.with_position(configuration, link.name, angle_about(link.axis, motion.rotation))
        if link.kind == 'prismatic':
            return self.with_position(configuration, link.name, float(link.axis @ motion.position))
        changed, first = np.array(configuration), int(self._model.jnt_qposadr[joint])
        if link.kind == 'free':
            changed[first : first + 3] = motion.position
            first += 3
        changed[first : first + 4] = np.roll(Rotation.from_matrix(motion.rotation).as_quat(), 1)
        return changed

    def moved(self, configuration: Any, velocity: Array) -> Any:
        """See the base class."""
        changed = np.array(configuration)
        self._mujoco.mj_integratePos(self._model, changed, np.ascontiguousarray(velocity), 1.0)
        return changed

    def file_constraints(self, configuration: Any) -> tuple[Array, Array]:
        """See the base class."""
        self._set(configuration)
        data = self._data
        matrix = np.array(data.efc_J).reshape(data.nefc, self._model.nv)
        equal = np.array(data.efc_type[: data.nefc]) == int(self._mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        return np.array(data.efc_pos[: data.nefc])[equal], matrix[equal]

    def place(self, configuration: Any, body: str) -> Placement:
        """See the base class."""
        self._set(configuration)
        seen = self._data.body(body)
        return Placement(np.array(seen.xpos), np.array(seen.xmat).reshape(3, 3))

    def spin_map(self, configuration: Any, body: str) -> Array:
        """See the base class."""
        self._set(configuration)
        spin = np.zeros((3, self._model.nv))
        self._mujoco.mj_jacBody(self._model, self._data, None, spin, self._model.body(body).id)
        return spin

    def forces(self, configuration: Any, velocity: Array, acceleration: Array) -> Array:
        """See the base class."""
        self._at = None
        self._data.qpos[:], self._data.qvel[:] = configuration, velocity
        self._mujoco.mj_forward(self._model, self._data)
        needed = np.zeros(self._model.nv)
        self._mujoco.mj_mulM(self._model, self._data, needed, np.ascontiguousarray(acceleration))
        model, turning = self._model, np.zeros(self._model.nv)
        for joint in range(model.njnt):
            if int(model.jnt_type[joint]) >= 2:
                turning[int(model.jnt_dofadr[joint])] = 1.0
        damping = np.array(model.dof_damping).reshape(model.nv, -1)[:, 0]
        friction = turning * (damping * velocity + np.array(model.dof_frictionloss) * np.sign(velocity))
        needed += np.array(self._data.qfrc_bias) + friction
        return needed
