"""A file in an engine of its own: closed loops and drive forces without the suite's mechanics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.importing.formats.mjcf import compiled
from pkm_description.importing.graph import Link, Placement, angle_about, universal_angles

#: step [rad, m] of the difference that gives the change of the constraints' Jacobian
_STEP = 2e-4


@dataclass(frozen=True)
class TurnRow:
    """Axes (3,) of two bodies that stay perpendicular: what holds the idle turn of a rod between two balls."""

    first: str
    axis: Array
    second: str
    second_axis: Array


class SourceEngine(ABC):
    """Mechanics of a file: a tree with constraints. Configurations are the engine's own (nq,), velocities (nv,).

    Attributes
    ----------
    name : of the engine
    start : configuration at the start (nq,)
    """

    name = ''
    start: Any

    def __init__(self) -> None:
        self.turn_rows: tuple[TurnRow, ...] = ()
        self._at: Any = None

    def column(self, joint: str) -> int | None:
        """Return the velocity column of a joint of one degree of freedom; None where there is no such joint."""
        columns = self.columns(joint)
        return columns[0] if len(columns) == 1 else None

    def _set(self, configuration: Any) -> None:
        """Place the bodies, unless they are there already."""
        if self._at is None or not np.array_equal(self._at, configuration):
            self._at = np.array(configuration)
            self._place_bodies(self._at)

    @abstractmethod
    def _place_bodies(self, configuration: Any) -> None:
        """Compute poses and Jacobians of all bodies."""

    @abstractmethod
    def columns(self, joint: str) -> list[int]:
        """Velocity columns of a joint of any kind; none where there is no such joint."""

    @abstractmethod
    def position(self, configuration: Any, joint: str) -> float:
        """Position [rad, m] of a joint of one degree of freedom."""

    @abstractmethod
    def with_position(self, configuration: Any, joint: str, position: float) -> Any:
        """Return the configuration with another position of such a joint."""

    def with_motion(self, configuration: Any, link: Link, motion: Placement) -> Any:
        """Return the configuration in which a joint of any kind has a motion (its second frame in its first)."""
        if link.kind == 'revolute':
            return self.with_position(configuration, link.name, angle_about(link.axis, motion.rotation))
        if link.kind == 'prismatic':
            return self.with_position(configuration, link.name, float(link.axis @ motion.position))
        changed, first = np.array(configuration), self._first_position(link.name)
        if link.kind == 'universal':
            changed[first : first + 2] = universal_angles(link.axis, link.second_axis, motion.rotation)
            return changed
        if link.kind == 'free':
            changed[first : first + 3] = motion.position
            first += 3
        changed[first : first + 4] = np.roll(Rotation.from_matrix(motion.rotation).as_quat(), self._scalar_first)
        return changed

    #: whether quaternions begin with their real part
    _scalar_first = False

    @abstractmethod
    def _first_position(self, joint: str) -> int:
        """Place of a joint in the configuration."""

    @abstractmethod
    def moved(self, configuration: Any, velocity: Array) -> Any:
        """Return the configuration after a unit of time with a velocity (nv,)."""

    @abstractmethod
    def file_constraints(self, configuration: Any) -> tuple[Array, Array]:
        """Gaps (R,) of the file's loops, and their Jacobian (R, nv)."""

    @abstractmethod
    def place(self, configuration: Any, body: str) -> Placement:
        """Pose of a body of the file in the base."""

    @abstractmethod
    def spin_map(self, configuration: Any, body: str) -> Array:
        """Spin of a body per velocity (3, nv), base axes."""

    @abstractmethod
    def forces(self, configuration: Any, velocity: Array, acceleration: Array) -> Array:
        """Generalized forces (nv,) that the tree needs, friction of joints included."""

    def constraints(self, configuration: Any) -> tuple[Array, Array]:
        """Gaps and Jacobian of the file's loops and of the turns that are held."""
        gaps, matrix = self.file_constraints(configuration)
        for row in self.turn_rows:
            u = self.place(configuration, row.first).rotation @ row.axis
            v = self.place(configuration, row.second).rotation @ row.second_axis
            moment = np.cross(u, v)
            difference = self.spin_map(configuration, row.first) - self.spin_map(configuration, row.second)
            gaps, matrix = np.append(gaps, u @ v), np.vstack([matrix, moment @ difference])
        return gaps, matrix

    def jacobian_rate(self, configuration: Any, velocity: Array) -> Array:
        """Change of the constraints' Jacobian along a velocity, times the velocity (R,)."""

        def difference(step: float) -> Array:
            ahead = self.constraints(self.moved(configuration, step * velocity))[1]
            behind = self.constraints(self.moved(configuration, -step * velocity))[1]
            rate: Array = (ahead - behind) @ velocity / (2.0 * step)
            return rate

        return (4.0 * difference(0.5 * _STEP) - difference(_STEP)) / 3.0


@dataclass(frozen=True)
class SourceMotion:
    """Closed configuration, with the map from drive rates to all velocities (nv, A)."""

    configuration: Any
    gap: float
    per_drive: Array
    active: Array


def closed(engine: SourceEngine, configuration: Any, moving: Sequence[int], drives: Sequence[int]) -> SourceMotion:
    """Close the file's loops with the drives where they are; other columns than ``moving`` do not move."""
    passive = [column for column in moving if column not in drives]
    gap = np.inf
    for _ in range(60):
        gaps, matrix = engine.constraints(configuration)
        active = np.abs(matrix[:, list(moving)]).max(axis=1, initial=0.0) > 1e-9
        gap = float(np.abs(gaps[active]).max(initial=0.0))
        step = np.zeros(matrix.shape[1])
        step[passive] = -np.linalg.lstsq(matrix[np.ix_(active, passive)], gaps[active], rcond=1e-7)[0]
        largest = float(np.abs(step).max(initial=0.0))
        configuration = engine.moved(configuration, step * min(1.0, 0.3 / largest) if largest > 0.0 else step)
        if largest < 1e-13:
            break
    gaps, matrix = engine.constraints(configuration)
    gap = float(np.abs(gaps[active]).max(initial=0.0))
    per_drive = np.zeros((matrix.shape[1], len(drives)))
    per_drive[list(drives)] = np.eye(len(drives))
    rows = matrix[active]
    per_drive[passive] = -np.linalg.lstsq(rows[:, passive], rows[:, list(drives)], rcond=1e-7)[0]
    return SourceMotion(configuration, gap, per_drive, active)


def drive_forces(
    engine: SourceEngine,
    motion: SourceMotion,
    moving: Sequence[int],
    drives: Sequence[int],
    rates: Array,
    accelerations: Array,
) -> Array:
    """Forces of the drives (A,) for their rates and accelerations (A,): the tree's, on what the loops admit."""
    passive = [column for column in moving if column not in drives]
    velocity = motion.per_drive @ rates
    rows = engine.constraints(motion.configuration)[1][motion.active]
    bias = engine.jacobian_rate(motion.configuration, velocity)[motion.active]
    acceleration = np.zeros(len(velocity))
    acceleration[list(drives)] = accelerations
    acceleration[passive] = -np.linalg.lstsq(
        rows[:, passive], bias + rows[:, list(drives)] @ accelerations, rcond=1e-7
    )[0]
    needed: Array = motion.per_drive.T @ engine.forces(motion.configuration, velocity, acceleration)
    return needed


class MujocoEngine(SourceEngine):
    """A file in MuJoCo.

    Parameters
    ----------
    path : MJCF
    start : configuration (nq,)
    """

    name = 'MuJoCo'
    _scalar_first = True

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

    def _place_bodies(self, configuration: Any) -> None:
        self._data.qpos[:] = configuration
        self._data.qvel[:] = 0.0
        self._mujoco.mj_forward(self._model, self._data)

    def _joint(self, joint: str) -> int:
        index: int = self._mujoco.mj_name2id(self._model, self._mujoco.mjtObj.mjOBJ_JOINT, joint)
        return index if index >= 0 or not joint.startswith('joint') else int(joint[5:])

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
        return float(configuration[self._first_position(joint)])

    def with_position(self, configuration: Any, joint: str, position: float) -> Any:
        """See the base class."""
        changed = np.array(configuration)
        changed[self._first_position(joint)] = position
        return changed

    def _first_position(self, joint: str) -> int:
        return int(self._model.jnt_qposadr[self._joint(joint)])

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
