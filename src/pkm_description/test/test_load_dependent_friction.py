"""Friction that grows with the force in the joint: Lagrange multipliers, and forward against inverse dynamics."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from changed_machines import translation
from other_machines import CLOSED, cart_with_pendulum, planar_prr
from pkm_description.arrays import Array
from pkm_description.dynamics import forward_dynamics, friction_parameters, friction_regressor, inverse_dynamics
from pkm_description.dynamics.friction import friction_forces, friction_loads
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.errors import ConvergenceError
from pkm_description.friction_laws import LoadDependentStribeck, Sign, guide_loads
from pkm_description.kinematics import drive_positions, joint_motion, motion_from_drives
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.machine import Joint, JointFriction, Machine, PlatformMotion, RigidBody
from pkm_description.machine.machine import with_friction

from verification.rosyid_2020.dynamics import PlanarDynamics
from verification.rosyid_2020.model import PlanarGeometry

# Rosyid & El-Khasawneh 2020, Table 1, estimates
SLIDER, LEGS, PLATFORM = 7.2614, (12.1299, 10.0817, 14.4665), 31.3359
MOMENTS, INERTIAS = (3.3970, 2.4049, 3.6484, 8.2238), (1.2206, 0.7421, 1.5088, 2.9509)
LAW = LoadDependentStribeck(
    viscous=83.1797, coulomb_coefficient=0.1449, static_coefficient=0.3016, stribeck_velocity=0.3281
)
GRAVITY = 9.81
TIME = np.linspace(0.05, 2.0, 25)


def driven_law(law: LoadDependentStribeck) -> Callable[[Joint], JointFriction]:
    return lambda joint: JointFriction(law=law) if joint.actuated else JointFriction()


def flat_body(name: str, mass: float, moment: float, inertia: float) -> RigidBody:
    """Body whose centre of mass lies on its x axis; ``inertia`` about z through the origin."""
    central = inertia - moment**2 / mass
    return RigidBody(name, mass, np.array([moment / mass, 0.0, 0.0]), np.diag([0.5 * central, 0.6 * central, central]))


def rosyid(gravity: tuple[float, float, float]) -> tuple[Machine, PlanarDynamics]:
    """The paper's machine, and the same by Lagrange's equations with multipliers."""
    machine = planar_prr()
    legs = []
    for leg, mass, moment, inertia in zip(machine.legs, LEGS, MOMENTS, INERTIAS, strict=False):
        slider, rod = leg.joints
        slider = dataclasses.replace(slider, body=flat_body(slider.body.name, SLIDER, 0.0, 0.01), rotor_inertia=0.0)
        rod = dataclasses.replace(rod, body=flat_body(rod.body.name, mass, moment, inertia))
        point = leg.platform_point * [1.0, 0.0, 1.0]
        legs.append(dataclasses.replace(leg, joints=(slider, rod)).with_end(other_point=point))
    machine = dataclasses.replace(
        machine,
        legs=tuple(legs),
        platform=flat_body(machine.platform.name, PLATFORM, MOMENTS[3], INERTIAS[3]),
        gravity=np.array(gravity),
    )
    geometry = PlanarGeometry(np.array([0.6, 0.475, 0.604]), np.array([0.28, 0.0, 0.28]), np.array([-1.0, -1.0, 1.0]))
    parameters = np.array([SLIDER] * 3 + list(LEGS) + list(MOMENTS[:3]) + list(INERTIAS[:3]))
    parameters = np.concatenate([parameters, [PLATFORM, MOMENTS[3], 0.0, INERTIAS[3]]])
    return machine, PlanarDynamics(geometry, parameters, np.array(gravity[:2]))


@pytest.fixture(scope='module')
def vertical() -> tuple[Machine, PlanarDynamics]:
    return rosyid((0.0, -GRAVITY, 0.0))


def drive_motion(machine: Machine) -> PlatformMotion:
    """Drives on sines of their own frequencies around home."""
    home = machine.home
    start = drive_positions(machine, home.position[None], home.rotation_base_platform[None])[0]
    frequency = np.linspace(3.0, 5.0, machine.actuated_count)
    angle, size = TIME[:, None] * frequency + np.arange(machine.actuated_count), 0.03
    return motion_from_drives(
        machine, TIME, start + size * np.sin(angle),
        size * frequency * np.cos(angle), -size * frequency**2 * np.sin(angle),
    )  # fmt: skip


def multipliers(oracle: PlanarDynamics, machine: Machine, motion: PlatformMotion) -> tuple[Array, ...]:
    """Coordinates, velocities, slider forces without friction and signed guide normals of the Lagrangian model."""
    turn = motion.rotation_base_platform
    pose = np.column_stack([motion.position[:, :2], np.arctan2(turn[:, 1, 0], turn[:, 0, 0])])
    q = oracle.geometry.coordinates(pose)
    sliders = joint_motion(machine, motion)
    np.testing.assert_allclose(q[:, :3], sliders.positions[:, ::2], atol=1e-12)
    velocity = oracle.geometry.velocities(q, np.arange(3), sliders.velocities[:, ::2])
    forces, found = oracle.inverse_by_partition(q, velocity, sliders.accelerations[:, ::2])
    return q, velocity, forces, found[:, :3]


def test_loads_of_the_guides_are_the_multipliers(vertical):
    machine, oracle = vertical
    rubbing = with_friction(machine, driven_law(LAW))
    motion = drive_motion(rubbing)
    _, _, forces, normal = multipliers(oracle, rubbing, motion)
    np.testing.assert_allclose(inverse_dynamics(rubbing, motion, friction=False), forces, atol=1e-9)
    loads = friction_loads(rubbing, motion)
    np.testing.assert_allclose(loads[:, ::2], np.abs(normal), rtol=1e-10)
    assert (normal.min(axis=0) < normal.max(axis=0) - 10.0).all()  # they do vary


def test_guides_carry_the_weight_at_rest(vertical):
    machine, _ = vertical
    rubbing = with_friction(machine, driven_law(LAW))
    rest = PlatformMotion.at_rest(machine.home.position, machine.home.rotation_base_platform)
    signed = joint_reactions(rubbing, rest).joint_forces[0, ::2, 1]
    assert signed.sum() == pytest.approx(880.92, abs=5e-3)
    np.testing.assert_allclose(friction_loads(rubbing, rest)[0, ::2], np.abs(signed), rtol=1e-12)


def test_inverse_dynamics_adds_friction_of_the_multipliers(vertical):
    machine, oracle = vertical
    law = dataclasses.replace(LAW, additional_load=120.0)
    rubbing = with_friction(machine, driven_law(law))
    motion = drive_motion(rubbing)
    _, velocity, forces, normal = multipliers(oracle, rubbing, motion)
    speed = velocity[:, :3]
    level = 0.1449 + (0.3016 - 0.1449) * np.exp(-np.abs(speed) / 0.3281)
    friction = (level * np.abs(normal) + 0.1449 * 120.0) * np.sign(speed) + 83.1797 * speed
    np.testing.assert_allclose(inverse_dynamics(rubbing, motion), forces + friction, atol=1e-9)
    np.testing.assert_allclose(friction_forces(rubbing, motion), friction, atol=1e-9)
    regressor = friction_regressor(rubbing, joint_motion(rubbing, motion), loads=friction_loads(rubbing, motion))
    assert regressor.shape == (len(TIME), 3, 9)
    np.testing.assert_allclose(regressor @ friction_parameters(rubbing), friction, atol=1e-9)


def test_forward_dynamics_settles_where_the_lagrangian_model_does(vertical):
    machine, oracle = vertical
    law = LAW.with_sign(Sign('tanh', 1e-3))
    rubbing = with_friction(machine, driven_law(law))
    motion = drive_motion(rubbing)
    q, velocity, forces, normal = multipliers(oracle, rubbing, motion)
    forces = forces + np.random.default_rng(2).normal(0.0, 40.0, forces.shape)
    expected, moved = oracle.accelerations_with_friction(q, velocity, forces, law.force)
    acceleration = forward_dynamics(rubbing, motion.position, motion.rotation_base_platform, motion.twist, forces)
    np.testing.assert_allclose(acceleration[:, [0, 1, 5]], expected[:, 9:], atol=1e-8 * np.abs(expected).max())
    assert np.abs(moved[:, :3] - normal).max() > 1.0  # other forces, other loads


def test_weight_across_the_plane_comes_as_additional_load():
    """The experiment: the machine lies flat, its weight presses on the guides across the plane of motion."""
    machine, _ = rosyid((0.0, 0.0, -GRAVITY))
    weight = guide_loads(SLIDER, LEGS, PLATFORM, [0.7, 0.2, 0.1], GRAVITY)
    place = {leg.joints[0].name: load for leg, load in zip(machine.legs, weight, strict=True)}

    def friction(joint: Joint) -> JointFriction:
        if not joint.actuated:
            return JointFriction()
        return JointFriction(law=dataclasses.replace(LAW, viscous=0.0, additional_load=place[joint.name]))

    rubbing = with_friction(machine, friction)
    # so slow that nothing but the weight loads the guides
    motion = translation(np.zeros(1), machine.home, np.zeros((1, 3)), np.array([[1e-6, 0.0, 0.0]]))
    assert friction_loads(rubbing, motion).max() < 1e-9
    np.testing.assert_allclose(friction_forces(rubbing, motion), [[58.74, 33.56, 35.34]], atol=6e-3)


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
    motion = drive_motion(machine)
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


def test_a_joint_that_locks_itself_is_named(vertical):
    machine, _ = vertical
    law = dataclasses.replace(LAW, coulomb_coefficient=40.0, static_coefficient=40.0)
    rubbing = with_friction(machine, driven_law(law))
    motion = drive_motion(rubbing)
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
