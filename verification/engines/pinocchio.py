"""The open-tree model of a machine in Pinocchio, and all its forces computed with it alone.

Nothing of the package's kinematics or dynamics is used: Pinocchio gives the torques of the open tree and the Jacobians
of the closing points; the closures enter as multipliers, ``tau = S^T f + J_c^T lambda``. Pinocchio is imported when a
tree is built, so the package runs without it.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine, PlatformMotion, RigidBody

from verification.engines.result import EngineMissingError, EngineResult

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
        for leg in machine.legs:
            parent = 0
            for joint in leg.joints:
                placement = pin.SE3(joint.rotation_parent_joint, joint.translation)
                parent = model.addJoint(parent, kinds[joint.kind](joint.axis), placement, joint.name)
                model.appendBodyToJoint(parent, self._inertia(joint.body), pin.SE3.Identity())
            if machine.has_platform:
                self._frame(model, f'{leg.name}_tip', parent, leg.tip)
        if machine.has_platform:
            platform = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'platform')
            model.appendBodyToJoint(platform, self._inertia(machine.platform), pin.SE3.Identity())
            self._frame(model, machine.platform.name, platform, np.zeros(3))
            for number, leg in enumerate(machine.legs, start=1):
                self._frame(model, f'platform_anchor{number}', platform, leg.platform_point)
        self.use(machine, model)

    def use(self, machine: Machine, model: Any) -> None:
        """Take a model with the names that our exports have: joints, tips, anchors, platform."""
        self.pin: Any = import_pinocchio()
        self.machine, self.model = machine, model
        model.gravity.linear = machine.gravity
        self.data = model.createData()
        self.world = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        self.driven = [model.joints[model.getJointId(joint.name)].idx_v for joint in machine.actuated_joints]
        # not as Pinocchio's armature, which its versions treat differently in energies
        self.rotors = np.zeros(model.nv)
        for leg in machine.legs:
            for joint in leg.joints:
                self.rotors[model.joints[model.getJointId(joint.name)].idx_v] = joint.rotor_inertia
        self.leg_coordinates = len(machine.joint_names)
        if machine.has_platform:
            self.tips = [model.getFrameId(f'{leg.name}_tip') for leg in machine.legs]
            self.anchors = [model.getFrameId(f'platform_anchor{index + 1}') for index in range(len(machine.legs))]
            self.platform = model.getFrameId(machine.platform.name)

    @staticmethod
    def _inertia(body: RigidBody) -> Any:
        return import_pinocchio().Inertia(body.mass, body.center_of_mass, body.inertia)

    @staticmethod
    def _frame(model: Any, name: str, joint: int, point: Array) -> None:
        pin = import_pinocchio()
        model.addFrame(pin.Frame(name, joint, pin.SE3(np.eye(3), point), pin.FrameType.OP_FRAME))

    def configuration(self, joint_positions: Array, position: Array, rotation: Array) -> Array:
        """Configuration vector of joint positions (L, J) and a platform pose."""
        quaternion = self.pin.Quaternion(rotation).coeffs()
        return np.concatenate([joint_positions.ravel(), position, quaternion])

    def _closing_rows(self, of_frame: Any) -> Array:
        """Stack what a function of a frame (6, ...) says of tips minus anchors, and of the plane."""
        size = 2 if self.machine.freedom == 'planar' else 3
        rows = [(of_frame(tip) - of_frame(anchor))[:size] for tip, anchor in zip(self.tips, self.anchors, strict=True)]
        if self.machine.freedom == 'planar':
            rows.append(of_frame(self.platform)[2:5])
        return np.concatenate(rows)

    def closure_jacobian(self, configuration: Array) -> Array:
        """Rows (C, nv): velocity of each tip minus that of its anchor, base axes (planar: x, y); then the plane."""
        self.pin.computeJointJacobians(self.model, self.data, configuration)
        self.pin.updateFramePlacements(self.model, self.data)
        return self._closing_rows(lambda frame: self.pin.getFrameJacobian(self.model, self.data, frame, self.world))

    def gap(self) -> float:
        """Largest distance between tip and anchor at the configuration that was used last, m."""
        places = self.data.oMf
        pairs = zip(self.tips, self.anchors, strict=True)
        return float(max(np.linalg.norm(places[tip].translation - places[anchor].translation) for tip, anchor in pairs))

    def state(self, joint_positions: Array, motion: PlatformMotion, sample: int) -> tuple[Array, Array, Array, float]:
        """Configuration, velocity, acceleration of the tree, and the rate that the closures leave open."""
        rotation = motion.rotation_base_platform[sample]
        configuration = self.configuration(joint_positions, motion.position[sample], rotation)
        jacobian = self.closure_jacobian(configuration)
        legs, platform = jacobian[:, :-6], jacobian[:, -6:]
        spin = motion.angular_velocity[sample]
        free = np.concatenate([rotation.T @ motion.linear_velocity[sample], rotation.T @ spin])
        rates = np.linalg.lstsq(legs, -platform @ free, rcond=None)[0]
        velocity = np.concatenate([rates, free])
        # Pinocchio's free-flyer acceleration is the spatial one in body axes: a_origin = a_spatial + w x v
        linear = motion.linear_acceleration[sample] - np.cross(spin, motion.linear_velocity[sample])
        free_acceleration = np.concatenate([rotation.T @ linear, rotation.T @ motion.angular_acceleration[sample]])
        self.pin.forwardKinematics(self.model, self.data, configuration, velocity, np.zeros(self.model.nv))
        drift = self._closing_rows(
            lambda frame: self.pin.getFrameClassicalAcceleration(self.model, self.data, frame, self.world).vector
        )
        second = np.linalg.lstsq(legs, -platform @ free_acceleration - drift, rcond=None)[0]
        left_open = float(np.abs(jacobian @ velocity).max())
        return configuration, velocity, np.concatenate([second, free_acceleration]), left_open

    def project(self, configuration: Array, torques: Array) -> tuple[Array, Array]:
        """Drive forces (A,) and multipliers (C,) of tree torques (nv,): solve ``torques = S^T f + J_c^T lambda``."""
        jacobian = self.closure_jacobian(configuration)
        selection = np.zeros((self.model.nv, len(self.driven)))
        selection[self.driven, np.arange(len(self.driven))] = 1.0
        solution = np.linalg.solve(np.hstack([selection, jacobian.T]), torques)
        return solution[: len(self.driven)], solution[len(self.driven) :]

    def drive_forces(self, joint_positions: Array, motion: PlatformMotion, sample: int) -> Array:
        """Drive forces (A,) of one sample."""
        configuration, velocity, acceleration, _ = self.state(joint_positions, motion, sample)
        return self.project(configuration, self.tree_torques(configuration, velocity, acceleration))[0]

    def tree_torques(self, configuration: Array, velocity: Array, acceleration: Array) -> Array:
        """Generalised forces (nv,) of the open tree, rotors included."""
        torques = self.pin.rnea(self.model, self.data, configuration, velocity, acceleration)
        return np.asarray(torques + self.rotors * acceleration)

    def tip_forces(self, multipliers: Array) -> Array:
        """Forces (L, 3) of the platform on the tips of multipliers (C,)."""
        count = len(self.tips)
        if self.machine.freedom == 'planar':
            return np.hstack([multipliers[: 2 * count].reshape(count, 2), np.zeros((count, 1))])
        return multipliers.reshape(count, 3)

    def reactions(self, configuration: Array, velocity: Array, acceleration: Array, tips: Array) -> tuple[Array, Array]:
        """Forces and moments (L, J, 3) in the joints by Pinocchio's recursion, tips loaded with forces (L, 3)."""
        pin, joints = self.pin, len(self.machine.legs[0].joints)
        pin.forwardKinematics(self.model, self.data, configuration)  # other calls may have set another state
        loads = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for index, (leg, force) in enumerate(zip(self.machine.legs, tips, strict=True)):
            last = (index + 1) * joints
            local = self.data.oMi[last].rotation.T @ force
            loads[last] = pin.Force(local, np.cross(leg.tip, local))
        pin.rnea(self.model, self.data, configuration, velocity, acceleration, loads)
        turns = [self.data.oMi[joint].rotation for joint in range(1, len(self.machine.legs) * joints + 1)]
        wrenches = [self.data.f[joint] for joint in range(1, len(turns) + 1)]
        shape = (len(self.machine.legs), joints, 3)
        forces = np.array([turn @ wrench.linear for turn, wrench in zip(turns, wrenches, strict=True)])
        moments = np.array([turn @ wrench.angular for turn, wrench in zip(turns, wrenches, strict=True)])
        return forces.reshape(shape), moments.reshape(shape)

    def energy_rate(self, configuration: Array, velocity: Array, acceleration: Array) -> float:
        """Change of the bodies' kinetic and potential energy [W], by a central difference along the motion."""

        def energy(step: float) -> float:
            change = step * velocity + step**2 / 2.0 * acceleration
            later = self.pin.integrate(self.model, configuration, change)
            speed = velocity + step * acceleration
            kinetic = self.pin.computeKineticEnergy(self.model, self.data, later, speed)
            return float(kinetic + self.pin.computePotentialEnergy(self.model, self.data, later))

        return (energy(_STEP) - energy(-_STEP)) / (2.0 * _STEP)


def pinocchio_result(machine: Machine, joint_positions: Array, motion: PlatformMotion) -> EngineResult:
    """Forces of a machine with a platform by Pinocchio; joint positions (N, L, J) close its loops."""
    tree = PinocchioTree(machine)
    rows: list[tuple[Any, ...]] = []
    for sample in range(len(motion)):  # Pinocchio takes one sample at a time
        configuration, velocity, acceleration, left_open = tree.state(joint_positions[sample], motion, sample)
        torques = tree.tree_torques(configuration, velocity, acceleration)
        forces, multipliers = tree.project(configuration, torques)
        gap, tips = tree.gap(), tree.tip_forces(multipliers)
        rate = tree.energy_rate(configuration, velocity, acceleration)
        joint_forces, joint_moments = tree.reactions(configuration, velocity, acceleration, tips)
        legs = slice(0, tree.leg_coordinates)
        rows.append(
            (gap, left_open, velocity[legs], acceleration[legs], forces, -tips, joint_forces, joint_moments, rate)
        )
    gaps, residuals, velocities, accelerations, drives, closures, joint_forces, joint_moments, rates = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    shape = joint_positions.shape
    mass = float(tree.pin.computeTotalMass(tree.model))
    return EngineResult(
        gaps, residuals, velocities.reshape(shape), accelerations.reshape(shape), drives, closures, mass,
        joint_forces, joint_moments, rates,
    )  # fmt: skip


def pinocchio_open_chain(machine: Machine, positions: Array, velocities: Array, accelerations: Array) -> EngineResult:
    """Joint forces (N, L, J) of a machine without a platform, without friction."""
    tree = PinocchioTree(machine)
    flat = [array.reshape(len(positions), -1) for array in (positions, velocities, accelerations)]
    forces = np.array([tree.tree_torques(*state) for state in zip(*flat, strict=True)])
    rates = np.array([tree.energy_rate(*state) for state in zip(*flat, strict=True)])
    none = np.zeros(len(positions))
    mass = float(tree.pin.computeTotalMass(tree.model))
    return EngineResult(
        none, none, velocities, accelerations, forces.reshape(positions.shape), np.zeros((len(positions), 0, 3)), mass,
        energy_rates=rates,
    )  # fmt: skip
