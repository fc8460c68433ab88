"""A machine beside its source: moved alike in MuJoCo, the source closes and pushes alike, or not.

The machine's motion at an instant (positions, rates and accelerations of all bodies) is carried over to the joints of
the source. There the loops of the file must close, and the forces that its tree needs, projected on the freedoms of the
closed machine (virtual power), must be those of the machine's drives. Nothing of the source is solved: MuJoCo says
where its bodies are and what forces they need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.importing.closing import pivots
from pkm_description.importing.formats.mjcf import compiled, name_of, start
from pkm_description.importing.graph import Graph, Link, Placement, walk
from pkm_description.importing.importer import Imported
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.closed_legs import body_poses, close_legs
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_joints

try:
    import mujoco
except ImportError:
    mujoco = None

#: rad or m of the fastest motion between instants of which the source's rates and accelerations are differences
_STEP = 0.02

#: weights of the differences of four instants on either side: first and second derivative of eighth order
_FIRST = np.array([4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0])
_SECOND = np.array([8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0])

#: rad/s or m/s that rounding leaves of a joint that stands still, whose friction has no sign; also the largest
#: derivative of a loop's gap by the motion of a joint that does not change it
_STILL = 1e-9

#: MuJoCo's joints that stand for one of a file, one after the other
_TYPES = {
    'revolute': ('HINGE',),
    'prismatic': ('SLIDE',),
    'universal': ('HINGE', 'HINGE'),
    'ball': ('BALL',),
    'free': ('SLIDE', 'SLIDE', 'SLIDE', 'BALL'),
    'fixed': (),
}


@dataclass(frozen=True)
class Figures:
    """How well machine and source agree, at random configurations and motions.

    Attributes
    ----------
    samples : number
    gap : largest gap [m, 1] of the source's loops where the machine is closed
    position, rotation : largest difference of the platform's pose [m, rad]
    force : largest difference of the drive forces' powers along the freedoms of the platform, relative to the largest
    """

    samples: int
    gap: float
    position: float
    rotation: float
    force: float

    @property
    def text(self) -> str:
        """Figures as lines of text."""
        return (
            f'compared with MuJoCo on the source, {self.samples} configurations and motions:\n'
            f"  gaps of the source's loops where the machine is closed: {self.gap:.2g} m\n"
            f'  platform pose: {self.position:.2g} m, {self.rotation:.2g} rad\n'
            f'  drive forces: {self.force:.2g} of the largest'
        )


def compared(result: Imported, samples: int = 20) -> Figures | str:
    """Compare a machine with its source at random configurations and motions.

    Returns
    -------
    The figures; or, where the engine is not installed, a sentence that says so.

    Raises
    ------
    KinematicsError
        The machine cannot be moved, not even a little.
    """
    if mujoco is None:
        return 'not compared with the source: MuJoCo is not installed (pip install mujoco)'
    return _Comparison(result, SourceEngine(result)).figures(samples)


class _Comparison:
    """A machine and its source side by side."""

    def __init__(self, result: Imported, engine: SourceEngine) -> None:
        self._machine, self._mechanism, self._selection = result.machine, result.mechanism, result.selection
        self._engine, held = engine, result.mechanism.held
        links = [link for link in (*self._selection.graph.links, *self._selection.floating) if not link.is_loop]
        self._moving = [link for link in links if link.name not in held]
        self._columns = [column for link in self._moving for column in engine.columns(link.name)]
        self._at_rest = engine.start
        for name, value in held.items():
            if len(engine.columns(name)) == 1:
                self._at_rest = engine.with_position(self._at_rest, name, value)

    def figures(self, samples: int) -> Figures:
        """Compare at random states."""
        machine, worst = self._machine, np.zeros(3)
        states = random_states(_without_redundance(machine), samples, turn=0.1, move=0.06)
        motion, own = joint_motion(machine, states), inverse_dynamics(machine, states)
        legs = close_legs(machine, states.position, states.rotation_base_platform, motion.positions)
        powers = []
        for sample in range(samples):
            pose = Placement(states.position[sample], states.rotation_base_platform[sample])
            at = motion.positions[sample], pose
            configuration = self._configuration(*at)
            body, frame = self._selection.base
            base = self._engine.place(configuration, body) @ frame
            place = self._engine.place(configuration, self._selection.platform) @ self._selection.frame
            place = place.seen_from(base)
            turn = np.linalg.norm(Rotation.from_matrix(place.rotation.T @ pose.rotation).as_rotvec())
            gap = np.abs(self._engine.gaps(configuration, self._columns)).max(initial=0.0)
            worst = np.maximum(worst, [gap, np.linalg.norm(place.position - pose.position), turn])
            velocity, acceleration = self._derivatives(
                *at, motion.velocities[sample], states.twist[sample], motion.accelerations[sample],
                states.acceleration[sample],
            )  # fmt: skip
            forces = self._engine.forces(configuration, velocity, acceleration)
            freedoms, still = legs.admitted[sample].T, (np.zeros(len(motion.positions[sample])), np.zeros(6))
            rates = [self._derivatives(*at, legs.joint_map[sample] @ one, one, *still)[0] for one in freedoms]
            powers.append([np.array(rates) @ forces, freedoms @ legs.drive_map[sample].T @ own[sample]])
        source, machines = np.moveaxis(np.array(powers), 1, 0)
        gap, position, rotation = worst.tolist()
        return Figures(samples, gap, position, rotation, float(np.abs(source - machines).max() / np.abs(source).max()))

    def _configuration(self, positions: Array, pose: Placement, near: Any = None) -> Any:
        """Configuration of the engine, next to another one, with the source's bodies where the machine's are."""
        rotations, origins = (poses[0] for poses in body_poses(self._machine, positions[None]))
        bodies = [joint.body.name for joint in self._mechanism.joints]
        own = dict(zip(bodies, map(Placement, origins, rotations), strict=True))
        own |= {'base_link': Placement(), self._mechanism.platform.name: pose}
        places = {name: own[body] @ frame for name, (body, frame) in self._mechanism.bodies.items()}
        configuration = np.array(self._at_rest if near is None else near)
        for link in self._moving:
            if link.first in places and link.second in places:
                first = places[link.first] @ link.first_frame
                motion = (places[link.second] @ link.second_frame).seen_from(first)
                configuration = self._engine.with_motion(configuration, link, motion)
        return configuration

    def _derivatives(
        self, positions: Array, pose: Placement, rates: Array, twist: Array, second_rates: Array, acceleration: Array
    ) -> tuple[Array, Array]:
        """Rates and accelerations (nv,) of the source's joints in a configuration of the machine.

        Parameters
        ----------
        rates, second_rates : (J,) first and second derivatives of the machine's joints
        twist, acceleration : (6,) of its platform, base axes
        """
        here = self._configuration(positions, pose)
        first, second = (np.abs(np.append(*parts)).max() for parts in ((rates, twist), (second_rates, acceleration)))
        step = _STEP / max(1.0, first, second**0.5)

        def at(time: float) -> Array:
            path = twist * time + 0.5 * acceleration * time**2
            there = Placement(pose.position + path[:3], rotation_exp(path[3:]) @ pose.rotation)
            moved = positions + rates * time + 0.5 * second_rates * time**2
            return self._engine.difference(here, self._configuration(moved, there, here))

        ahead, behind = (
            np.array([at(sign * number * step) for number in range(1, len(_FIRST) + 1)]) for sign in (1.0, -1.0)
        )
        velocity = _FIRST @ (ahead - behind) / step
        return np.where(np.abs(velocity) < _STILL, 0.0, velocity), _SECOND @ (ahead + behind) / step**2


def _without_redundance(machine: Machine) -> Machine:
    """The same machine with as many drives as it has freedoms: those that move it best at home."""
    if not machine.is_redundant:
        return machine
    home = machine.home
    legs = close_legs(machine, home.position[None], home.rotation_base_platform[None])
    kept = {machine.actuated_joint_names[drive] for drive in pivots(legs.drive_map[0] @ legs.admitted[0])}
    return replace(with_joints(machine, lambda joint: replace(joint, actuated=joint.name in kept)), drive_weights=())


class SourceEngine:
    """A file in MuJoCo: where its bodies are, and what forces they need, without the suite's mechanics.

    An MJCF is as MuJoCo itself reads it; of other formats the tree is built from the numbers read. Configurations are
    MuJoCo's (nq,), velocities (nv,).

    Parameters
    ----------
    source : the file

    Attributes
    ----------
    start : configuration at the start (nq,)
    """

    def __init__(self, source: Imported) -> None:
        self._graph, self._is_mjcf = source.graph, source.kind == 'MJCF'
        if self._is_mjcf:
            self._model = compiled(source.path)
            self.start = np.array(start(self._model, source.path, source.keyframe)[0])
        else:
            self._model = self._built(source.graph)
            self.start = np.array(self._model.qpos0)
        model, flags = self._model, mujoco.mjtDisableBit
        model.opt.disableflags |= int(flags.mjDSBL_LIMIT) | int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_FRICTIONLOSS)
        # else the equality rows are not there as a matrix
        model.opt.jacobian = int(mujoco.mjtJacobian.mjJAC_DENSE)
        #: joints of the file -> numbers of those of MuJoCo that stand for them
        self._numbers: dict[str, list[int]] = {}
        for joint in range(model.njnt):
            name = name_of(model, 'joint', joint)
            self._numbers.setdefault(name if self._is_mjcf else name.rpartition('|')[0], []).append(joint)
        # friction and armature of balls are not part of a machine file
        for joint in np.flatnonzero(model.jnt_type < 2).tolist():
            model.dof_armature[self._columns_of(joint)] = 0.0
        self._data = mujoco.MjData(model)
        for link in () if self._is_mjcf else source.graph.links:
            if link.kind in ('revolute', 'prismatic') and (columns := self.columns(link.name)):
                self.start = self.with_position(self.start, link.name, link.position)
                damping = model.dof_damping.reshape(model.nv, -1)  # a view of it
                damping[columns, 0] = link.values.viscous
                model.dof_frictionloss[columns] = link.values.coulomb
                model.dof_armature[columns] = link.values.rotor_inertia

    def _built(self, graph: Graph) -> Any:
        """Model of the tree of a graph, with its bodies and their frames."""
        spec = mujoco.MjSpec()
        spec.option.gravity = graph.gravity
        elements = {graph.base: spec.worldbody.add_body(name=graph.base) if graph.base != 'world' else spec.worldbody}
        for link in walk([link for link in graph.links if not link.is_loop], graph.base):
            place = link.first_frame @ link.second_frame.inverse
            body = elements[link.first].add_body(name=link.second, pos=place.position, quat=_quaternion(place.rotation))
            axes = np.eye(3) if link.kind == 'free' else [link.axis, link.second_axis]
            for number, kind in enumerate(_TYPES[link.kind]):
                type_ = getattr(mujoco.mjtJoint, f'mjJNT_{kind}')
                joint = body.add_joint(name=f'{link.name}|{number}', type=type_, pos=link.second_frame.position)
                if kind != 'BALL':
                    joint.axis = link.second_frame.rotation @ axes[number]
            # anything that it takes, with axes of its own: the file's bodies may weigh nothing
            body.mass, body.ipos, body.inertia = 1.0, [0.1, 0.2, 0.3], [1.0, 1.1, 1.2]
            body.iquat, body.explicitinertial = [0.8, 0.6, 0.0, 0.0], True
            elements[link.second] = body
        model = spec.compile()
        for name in elements.keys() - {graph.base}:
            index, own = model.body(name).id, graph.bodies[name]
            moments, axes = np.linalg.eigh(own.inertia)
            axes[:, 0] *= np.linalg.det(axes)
            model.body_mass[index], model.body_ipos[index] = own.mass, own.center_of_mass
            model.body_inertia[index], model.body_iquat[index] = moments, _quaternion(axes)
        # of the centre of mass about which forces are reckoned
        model.body_subtreemass[:] = max(model.body_mass.sum(), 1.0)
        return model

    def columns(self, joint: str) -> list[int]:
        """Velocity columns of a joint of any kind; none where there is no such joint."""
        return [column for index in self._numbers.get(joint, []) for column in self._columns_of(index)]

    def _columns_of(self, joint: int) -> list[int]:
        first = int(self._model.jnt_dofadr[joint])
        return list(range(first, first + (6, 3, 1, 1)[int(self._model.jnt_type[joint])]))

    def with_position(self, configuration: Any, joint: str, position: float) -> Any:
        """Return the configuration with another position of a joint of one degree of freedom."""
        changed = np.array(configuration)
        changed[self._model.jnt_qposadr[self._numbers[joint][0]]] = position
        return changed

    def with_motion(self, configuration: Any, link: Link, motion: Placement) -> Any:
        """Return the configuration in which a joint of any kind has a motion (its second frame in its first).

        Angles are those within half a turn around where they were.
        """
        changed, first = np.array(configuration), int(self._model.jnt_qposadr[self._numbers[link.name][0]])
        positions = link.positions(motion, changed[first:])
        if link.kind == 'free':
            positions = motion.position.tolist()
        if link.kind in ('ball', 'free'):
            turn = link.second_frame.rotation  # MuJoCo's ball turns about the axes of the body
            positions += _quaternion(turn @ motion.rotation @ turn.T).tolist()
        changed[first : first + len(positions)] = positions
        return changed

    def difference(self, first: Any, second: Any) -> Array:
        """Velocity (nv,) that leads from one configuration to another in a unit of time."""
        change = np.zeros(self._model.nv)
        mujoco.mj_differentiatePos(self._model, change, 1.0, first, second)
        return change

    def place(self, configuration: Any, body: str) -> Placement:
        """Pose of a body of the file in the base."""
        self._data.qpos[:] = configuration
        mujoco.mj_kinematics(self._model, self._data)
        seen = self._data.body(body)
        return Placement(np.array(seen.xpos), np.array(seen.xmat).reshape(3, 3))

    def gaps(self, configuration: Any, moving: list[int]) -> Array:
        """Gaps (R,) [m, 1] of the file's loops that some of the columns ``moving`` open or close."""
        if not self._is_mjcf:
            return self._gaps_of_links(configuration, moving)
        model, data, tie = self._model, self._data, int(mujoco.mjtEq.mjEQ_JOINT)
        data.qpos[:], data.qvel[:] = configuration, 0.0
        mujoco.mj_forward(model, data)
        matrix = np.array(data.efc_J).reshape(data.nefc, model.nv)[:, moving]
        equality = np.array(data.efc_type[: data.nefc]) == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        loop = equality & (model.eq_type[np.where(equality, data.efc_id[: data.nefc], 0)] != tie)
        return np.array(data.efc_pos[: data.nefc])[loop & (np.abs(matrix).max(axis=1, initial=0.0) > _STILL)]

    def _gaps_of_links(self, configuration: Any, moving: list[int]) -> Array:
        model, rows = self._model, [0.0]
        carried = {int(model.dof_bodyid[column]) for column in moving}
        for body in range(1, model.nbody):  # parents come first
            if int(model.body_parentid[body]) in carried:
                carried.add(body)
        for link in self._graph.links:
            if not link.is_loop or carried.isdisjoint(model.body(end).id for end in (link.first, link.second)):
                continue
            kind, turn = link.as_closure
            here = self.place(configuration, link.first) @ link.first_frame @ turn
            there = self.place(configuration, link.second) @ link.second_frame @ turn
            rows += [*(here.position - there.position), *_turn_gaps(kind, here.rotation, there.rotation)]
        return np.array(rows)

    def forces(self, configuration: Any, velocity: Array, acceleration: Array) -> Array:
        """Generalized forces (nv,) that the tree needs, friction of joints included."""
        model, data, needed = self._model, self._data, np.zeros(self._model.nv)
        data.qpos[:], data.qvel[:], data.qacc[:] = configuration, velocity, acceleration
        for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_comVel):
            stage(model, data)
        mujoco.mj_rne(model, data, 1, needed)
        turning = np.isin(model.dof_jntid, np.flatnonzero(model.jnt_type >= 2))
        damping = np.array(model.dof_damping).reshape(model.nv, -1)[:, 0]
        friction = damping * velocity + np.array(model.dof_frictionloss) * np.sign(velocity)
        return needed + np.array(model.dof_armature) * acceleration + turning * friction


def _quaternion(rotation: Array) -> Array:
    """Quaternion (4,) of a rotation (3, 3), real part first, as MuJoCo has it."""
    return np.roll(Rotation.from_matrix(rotation).as_quat(), 1)


def _turn_gaps(kind: str, here: Array, there: Array) -> list[float]:
    """Gaps of the axes of two frames, columns of (3, 3), of a closure of a kind."""
    if kind == 'fixed':
        return list(-Rotation.from_matrix(there @ here.T).as_rotvec())
    if kind == 'pin':
        across = np.cross(here[:, 2], there[:, 2])
        sine, cosine = float(np.linalg.norm(across)), float(here[:, 2] @ there[:, 2])
        turn = -across * (np.arctan2(sine, cosine) / sine) if sine > 1e-14 else np.zeros(3)
        if sine <= 1e-14 and cosine < 0.0:
            turn = np.pi * here[:, 0]
        return [float(turn @ here[:, 0]), float(turn @ here[:, 1])]
    return [float(here[:, 0] @ there[:, 1])] if kind == 'universal' else []
