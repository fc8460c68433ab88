"""Friction that grows with the force in the joint: forward against inverse dynamics, joints that lock, open chains."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from drive_motions import TIME, drive_motion
from other_machines import CLOSED, cart_with_pendulum, planar_prr
from pkm_description.dynamics import forward_dynamics, inverse_dynamics
from pkm_description.dynamics.friction import friction_forces
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.errors import ConvergenceError
from pkm_description.friction_laws import LoadDependentStribeck
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.machine import Joint, JointFriction
from pkm_description.machine.machine import with_friction, with_gravity

#: Rosyid & El-Khasawneh 2020, Table 1; the machine itself: verification/rosyid_2020
LAW = LoadDependentStribeck(
    viscous=83.1797, coulomb_coefficient=0.1449, static_coefficient=0.3016, stribeck_velocity=0.3281
)


def driven_law(law: LoadDependentStribeck) -> Callable[[Joint], JointFriction]:
    return lambda joint: JointFriction(law=law) if joint.actuated else JointFriction()


@pytest.mark.parametrize('name', list(CLOSED))
def test_forward_dynamics_undoes_inverse_dynamics_with_loaded_bearings(name):
    """All joints rub in proportion to their load, so that both directions iterate, each in its own way."""

    def friction(joint: Joint) -> JointFriction:
        # coefficient on a slider; coefficient times radius, 5 mm, on a pin
        size = 0.1 if joint.kind == 'prismatic' else 0.1 * 0.005
        law = LoadDependentStribeck(
            viscous=size, coulomb_coefficient=size, static_coefficient=1.5 * size, stribeck_velocity=0.1
        )
        return JointFriction(law=law)

    machine = with_friction(CLOSED[name](), friction)
    motion = drive_motion(machine, TIME)
    forces = inverse_dynamics(machine, motion)
    share = np.abs(forces - inverse_dynamics(machine, motion, friction=False))
    assert (share.max(axis=0) > 1.0).all()
    acceleration = forward_dynamics(machine, motion.position, motion.rotation_base_platform, motion.twist, forces)
    np.testing.assert_allclose(acceleration, motion.acceleration, atol=1e-8 * np.abs(motion.acceleration).max())
    # what friction takes from the drives is what the joints lose, at the loads of the machine with this friction
    joints = joint_motion(machine, motion)
    rotations, _ = body_poses(machine, joints.positions)
    axes = (rotations @ np.array([joint.axis for joint in machine.joints])[..., None])[..., 0]
    reactions = joint_reactions(machine, motion)
    in_plane = reactions.joint_forces * ([1.0, 1.0, 0.0] if machine.planar else [1.0, 1.0, 1.0])
    across = np.linalg.norm(np.cross(in_plane, axes), axis=-1)
    kinds = [joint.kind for joint in machine.joints]
    size = np.array([0.1 if kind == 'prismatic' else 5e-4 for kind in kinds])
    speed = np.abs(joints.velocities)
    lost = size * ((1.0 + 0.5 * np.exp(-speed / 0.1)) * across * speed + speed**2)
    driven = joints.velocities[..., machine.drive_columns]
    power = np.sum(friction_forces(machine, motion) * driven, axis=1)
    np.testing.assert_allclose(power, lost.sum(axis=1), rtol=1e-9)


def test_a_joint_that_locks_itself_is_named():
    law = dataclasses.replace(LAW, coulomb_coefficient=40.0, static_coefficient=40.0)
    rubbing = with_friction(with_gravity(planar_prr(), np.array([0.0, -9.81, 0.0])), driven_law(law))
    motion = drive_motion(rubbing, TIME)
    with pytest.raises(ConvergenceError, match=r'sample \d+: friction and the forces in the joints do not settle'):
        forward_dynamics(
            rubbing, motion.position, motion.rotation_base_platform, motion.twist, np.zeros((len(TIME), 3))
        )
    # the drives of an inverse dynamics overcome any friction of their own joints
    assert np.isfinite(inverse_dynamics(rubbing, motion)).all()


def test_open_chain_with_loaded_joints():
    def friction(joint: Joint) -> JointFriction:
        size = 0.2 if joint.kind == 'prismatic' else 0.004
        law = LoadDependentStribeck(
            viscous=size, coulomb_coefficient=size, static_coefficient=size, stribeck_velocity=0.1
        )
        return JointFriction(law=law)

    machine = with_friction(cart_with_pendulum(), friction)
    random = np.random.default_rng(8)
    positions = random.uniform(-2.0, 2.0, (20, 3))
    # slow and unaccelerated, the rail carries the weight of all, each pin that of what hangs on it
    masses = np.array([joint.body.mass for joint in machine.legs[0].joints])
    carried = np.cumsum(masses[::-1])[::-1] * 9.80665
    slow, still = np.full((20, 3), 1e-9), np.zeros((20, 3))
    rub = open_chain_forces(machine, positions, slow, still) - open_chain_forces(
        machine, positions, slow, still, friction=False
    )
    np.testing.assert_allclose(rub, np.tile(carried * [0.2, 0.004, 0.004], (20, 1)), rtol=1e-8)
