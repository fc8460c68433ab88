"""The open-tree model of a machine in Pinocchio, and drive forces computed with it alone.

Nothing of the package's kinematics or dynamics is used: Pinocchio gives the torques of the open tree and the
Jacobians of the closing points; the closures enter as multipliers, ``tau = S^T f + J_c^T lambda``.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from pkm_description.machine.model import Machine, RigidBody
from pkm_description.motion import PlatformMotion

Array = NDArray[np.float64]


def _inertia(body: RigidBody) -> pin.Inertia:
    return pin.Inertia(body.mass, body.center_of_mass, body.inertia)


class PinocchioOracle:
    """Tree of legs plus a free-flying platform; configuration = legs joint by joint, then the platform."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        model = pin.Model()
        model.gravity.linear = machine.gravity
        kinds = {'revolute': pin.JointModelRevoluteUnaligned, 'prismatic': pin.JointModelPrismaticUnaligned}
        self.tips, self.anchors, self.driven = [], [], []
        for leg in machine.legs:
            parent = 0
            for joint in leg.joints:
                placement = pin.SE3(joint.rotation_parent_joint, joint.translation)
                parent = model.addJoint(parent, kinds[joint.kind](joint.axis), placement, joint.name)
                model.appendBodyToJoint(parent, _inertia(joint.body), pin.SE3.Identity())
                if joint.actuated:
                    self.driven.append(model.joints[parent].idx_v)
            self.tips.append(self._frame(model, f'{leg.name}_tip', parent, leg.tip))
        platform = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'platform')
        model.appendBodyToJoint(platform, _inertia(machine.platform), pin.SE3.Identity())
        for leg in machine.legs:
            self.anchors.append(self._frame(model, f'{leg.name}_anchor', platform, leg.platform_point))
        self.model, self.data = model, model.createData()

    @staticmethod
    def _frame(model: pin.Model, name: str, joint: int, point: Array) -> int:
        return int(model.addFrame(pin.Frame(name, joint, pin.SE3(np.eye(3), point), pin.FrameType.OP_FRAME)))

    def configuration(self, joint_positions: Array, position: Array, rotation: Array) -> Array:
        """Configuration vector of joint positions (L, J) and a platform pose."""
        quaternion = pin.Quaternion(rotation).coeffs()
        return np.concatenate([joint_positions.ravel(), position, quaternion])

    def closure_jacobian(self, configuration: Array) -> Array:
        """Rows: velocity of every tip minus velocity of its anchor, base axes, (3 L, nv)."""
        pin.computeJointJacobians(self.model, self.data, configuration)
        pin.updateFramePlacements(self.model, self.data)
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return np.vstack(
            [
                pin.getFrameJacobian(self.model, self.data, tip, world)[:3]
                - pin.getFrameJacobian(self.model, self.data, anchor, world)[:3]
                for tip, anchor in zip(self.tips, self.anchors, strict=True)
            ]
        )

    def state(
        self, joint_positions: Array, motion: PlatformMotion, sample: int
    ) -> tuple[Array, Array, Array]:
        """Configuration, velocity, acceleration of the tree; rates of the legs solved from the closures."""
        rotation = motion.rotation_base_platform[sample]
        configuration = self.configuration(joint_positions, motion.position[sample], rotation)
        jacobian = self.closure_jacobian(configuration)
        spin = motion.angular_velocity[sample]
        free = np.concatenate([rotation.T @ motion.linear_velocity[sample], rotation.T @ spin])
        velocity = np.concatenate([np.linalg.solve(jacobian[:, :-6], -jacobian[:, -6:] @ free), free])
        # Pinocchio's free-flyer acceleration is the spatial one in body axes: a_origin = a_spatial + w x v
        linear = motion.linear_acceleration[sample] - np.cross(spin, motion.linear_velocity[sample])
        free_acceleration = np.concatenate(
            [rotation.T @ linear, rotation.T @ motion.angular_acceleration[sample]]
        )
        pin.forwardKinematics(self.model, self.data, configuration, velocity, np.zeros(self.model.nv))
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        drift = np.concatenate(
            [
                pin.getFrameClassicalAcceleration(self.model, self.data, tip, world).linear
                - pin.getFrameClassicalAcceleration(self.model, self.data, anchor, world).linear
                for tip, anchor in zip(self.tips, self.anchors, strict=True)
            ]
        )
        legs = np.linalg.solve(jacobian[:, :-6], -jacobian[:, -6:] @ free_acceleration - drift)
        return configuration, velocity, np.concatenate([legs, free_acceleration])

    def project(self, configuration: Array, torques: Array) -> Array:
        """Drive forces (L, ...) of tree torques (nv, ...): solve ``torques = S^T f + J_c^T lambda``."""
        jacobian = self.closure_jacobian(configuration)
        selection = np.zeros((self.model.nv, len(self.driven)))
        selection[self.driven, np.arange(len(self.driven))] = 1.0
        return np.linalg.solve(np.hstack([selection, jacobian.T]), torques)[: len(self.driven)]

    def drive_forces(self, joint_positions: Array, motion: PlatformMotion, sample: int) -> Array:
        """Drive forces (L,) of one sample."""
        configuration, velocity, acceleration = self.state(joint_positions, motion, sample)
        return self.project(
            configuration, pin.rnea(self.model, self.data, configuration, velocity, acceleration)
        )
