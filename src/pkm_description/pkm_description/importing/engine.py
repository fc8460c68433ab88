"""A file in an engine of its own: where its bodies are, and what forces they need, without the suite's mechanics."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.importing.closing import turn_gaps
from pkm_description.importing.graph import Graph, Link, Placement, angle_about, universal_angles

#: largest derivative of a loop's gap by the motion of a joint that does not change it
_STILL = 1e-9


class SourceEngine(ABC):
    """Mechanics of a file: a tree with loops. Configurations are the engine's own (nq,), velocities (nv,).

    Attributes
    ----------
    name : of the engine
    start : configuration at the start (nq,)
    """

    name = ''
    start: Any

    #: whether quaternions begin with their real part
    _scalar_first = False

    @abstractmethod
    def columns(self, joint: str) -> list[int]:
        """Velocity columns of a joint of any kind; none where there is no such joint."""

    @abstractmethod
    def _first_position(self, joint: str) -> int:
        """Place of a joint in the configuration."""

    def with_position(self, configuration: Any, joint: str, position: float) -> Any:
        """Return the configuration with another position of a joint of one degree of freedom."""
        changed = np.array(configuration)
        changed[self._first_position(joint)] = position
        return changed

    def with_motion(self, configuration: Any, link: Link, motion: Placement) -> Any:
        """Return the configuration in which a joint of any kind has a motion (its second frame in its first).

        Angles are those within half a turn around where they were.
        """
        changed, first = np.array(configuration), self._first_position(link.name)

        def near(place: int, angle: float) -> float:
            return float(angle + 2.0 * np.pi * np.round((changed[place] - angle) / (2.0 * np.pi)))

        if link.kind == 'revolute':
            return self.with_position(configuration, link.name, near(first, angle_about(link.axis, motion.rotation)))
        if link.kind == 'prismatic':
            return self.with_position(configuration, link.name, float(link.axis @ motion.position))
        if link.kind == 'universal':
            angles = universal_angles(link.axis, link.second_axis, motion.rotation)
            changed[first : first + 2] = [near(first + place, angle) for place, angle in enumerate(angles)]
            return changed
        if link.kind == 'planar':
            angle = near(first + 2, angle_about(link.axis, motion.rotation))
            changed[first : first + 3] = *motion.position[:2], angle
            return changed
        if link.kind == 'free':
            changed[first : first + 3] = motion.position
            first += 3
        changed[first : first + 4] = np.roll(Rotation.from_matrix(motion.rotation).as_quat(), self._scalar_first)
        return changed

    @abstractmethod
    def difference(self, first: Any, second: Any) -> Array:
        """Velocity (nv,) that leads from one configuration to another in a unit of time."""

    @abstractmethod
    def place(self, configuration: Any, body: str) -> Placement:
        """Pose of a body of the file in the base."""

    @abstractmethod
    def gaps(self, configuration: Any, moving: list[int]) -> Array:
        """Gaps (R,) [m, 1] of the file's loops that some of the columns ``moving`` open or close."""

    @abstractmethod
    def forces(self, configuration: Any, velocity: Array, acceleration: Array) -> Array:
        """Generalized forces (nv,) that the tree needs, friction of joints included."""


class MujocoEngine(SourceEngine):
    """A file in MuJoCo.

    Parameters
    ----------
    model : MuJoCo's
    start : configuration (nq,)
    """

    name = 'MuJoCo'
    _scalar_first = True

    def __init__(self, model: Any, start: Any) -> None:
        import mujoco

        self._mujoco, self._model, self.start = mujoco, model, np.array(start)
        flags = mujoco.mjtDisableBit
        model.opt.disableflags |= int(flags.mjDSBL_LIMIT) | int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_FRICTIONLOSS)
        # else the equality rows are not there as a matrix
        model.opt.jacobian = int(mujoco.mjtJacobian.mjJAC_DENSE)
        # friction and armature of balls are not part of a machine file
        for joint in np.flatnonzero(model.jnt_type < 2):
            model.dof_armature[self._columns_of(int(joint))] = 0.0
        self._data = mujoco.MjData(model)

    def _joint(self, joint: str) -> int:
        index: int = self._mujoco.mj_name2id(self._model, self._mujoco.mjtObj.mjOBJ_JOINT, joint)
        return int(joint[5:]) if index < 0 and re.fullmatch(r'joint\d+', joint) else index

    def columns(self, joint: str) -> list[int]:
        """See the base class."""
        index = self._joint(joint)
        return [] if index < 0 else self._columns_of(index)

    def _columns_of(self, joint: int) -> list[int]:
        first = int(self._model.jnt_dofadr[joint])
        return list(range(first, first + (6, 3, 1, 1)[int(self._model.jnt_type[joint])]))

    def _first_position(self, joint: str) -> int:
        return int(self._model.jnt_qposadr[self._joint(joint)])

    def difference(self, first: Any, second: Any) -> Array:
        """See the base class."""
        change = np.zeros(self._model.nv)
        self._mujoco.mj_differentiatePos(self._model, change, 1.0, first, second)
        return change

    def _forward(self, configuration: Any, velocity: Array | float = 0.0) -> Any:
        self._data.qpos[:], self._data.qvel[:] = configuration, velocity
        self._mujoco.mj_forward(self._model, self._data)
        return self._data

    def place(self, configuration: Any, body: str) -> Placement:
        """See the base class."""
        seen = self._forward(configuration).body(body)
        return Placement(np.array(seen.xpos), np.array(seen.xmat).reshape(3, 3))

    def gaps(self, configuration: Any, moving: list[int]) -> Array:
        """See the base class."""
        data, tie = self._forward(configuration), int(self._mujoco.mjtEq.mjEQ_JOINT)
        matrix = np.array(data.efc_J).reshape(data.nefc, self._model.nv)[:, moving]
        equality = np.array(data.efc_type[: data.nefc]) == int(self._mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        loop = equality & (self._model.eq_type[np.where(equality, data.efc_id[: data.nefc], 0)] != tie)
        return np.array(data.efc_pos[: data.nefc])[loop & (np.abs(matrix).max(axis=1, initial=0.0) > _STILL)]

    def forces(self, configuration: Any, velocity: Array, acceleration: Array) -> Array:
        """See the base class."""
        model, data, needed = self._model, self._forward(configuration, velocity), np.zeros(self._model.nv)
        self._mujoco.mj_mulM(model, data, needed, np.ascontiguousarray(acceleration))
        turning = np.isin(model.dof_jntid, np.flatnonzero(model.jnt_type >= 2))
        damping = np.array(model.dof_damping).reshape(model.nv, -1)[:, 0]
        friction = damping * velocity + np.array(model.dof_frictionloss) * np.sign(velocity)
        needed += np.array(data.qfrc_bias) + turning * friction
        return needed


class PinocchioEngine(SourceEngine):
    """A file in Pinocchio; its loops are frames that coincide.

    Parameters
    ----------
    graph : of the file: its loops, and joints that stand for others
    urdf : text; empty: the tree is built from the graph (formats that Pinocchio does not read), as it is where a file
        of loops puts other joints in the place of revolute ones
    """

    name = 'Pinocchio'

    def __init__(self, graph: Graph, urdf: str) -> None:
        import pinocchio

        self._pin, tree = pinocchio, [link for link in graph.links if not link.is_loop]
        own: Any = pinocchio.buildModelFromXML(urdf) if urdf else None
        others = {link.name for link in tree if link.kind in ('ball', 'universal', 'fixed')}
        replaced = own is None or not others.isdisjoint(own.names)
        self._model: Any = _model_of_graph(pinocchio, graph, tree) if replaced else own
        self._model.gravity.linear = graph.gravity
        self._data = self._model.createData()
        self._links = [link for link in tree if link.kind in ('revolute', 'prismatic') and self.columns(link.name)]
        self._loops = [link for link in graph.links if link.is_loop]
        self.start = pinocchio.neutral(self._model)
        for link in self._links:
            self.start = self.with_position(self.start, link.name, link.position)

    def _joints(self, name: str) -> list[Any]:
        """Joints of Pinocchio that stand for one of the file: a universal joint is two."""
        return [self._model.joints[index] for index, own in enumerate(self._model.names) if own in (name, f'{name}|2')]

    def columns(self, joint: str) -> list[int]:
        """See the base class."""
        return [one.idx_v + place for one in self._joints(joint) for place in range(one.nv)]

    def with_position(self, configuration: Any, joint: str, position: float) -> Any:
        """See the base class."""
        one = self._joints(joint)[0]
        if one.nq == 1:
            return super().with_position(configuration, joint, position)
        changed = np.array(configuration)  # continuous: cosine and sine
        changed[one.idx_q : one.idx_q + 2] = np.cos(position), np.sin(position)
        return changed

    def _first_position(self, joint: str) -> int:
        return int(self._joints(joint)[0].idx_q)

    def difference(self, first: Any, second: Any) -> Array:
        """See the base class."""
        return np.array(self._pin.difference(self._model, first, second))

    def place(self, configuration: Any, body: str) -> Placement:
        """See the base class."""
        self._pin.framesForwardKinematics(self._model, self._data, configuration)
        pose = self._data.oMf[self._model.getFrameId(body, self._pin.FrameType.BODY)]
        return Placement(np.array(pose.translation), np.array(pose.rotation))

    def gaps(self, configuration: Any, moving: list[int]) -> Array:
        """See the base class."""
        carried = {index for index, one in enumerate(self._model.joints) if one.idx_v in moving}
        rows: list[float] = []
        for link in self._loops:
            frames = [self._model.frames[self._model.getFrameId(end)] for end in (link.first, link.second)]
            if carried.isdisjoint(index for frame in frames for index in self._model.supports[frame.parentJoint]):
                continue
            kind, turn = link.as_closure
            here = self.place(configuration, link.first) @ link.first_frame @ turn
            there = self.place(configuration, link.second) @ link.second_frame @ turn
            rows += [*(here.position - there.position), *turn_gaps(kind, here.rotation, there.rotation)]
        return np.array(rows)

    def forces(self, configuration: Any, velocity: Array, acceleration: Array) -> Array:
        """See the base class."""
        needed = np.array(self._pin.rnea(self._model, self._data, configuration, velocity, acceleration))
        for link in self._links:
            column, values = self.columns(link.name)[0], link.values
            rate = velocity[column]
            needed[column] += values.viscous * rate + values.coulomb * np.sign(rate)
            needed[column] += values.rotor_inertia * acceleration[column]
        return needed


def _model_of_graph(pinocchio: Any, graph: Graph, tree: list[Link]) -> Any:
    """Pinocchio's model of the tree of a graph."""
    model, revolute = pinocchio.Model(), pinocchio.JointModelRevoluteUnaligned
    kinds: dict[str, Callable[[Link], Any]] = {
        'ball': lambda link: pinocchio.JointModelSpherical(),
        'free': lambda link: pinocchio.JointModelFreeFlyer(),
        'prismatic': lambda link: pinocchio.JointModelPrismaticUnaligned(link.axis),
        'revolute': lambda link: revolute(link.axis),
        'universal': lambda link: revolute(link.axis),
    }

    def pose(place: Placement) -> Any:
        return pinocchio.SE3(place.rotation, place.position)

    at: dict[str, tuple[int, Placement]] = {graph.base: (0, Placement())}
    waiting = list(tree)
    while ready := [link for link in waiting if link.first in at]:
        for link in ready:
            joint, inside = at[link.first]
            place, after = inside @ link.first_frame, link.second_frame.inverse
            if link.kind == 'fixed':
                after = place @ after
            else:
                joint = model.addJoint(joint, kinds[link.kind](link), pose(place), link.name)
            if link.kind == 'universal':
                joint = model.addJoint(joint, revolute(link.second_axis), pose(Placement()), f'{link.name}|2')
            at[link.second] = (int(joint), after)
            waiting.remove(link)
    for name, (joint, place) in at.items():
        body = graph.bodies[name].moved(place)
        if body.mass > 0.0:
            inertia = pinocchio.Inertia(body.mass, body.center_of_mass, body.inertia)
            model.appendBodyToJoint(joint, inertia, pinocchio.SE3.Identity())
        model.addFrame(pinocchio.Frame(name, joint, pose(place), pinocchio.FrameType.BODY), False)
    return model
