"""The library's model of the planar 3-PRR machine file against the paper's model of the same robot."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    reduce_parameters,
    rigid_body_parameter_names,
    rigid_body_regressor,
)
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.errors import KinematicsError, SingularPoseError
from pkm_description.kinematics import forward_kinematics, joint_motion, motion_from_drives
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, PlatformMotion, RigidBody
from pkm_description.machine.machine import with_gravity, with_payload
from scipy.linalg import null_space

from verification.check import Check, agree, at_most, equal, refused, relative_error
from verification.rosyid_2020 import table
from verification.rosyid_2020.dynamics import base_parameters
from verification.rosyid_2020.model import ACTIVE, PlanarSamples

#: m/s^2, directions of gravity to try: across the plane, down in the plane, aslant
_GRAVITIES = ((0.0, 0.0, -9.81), (0.0, -9.81, 0.0), (3.0, -5.0, 2.0))


def platform_motion(q: Array, velocity: Array, acceleration: Array) -> PlatformMotion:
    """The library's form of motions in the paper's coordinates (N, 12)."""
    along, about = np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])

    def vectors(values: Array) -> tuple[Array, Array]:
        return np.hstack([values[:, 9:11], np.zeros((len(values), 1))]) * along, values[:, 11:] * about

    place, turn = vectors(q)
    linear, angular = vectors(velocity)
    second, turning = vectors(acceleration)
    return PlatformMotion(np.arange(len(q), dtype=float), place, rotation_exp(turn), linear, angular, second, turning)


def library_checks(machine: Machine, samples: PlanarSamples) -> Iterator[Check]:
    """Compare kinematics, forces, reactions, friction and singular poses."""
    motion = platform_motion(samples.q, samples.velocity, samples.acceleration)
    yield from kinematic_checks(machine, samples, motion)
    for gravity in _GRAVITIES:
        turned = with_gravity(machine, np.array(gravity))
        yield from force_checks(turned, samples, motion)
    vertical = with_gravity(machine, np.array(_GRAVITIES[1]))
    yield from load_checks(vertical, samples, motion)
    yield from forward_checks(machine, 'horizontal', samples, motion)
    yield from forward_checks(vertical, 'vertical', samples, motion)
    yield from base_checks(vertical, samples, motion)


def kinematic_checks(machine: Machine, samples: PlanarSamples, motion: PlatformMotion) -> Iterator[Check]:
    """Inverse and forward kinematics, dependent rates, poses out of reach, the other assembly mode, singular poses."""
    geometry, q = table.geometry_of(machine), samples.q
    legs = joint_motion(machine, motion)
    ours = _coordinates(legs.positions, motion)
    yield at_most('R2-01', "the library's joint positions in the paper's closures", 1e-12, geometry.closure(ours), 'm')
    yield at_most('R2-02', "inverse kinematics = the paper's", 1e-10, ours - q)
    solved = forward_kinematics(machine, legs.positions[:, ::2]).require()
    error = (
        np.abs(solved.position - motion.position).max()
        + np.abs(solved.rotation_base_platform - motion.rotation_base_platform).max()
    )
    yield at_most('R2-02', 'forward kinematics gives the pose back', 1e-10, error)
    above = motion.position[:1] * [1.0, 0.0, 1.0] + [0.0, 0.7, 0.0], motion.rotation_base_platform[:1]
    yield refused('R2-02', 'pose out of reach', KinematicsError, close_legs, machine, *above)
    driven = motion_from_drives(
        machine, motion.time, legs.positions[:, ::2], samples.velocity[:, ACTIVE], samples.acceleration[:, ACTIVE]
    )
    for source, state in (('pose', motion), ('sliders', driven)):
        joints = joint_motion(machine, state)
        place = _coordinates(joints.positions, state)
        velocity = _coordinates(joints.velocities, state, 'velocity')
        acceleration = _coordinates(joints.accelerations, state, 'acceleration')
        jacobian = geometry.jacobian(place)
        left = (jacobian @ velocity[..., None])[..., 0]
        yield at_most('R2-04', f"B q' = 0 with the library's velocities from the {source}", 1e-10, left)
        left = (jacobian @ acceleration[..., None])[..., 0] + geometry.drift(place, velocity)
        yield at_most('R2-04', f"B q'' + B' q' = 0 with its accelerations from the {source}", 1e-10, left)
        error = relative_error(acceleration[:, ACTIVE], samples.acceleration[:, ACTIVE])
        yield at_most('R2-04', f'slider accelerations as given, from the {source}, relative', 1e-9, error)
    yield from _other_mode_checks(machine)
    yield from _singular_checks(machine)


def _other_mode_checks(machine: Machine) -> Iterator[Check]:
    """Assembly mode by the file's home: the third rod leaning to the other side."""
    geometry = table.geometry_of(machine)
    other = dataclasses.replace(geometry, sides=geometry.sides * [1.0, 1.0, -1.0])
    home = np.array([[machine.home.position[0], machine.home.position[1], 0.0]])
    there = other.coordinates(home)
    slider, pivot = machine.legs[2].joints
    joints = (
        dataclasses.replace(slider, home=float(there[0, 2])),
        dataclasses.replace(pivot, home=float(there[0, 8])),
    )
    changed = dataclasses.replace(
        machine, legs=(*machine.legs[:2], dataclasses.replace(machine.legs[2], joints=joints))
    )
    pose = home + np.array([[0.02, 0.03, 0.1]])
    expected = other.coordinates(pose)
    still = platform_motion(expected, np.zeros((1, 12)), np.zeros((1, 12)))
    found = _coordinates(joint_motion(changed, still).positions, still)
    yield at_most('R2-01', 'assembly mode given by the home of the third leg', 1e-10, found - expected)


def _singular_checks(machine: Machine) -> Iterator[Check]:
    q = table.geometry_of(machine).singular_coordinates()
    motion = platform_motion(q, np.zeros((1, 12)), np.zeros((1, 12)))
    what = 'inverse dynamics with rod 2 in line with the platform'
    yield refused('R2-13', what, SingularPoseError, inverse_dynamics, machine, motion, False)


def force_checks(machine: Machine, samples: PlanarSamples, motion: PlatformMotion) -> Iterator[Check]:
    """Forces and reactions in one gravity."""
    robot = table.dynamics_of(machine)
    where = f'g = {machine.gravity[0]:g}, {machine.gravity[1]:g} in the plane'
    forces, multipliers = robot.inverse_by_partition(samples.q, samples.velocity, samples.acceleration[:, ACTIVE])
    error = relative_error(inverse_dynamics(machine, motion, friction=False), forces)
    yield at_most('R2-07', f"inverse dynamics = the paper's, {where}, relative", 1e-9, error)
    reactions = joint_reactions(machine, motion, friction=False)
    gap = np.abs(reactions.joint_forces[:, ::2, 1] - robot.normal_forces(multipliers))
    yield at_most('R2-08', f'guide forces = multipliers, {where}', 1e-9, gap, 'N')
    pins = multipliers[:, 3:].reshape(-1, 3, 2)
    gap = np.abs(reactions.closure_forces[..., :2] - pins)
    yield at_most('R2-08', f'pin forces = multipliers, {where}', 1e-9, gap, 'N')
    still = np.zeros_like(samples.q)
    weight, static = robot.inverse_by_partition(samples.q, still, still[:, ACTIVE])
    found = gravity_forces(machine, motion.position, motion.rotation_base_platform)
    yield at_most('R2-10', f"gravity forces = the paper's, {where}", 1e-9, found - weight, 'N')
    at_rest = joint_reactions(machine, platform_motion(samples.q, still, still), friction=False)
    gap = np.abs(at_rest.joint_forces[:, ::2, 1] - robot.normal_forces(static))
    yield at_most('R2-11', f'static guide forces = multipliers, {where}', 1e-9, gap, 'N')


def load_checks(machine: Machine, samples: PlanarSamples, motion: PlatformMotion) -> Iterator[Check]:
    """Payload and external wrench, and the weight on the guides."""
    robot = table.dynamics_of(machine)
    sliders = samples.acceleration[:, ACTIVE]
    wrench = np.random.default_rng(5).uniform(-50.0, 50.0, (len(motion), 3))
    outside = np.zeros((len(motion), 6))
    outside[:, [0, 1, 5]] = wrench
    found = inverse_dynamics(machine, motion, friction=False, external_wrench=outside)
    expected, _ = robot.inverse_by_partition(samples.q, samples.velocity, sliders, wrench)
    yield agree('R2-10', 'forces with an external wrench', 1e-9, found, expected)
    payload = RigidBody('payload', 12.0, np.array([0.1, 0.07, 0.2]), np.diag([0.2, 0.3, 0.4]))
    loaded = with_payload(machine, payload)
    x, y = payload.center_of_mass[:2]
    added = payload.mass * np.array([1.0, x, y, x**2 + y**2]) + [0.0, 0.0, 0.0, payload.inertia[2, 2]]
    heavier = dataclasses.replace(robot, parameters=robot.parameters + np.concatenate([np.zeros(12), added]))
    found = inverse_dynamics(loaded, motion, friction=False)
    expected, _ = heavier.inverse_by_partition(samples.q, samples.velocity, sliders)
    yield agree('R2-10', 'forces with a payload', 1e-9, found, expected)
    still = np.zeros_like(samples.q)
    at_rest = joint_reactions(machine, platform_motion(samples.q, still, still), friction=False)
    mass = machine.platform.mass + sum(joint.body.mass for leg in machine.legs for joint in leg.joints)
    error = at_rest.joint_forces[:, ::2, 1].sum(axis=1) + mass * machine.gravity[1]
    yield at_most('R2-11', 'static guide forces sum to the weight of 811.25 N', 1e-9, error, 'N')


def forward_checks(machine: Machine, where: str, samples: PlanarSamples, motion: PlatformMotion) -> Iterator[Check]:
    """Friction that grows with the normal force, both ways."""
    robot = table.dynamics_of(machine)
    rigid, multipliers = robot.inverse_by_partition(samples.q, samples.velocity, samples.acceleration[:, ACTIVE])
    loads = [leg.joints[0].friction.law.mapping()['additional_load'] for leg in machine.legs]
    extra = np.array(loads)

    def friction(speed: Array, normal: Array) -> Array:
        coulomb, viscous, static, scale = table.FRICTION
        level = coulomb + (static - coulomb) * np.exp(-np.abs(speed / scale))
        return np.sign(speed) * (level * np.abs(normal) + coulomb * extra) + viscous * speed

    expected = rigid + friction(samples.velocity[:, ACTIVE], multipliers[:, :3])
    forces = inverse_dynamics(machine, motion)
    yield agree('R2-12', f'forces with Eqs. 23-25, 39-41, {where}', 1e-9, forces, expected)
    free, _ = robot.accelerations_with_friction(samples.q, samples.velocity, forces, friction)
    yield agree('R2-12', f"the paper's forward dynamics under our forces, {where}", 1e-9, free, samples.acceleration)
    found = forward_dynamics(machine, motion.position, motion.rotation_base_platform, motion.twist, expected)
    yield agree('R2-12', f"our forward dynamics under the paper's forces, {where}", 1e-9, found, motion.acceleration)


def base_checks(machine: Machine, samples: PlanarSamples, motion: PlatformMotion) -> Iterator[Check]:
    """The library's regressor against the paper's, and its null space against the closed form."""
    robot = table.dynamics_of(machine)
    names = rigid_body_parameter_names(machine, identical_legs=False)
    full = rigid_body_regressor(machine, motion, identical_legs=False) @ table.embedding(names, machine)
    paper = robot.regressor(samples.q, samples.velocity, samples.acceleration[:, ACTIVE])
    yield agree('R2-06', "regressor of 16 columns = the paper's", 1e-9, full, paper)
    hidden = null_space(base_parameters(robot.geometry, np.eye(16)).T)
    error = np.abs(full @ hidden).max() / np.abs(full).max()
    yield at_most('R2-39', "closed form = null space of the library's regressor, relative", 1e-9, error)
    printed = table.printed_parameters()
    base = reduce_parameters((full @ printed).reshape(-1, printed.shape[1]), table.PRINTED_NAMES)
    yield equal('R2-39', "base parameters of the paper's 13 from the library's regressor", 9, len(base))
    closed = np.delete(base_parameters(robot.geometry, printed.T).T, 8, axis=0)  # without the y moment
    closed = np.asarray(np.linalg.solve(closed[:, base.independent], closed), dtype=float)
    error = np.abs(base.combination - closed).max()
    yield at_most('R2-39', 'their combinations = the closed form', 1e-9, error)


def _coordinates(joints: Array, motion: PlatformMotion, of: str = 'position') -> Array:
    """The paper's coordinates (N, 12), or their time derivatives, of the library's joints (N, 6) and platform."""
    if of == 'position':
        rotation = motion.rotation_base_platform
        platform = motion.position, np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])
    elif of == 'velocity':
        platform = motion.linear_velocity, motion.angular_velocity[:, 2]
    else:
        platform = motion.linear_acceleration, motion.angular_acceleration[:, 2]
    none = np.zeros((len(joints), 3))
    return np.hstack([joints[:, ::2], none, joints[:, 1::2], platform[0][:, :2], platform[1][:, None]])
