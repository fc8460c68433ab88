"""The open-tree model of a machine in Pinocchio, and all its forces computed with it alone.

Nothing of the package's kinematics or dynamics is used: Pinocchio gives the torques of the open tree and the Jacobians
of the closures' frames; the closures enter as multipliers, ``tau = S^T f + J_c^T lambda``. Pinocchio is imported when a
tree is built, so the package runs without it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Closure, Machine, PlatformMotion, RigidBody
from pkm_description.machine.machine import closure_ends

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

#: s, of the energy's central difference
_STEP = 1e-5


def import_pinocchio() -> Any:
    """Import Pinocchio, or raise :class:`EngineMissingError` with the way to install it."""
    try:
        pin = importlib.import_module('pinocchio')
    except ImportError:
        raise EngineMissingError('Pinocchio is not installed: pip install pin') from None
    if not hasattr(pin, 'rnea'):  # a plugin of a test runner has the same name
        raise EngineMissingError('The installed package pinocchio is another one: pip install pin')
    return pin


@dataclass(frozen=True)
class _Cut:
    """A closure: frames of the model on both sides, and their axes that stay perpendicular."""

    tip: int
    anchor: int
    closure: Closure
    pairs: tuple[tuple[int, int], ...]


class PinocchioTree:
    """Tree of legs plus a free-flying platform; configuration = legs joint by joint, then the platform.

    Planar machines get three more constraints, which hold the platform in the plane; open chains have no platform.

    Raises
    ------
    EngineMissingError
        Pinocchio is not installed.
    """

    def __init__(self, machine: Machine) -> None:
        pin = import_pinocchio()
        model = pin.Model()
        kinds = {'revolute': pin.JointModelRevoluteUnaligned, 'prismatic': pin.JointModelPrismaticUnaligned}
        carriers = {'base_link': 0}
        for leg in machine.legs:
            for place in _depth_first(leg.parents):
                joint, before = leg.joints[place], leg.parents[place]
                parent = carriers[leg.joints[before].body.name] if before >= 0 else 0
                placement = pin.SE3(joint.rotation_parent_joint, joint.translation)
                parent = model.addJoint(parent, kinds[joint.kind](joint.axis), placement, joint.name)
                model.appendBodyToJoint(parent, self._inertia(joint.body), pin.SE3.Identity())
                carriers[joint.body.name] = parent
        if machine.has_platform:
            platform = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'platform')
            model.appendBodyToJoint(platform, self._inertia(machine.platform), pin.SE3.Identity())
            carriers[machine.platform.name] = platform
            self._frame(model, machine.platform.name, platform, np.zeros(3), np.eye(3))
        for end in closure_ends(machine):
            closure = end.closure
            self._frame(model, end.tip, carriers[closure.body], closure.point, closure.rotation_body)
            self._frame(model, end.anchor, carriers[closure.other], closure.other_point, closure.rotation_other)
        self.use(machine, model)

    def use(self, machine: Machine, model: Any) -> None:
        """Take a model with the names that our exports have: joints, tips, anchors, platform."""
        self.pin: Any = import_pinocchio()
        self.machine, self.model = machine, model
        model.gravity.linear = machine.gravity
        self.data = model.createData()
        self.world = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        self.ids = [model.getJointId(name) for name in machine.joint_names]
        #: places of our joints among the tree's velocities
        self.places = np.array([model.joints[joint].idx_v for joint in self.ids], dtype=int)
        self.driven = self.places[machine.drive_columns]
        self.idle = self.places[idle_joints(machine)]
        # not as Pinocchio's armature, which its versions treat differently in energies
        self.rotors = np.zeros(model.nv)
        self.rotors[self.places] = machine.rotor_inertia
        self.closures = [
            _Cut(
                model.getFrameId(end.tip), model.getFrameId(end.anchor), end.closure,
                perpendicular_axes(end.closure, machine.planar),
            )
            for end in closure_ends(machine)
        ]  # fmt: skip
        if machine.has_platform:
            self.platform = model.getFrameId(machine.platform.name)
            self.free = slice(model.nv - 6, model.nv)

    @staticmethod
    def _inertia(body: RigidBody) -> Any:
        return import_pinocchio().Inertia(body.mass, body.center_of_mass, body.inertia)

    @staticmethod
    def _frame(model: Any, name: str, joint: int, point: Array, rotation: Array) -> None:
        pin = import_pinocchio()
        model.addFrame(pin.Frame(name, joint, pin.SE3(rotation, point), pin.FrameType.OP_FRAME))

    def configuration(self, joint_positions: Array, position: Array, rotation: Array) -> Array:
        """Configuration vector of joint positions (J,) and a platform pose; the platform stands last."""
        quaternion = self.pin.Quaternion(rotation).coeffs()
        result = np.concatenate([np.zeros(len(self.places)), position, quaternion])
        result[[self.model.joints[joint].idx_q for joint in self.ids]] = joint_positions
        return result

    def _axes(self, cut: _Cut) -> tuple[Array, Array]:
        return self.data.oMf[cut.tip].rotation, self.data.oMf[cut.anchor].rotation

    def _closing_rows(self, of_frame: Any) -> Array:
        """Stack the closures' rows of what a function of a frame (6, ...) says, and those of the plane."""
        planar = self.machine.planar
        rows = [
            closure_rows(cut.pairs, planar, *self._axes(cut), of_frame(cut.tip) - of_frame(cut.anchor))
            for cut in self.closures
        ]
        if planar:
            rows.append(of_frame(self.platform)[2:5])
        return np.concatenate(rows)

    def closure_jacobian(self, configuration: Array) -> Array:
        """Rows (C, nv) of the closures, base axes; then those of the plane."""
        self.pin.computeJointJacobians(self.model, self.data, configuration)
        self.pin.updateFramePlacements(self.model, self.data)
        return self._closing_rows(lambda frame: self.pin.getFrameJacobian(self.model, self.data, frame, self.world))

    def _drift(self, configuration: Array, velocity: Array) -> Array:
        """Second derivatives (C,) of the closures without accelerations of the joints."""
        pin, model, data = self.pin, self.model, self.data
        pin.forwardKinematics(model, data, configuration, velocity, np.zeros(model.nv))
        pin.updateFramePlacements(model, data)
        rows = self._closing_rows(
            lambda frame: pin.getFrameClassicalAcceleration(model, data, frame, self.world).vector
        )
        row = 0
        for cut in self.closures:
            row += position_rows(self.machine.planar)
            spins = [pin.getFrameVelocity(model, data, frame, self.world).angular for frame in (cut.tip, cut.anchor)]
            rows[row : row + len(cut.pairs)] += turning_drift(cut.pairs, *self._axes(cut), *spins)
            row += len(cut.pairs)
        return rows

    def gap(self) -> float:
        """Largest distance [m], or cosine, by which a closure is open at the configuration that was used last."""
        gaps = []
        for cut in self.closures:
            apart = self.data.oMf[cut.tip].translation - self.data.oMf[cut.anchor].translation
            gaps += [float(np.linalg.norm(apart)), turning_gap(cut.pairs, *self._axes(cut))]
        return max(gaps)

    def state(self, joint_positions: Array, motion: PlatformMotion, sample: int) -> tuple[Array, Array, Array, float]:
        """Configuration, velocity, acceleration of the tree, and the rate that the closures leave open."""
        rotation = motion.rotation_base_platform[sample]
        configuration = self.configuration(joint_positions, motion.position[sample], rotation)
        jacobian = self.closure_jacobian(configuration)
        spin = motion.angular_velocity[sample]
        velocity, acceleration = np.zeros(self.model.nv), np.zeros(self.model.nv)
        velocity[self.free] = np.concatenate([rotation.T @ motion.linear_velocity[sample], rotation.T @ spin])
        moving = np.setdiff1d(self.places, self.idle)
        legs = jacobian[:, moving]
        velocity[moving] = np.linalg.lstsq(legs, -jacobian @ velocity, rcond=None)[0]
        # Pinocchio's free-flyer acceleration is the spatial one in body axes: a_origin = a_spatial + w x v
        linear = motion.linear_acceleration[sample] - np.cross(spin, motion.linear_velocity[sample])
        turning = motion.angular_acceleration[sample]
        acceleration[self.free] = np.concatenate([rotation.T @ linear, rotation.T @ turning])
        drift = self._drift(configuration, velocity)
        acceleration[moving] = np.linalg.lstsq(legs, -jacobian @ acceleration - drift, rcond=None)[0]
        left_open = float(np.abs(jacobian @ velocity).max())
        return configuration, velocity, acceleration, left_open

    def projection(self, configuration: Array, torques: Array) -> Projection:
        """Forces of drives and closures from tree torques (nv,) or (nv, P)."""
        weights = self.machine.model.drive_weight
        return project(torques, self.driven, self.idle, self.closure_jacobian(configuration), weights)

    def project(self, configuration: Array, torques: Array) -> tuple[Array, Array]:
        """Drive forces (A,) and multipliers (C,) of tree torques (nv,): solve ``torques = S^T f + J_c^T lambda``."""
        found = self.projection(configuration, torques)
        return found.drives, found.multipliers

    def drive_forces(self, joint_positions: Array, motion: PlatformMotion, sample: int) -> Array:
        """Drive forces (A,) of one sample."""
        configuration, velocity, acceleration, _ = self.state(joint_positions, motion, sample)
        return self.project(configuration, self.tree_torques(configuration, velocity, acceleration))[0]

    def tree_torques(self, configuration: Array, velocity: Array, acceleration: Array) -> Array:
        """Generalised forces (nv,) of the open tree, rotors included."""
        torques = self.pin.rnea(self.model, self.data, configuration, velocity, acceleration)
        return np.asarray(torques + self.rotors * acceleration)

    def mass_matrix(self, configuration: Array) -> Array:
        """Mass matrix (nv, nv) of the open tree, rotors included.

        Column by column: Pinocchio's ``crba`` is for trees whose joints are numbered branch by branch.
        """
        still, units = np.zeros(self.model.nv), np.eye(self.model.nv)
        weight = self.tree_torques(configuration, still, still)
        return np.array([self.tree_torques(configuration, still, unit) - weight for unit in units]).T

    def closure_wrenches(self, multipliers: Array) -> tuple[Array, Array]:
        """Forces and moments (K, 3) of the closures on the legs' bodies, at the configuration that was used last."""
        wrenches, row, planar = [], 0, self.machine.planar
        for cut in self.closures:
            count = position_rows(planar) + len(cut.pairs)
            wrenches.append(closure_wrench(cut.pairs, planar, *self._axes(cut), multipliers[row : row + count]))
            row += count
        forces, moments = zip(*wrenches, strict=True)
        return np.array(forces), np.array(moments)

    def reactions(
        self, configuration: Array, velocity: Array, acceleration: Array, closures: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Forces and moments (J, 3) in the joints by Pinocchio's recursion, under the closures' wrenches (K, 3)."""
        pin, model = self.pin, self.model
        pin.forwardKinematics(model, self.data, configuration)  # other calls may have set another state
        loads = [pin.Force.Zero() for _ in range(model.njoints)]
        for cut, force, moment in zip(self.closures, *closures, strict=True):
            for frame, sign in ((cut.tip, 1.0), (cut.anchor, -1.0)):
                joint, place = model.frames[frame].parentJoint, model.frames[frame].placement
                turn = self.data.oMi[joint].rotation.T
                local = sign * turn @ force
                loads[joint] += pin.Force(local, sign * turn @ moment + np.cross(place.translation, local))
        pin.rnea(model, self.data, configuration, velocity, acceleration, loads)
        turns = [self.data.oMi[joint].rotation for joint in self.ids]
        wrenches = [self.data.f[joint] for joint in self.ids]
        forces = np.array([turn @ wrench.linear for turn, wrench in zip(turns, wrenches, strict=True)])
        moments = np.array([turn @ wrench.angular for turn, wrench in zip(turns, wrenches, strict=True)])
        return forces, moments

    def energy_rate(self, configuration: Array, velocity: Array, acceleration: Array) -> float:
        """Change of the bodies' kinetic and potential energy [W], by a central difference along the motion."""

        def energy(step: float) -> float:
            change = step * velocity + step**2 / 2.0 * acceleration
            later = self.pin.integrate(self.model, configuration, change)
            speed = velocity + step * acceleration
            kinetic = self.pin.computeKineticEnergy(self.model, self.data, later, speed)
            return float(kinetic + self.pin.computePotentialEnergy(self.model, self.data, later))

        return (energy(_STEP) - energy(-_STEP)) / (2.0 * _STEP)


def _depth_first(parents: tuple[int, ...], start: int = -1) -> list[int]:
    """Places of a leg's joints, each followed by all that it carries: Pinocchio's mass matrix relies on that order."""
    order: list[int] = []
    for place, parent in enumerate(parents):
        if parent == start:
            order += [place, *_depth_first(parents, place)]
    return order


def pinocchio_result(machine: Machine, joint_positions: Array, motion: PlatformMotion) -> EngineResult:
    """Forces of a machine with a platform by Pinocchio; joint positions (N, J) close its loops."""
    tree = PinocchioTree(machine)
    rows: list[tuple[Any, ...]] = []
    for sample in range(len(motion)):  # Pinocchio takes one sample at a time
        configuration, velocity, acceleration, left_open = tree.state(joint_positions[sample], motion, sample)
        torques = tree.tree_torques(configuration, velocity, acceleration)
        found = tree.projection(configuration, torques)
        gap, closures = tree.gap(), tree.closure_wrenches(found.multipliers)
        rate = tree.energy_rate(configuration, velocity, acceleration)
        joints = tree.reactions(configuration, velocity, acceleration, closures)
        forces, moments = (-wrench for wrench in closures)
        places = tree.places
        rows.append(
            (gap, left_open, velocity[places], acceleration[places], found.drives, forces, moments, *joints, rate,
             found.determined)
        )  # fmt: skip
    (gaps, residuals, velocities, accelerations, drives, forces, moments, joint_forces, joint_moments, rates,
     determined) = (np.array(column) for column in zip(*rows, strict=True))  # fmt: skip
    mass = float(tree.pin.computeTotalMass(tree.model))
    return EngineResult(
        gaps, residuals, velocities, accelerations, drives, forces, moments, mass, bool(determined.all()),
        joint_forces, joint_moments, rates,
    )  # fmt: skip


def pinocchio_open_chain(machine: Machine, positions: Array, velocities: Array, accelerations: Array) -> EngineResult:
    """Joint forces (N, J) of a machine without a platform, without friction."""
    tree = PinocchioTree(machine)
    states = list(zip(positions, velocities, accelerations, strict=True))
    forces = np.array([tree.tree_torques(*state) for state in states])
    rates = np.array([tree.energy_rate(*state) for state in states])
    none, nothing = np.zeros(len(positions)), np.zeros((len(positions), 0, 3))
    mass = float(tree.pin.computeTotalMass(tree.model))
    return EngineResult(none, none, velocities, accelerations, forces, nothing, nothing, mass, energy_rates=rates)
