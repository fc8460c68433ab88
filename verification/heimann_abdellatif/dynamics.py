"""Heimann & Abdellatif, R4-09, R4-10, R4-14 to R4-16, R4-21, R4-22: forces, power, simulation, reactions, friction."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    forward_dynamics,
    friction_forces,
    inverse_dynamics,
    kinetic_energy,
    potential_energy,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.friction_laws import (
    Sign,
    ViscousCoulomb,
    friction_law_names,
)
from pkm_description.kinematics import drive_jacobian, joint_motion
from pkm_description.kinematics.closed_legs import platform_joints
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Joint, JointFriction, Machine, PlatformMotion, RigidBody
from pkm_description.machine.machine import with_friction, with_joints
from pkm_description.motion.fourier import FourierSeries
from pkm_description.motion.profiles import fourier_profile, profile

from pkm_bringup import LegReference, LegServo, ServoSettings
from verification.check import Check, agree, at_most, equal, near_each, relative_error
from verification.mechanics import lagrange
from verification.mechanics.friction import power_check, rubbing, scaled
from verification.mechanics.momentum import momentum_rates

#: m/s and rad/s, of the tanh in place of the sign of dry friction in simulation
_SMOOTHING = 1e-3


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Judge the rigid-body model of a hexapod."""
    motion = random_states(machine, 20 if quick else 200, seed=41)
    yield from force_checks(machine, motion)
    series = fourier_profile(machine, 10.0, seed=43)
    yield from power_checks(machine, series, 1001)
    yield from simulation_checks(machine, series, 0.04 if quick else 0.2)
    yield from reaction_checks(machine, motion)


def force_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """R4-09 and R4-10: against Lagrange, and as a product of regressor and parameters."""
    forces = inverse_dynamics(machine, motion, friction=False)
    jacobian = drive_jacobian(machine, motion.position, motion.rotation_base_platform)
    generalised = (forces[:, None] @ jacobian)[:, 0]
    error = relative_error(generalised, lagrange.generalised_forces(machine, motion))
    bodies = 1 + len(machine.joints)
    yield at_most('R4-09', f'inverse dynamics of {bodies} bodies = Lagrange, relative', 1e-8, error)
    other = with_random_bodies(machine, seed=42)
    regressor = rigid_body_regressor(machine, motion, identical_legs=False)
    for what, one in (("the machine's parameters", machine), ('random parameters', other)):
        product = regressor @ rigid_body_parameters(one, identical_legs=False)
        error = relative_error(product, inverse_dynamics(one, motion, friction=False))
        yield at_most('R4-10', f'regressor x {what} = inverse dynamics, relative', 1e-10, error)


def power_checks(machine: Machine, series: FourierSeries, samples: int) -> Iterator[Check]:
    """R4-14: energy put in by the drives along a motion, by Simpson's rule."""
    motion = series.evaluate(np.linspace(3.0, 5.0, samples))
    forces = inverse_dynamics(machine, motion, friction=False)
    power = np.sum(forces * joint_motion(machine, motion).velocities[..., machine.drive_columns], axis=1)
    step = motion.time[1] - motion.time[0]
    work = step / 3.0 * np.cumsum(power[:-2:2] + 4.0 * power[1:-1:2] + power[2::2])
    pose = motion.position, motion.rotation_base_platform
    energy = kinetic_energy(machine, *pose, motion.twist) + potential_energy(machine, *pose)
    error = relative_error(work, energy[2::2] - energy[0])
    yield at_most('R4-14', 'work of the drives = change of T + V, Fourier motion of 2 s, relative', 1e-6, error)


def simulation_checks(machine: Machine, series: FourierSeries, duration: float) -> Iterator[Check]:
    """R4-15: forward simulation with friction under the forces of the inverse dynamics follows the motion."""
    rubbing = with_friction_everywhere(machine, seed=44)
    step = 2e-3
    # several pieces of the motion are simulated as one batch
    starts = np.array([2.5, 4.0, 5.5, 7.0])
    state = series.evaluate(starts)

    def acceleration(state: PlatformMotion, time: float) -> Array:
        wanted = series.evaluate(starts + time)
        forces = inverse_dynamics(rubbing, wanted, sign_smoothing=_SMOOTHING)
        return forward_dynamics(
            rubbing, state.position, state.rotation_base_platform, state.twist, forces, sign_smoothing=_SMOOTHING
        )

    for count in range(round(duration / step)):
        state = _runge_kutta_step(state, acceleration, count * step, step)
    wanted = series.evaluate(starts + duration)
    what = f'simulation of {duration} s with friction in 18 joints follows the motion'
    yield at_most('R4-15', f'{what}, position', 1e-6, state.position - wanted.position, 'm')
    turned = rotation_log(np.swapaxes(state.rotation_base_platform, 1, 2) @ wanted.rotation_base_platform)
    yield at_most('R4-15', f'{what}, rotation', 1e-6, turned, 'rad')
    if machine.name == 'palida':
        noise = sorted(set(machine.leg_sensors.position_noise.tolist()))
        yield equal('R4-15', 'noise of the position sensors, m', [2e-5], noise)


def reaction_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """R4-16: joint reactions move the platform and each leg according to Newton and Euler."""
    reactions = joint_reactions(machine, motion, friction=False)
    needed = momentum_rates(machine, motion)
    joints = platform_joints(machine, motion.position, motion.rotation_base_platform)
    on_platform = reactions.closure_forces
    moments = np.cross(joints, on_platform)
    yield agree('R4-16', 'forces of the legs move the platform', 1e-6, on_platform.sum(axis=1), needed[0, 0])
    yield agree('R4-16', 'their moments turn the platform', 1e-6, moments.sum(axis=1), needed[0, 1])
    base = reactions.joint_forces[:, ::3]
    force = np.moveaxis(base - on_platform, 1, 0)
    yield agree('R4-16', 'base and platform joint move each leg', 1e-6, force, needed[1:, 0])
    moment = np.cross(machine.base_points, base) + reactions.joint_moments[:, ::3] - moments
    yield agree('R4-16', 'base and platform joint turn each leg', 1e-6, np.moveaxis(moment, 1, 0), needed[1:, 1])


def with_random_bodies(machine: Machine, seed: int) -> Machine:
    """The same joints with bodies of general mass, centre of mass and full inertia."""
    random = np.random.default_rng(seed)

    def body(old: RigidBody) -> RigidBody:
        root = random.normal(size=(3, 3))
        return RigidBody(old.name, random.uniform(0.5, 20.0), 0.2 * random.normal(size=3), 0.1 * root @ root.T)

    platform = dataclasses.replace(machine, platform=body(machine.platform))
    return with_joints(platform, lambda joint: dataclasses.replace(joint, body=body(joint.body)))


def with_friction_everywhere(machine: Machine, seed: int) -> Machine:
    """The machine with viscous and dry friction in every joint, drawn from plausible ranges."""
    random = np.random.default_rng(seed)

    def friction(joint: Joint) -> JointFriction:
        size = 1.0 if joint.kind == 'prismatic' else 0.1
        viscous, coulomb = size * random.uniform(5.0, 20.0), size * random.uniform(2.0, 8.0)
        return JointFriction.viscous_coulomb(float(viscous), float(coulomb))

    return with_friction(machine, friction)


def _runge_kutta_step(
    state: PlatformMotion, acceleration: Callable[[PlatformMotion, float], Array], time: float, step: float
) -> PlatformMotion:
    """Classical fourth-order step in the rotation vector that starts at zero."""
    start = np.concatenate([np.zeros_like(state.twist), state.twist], axis=1)

    def at(values: Array) -> PlatformMotion:
        return dataclasses.replace(
            state,
            position=state.position + values[:, :3],
            rotation_base_platform=rotation_exp(values[:, 3:6]) @ state.rotation_base_platform,
            linear_velocity=values[:, 6:9],
            angular_velocity=values[:, 9:],
        )

    def slope(values: Array, when: float) -> Array:
        # within a step the rotation vector stays so small that two terms of the inverse left Jacobian are exact
        turn, spin = values[:, 3:6], values[:, 9:]
        vector_rate = spin - 0.5 * np.cross(turn, spin) + np.cross(turn, np.cross(turn, spin)) / 12.0
        return np.concatenate([values[:, 6:9], vector_rate, acceleration(at(values), when)], axis=1)

    first = slope(start, time)
    second = slope(start + 0.5 * step * first, time + 0.5 * step)
    third = slope(start + 0.5 * step * second, time + 0.5 * step)
    fourth = slope(start + step * third, time + step)
    return at(start + step / 6.0 * (first + 2.0 * second + 2.0 * third + fourth))


def friction_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """R4-21 and R4-22: other laws in all joints, sign and dead band."""
    motion = random_states(machine, 20 if quick else 100, seed=23)
    for name in friction_law_names():
        yield power_check('R4-21', machine, name, motion)

    band = ViscousCoulomb(viscous=0.0, coulomb=4.0, sign=Sign('dead_band', 0.004))
    yield near_each('R4-22', 'dead band of 4 mm/s: force at 1, 2, 4, 8 mm/s', [1, 2, 4, 4],
                    band.force([1e-3, 2e-3, 4e-3, 8e-3]), 1e-12, 'N')  # fmt: skip
    yield from feedforward_checks(machine)
    rough = rubbing(machine, 'viscous_coulomb')
    backwards = friction_forces(rough, scaled(motion, np.full(len(motion), -1.0)))
    error = relative_error(backwards, -friction_forces(rough, motion))
    yield at_most('R4-22', 'sign from the commanded velocity: reversed motion, reversed friction', 1e-10, error)


def feedforward_checks(machine: Machine) -> Iterator[Check]:
    """R4-22: the controller's friction is that of the desired rates, whatever is measured; dead band settable."""
    motion = profile('drives', machine, 4.0, 50.0)
    times = np.arange(0, 4 * 10**9, 2 * 10**6, dtype=np.int64)
    dry = with_friction(machine, lambda joint: JointFriction.viscous_coulomb(0.0, 4.0 * joint.actuated))
    bare = LegReference(dry, motion, 0, 'rigid_body').evaluate(times)
    for band in (0.004, 0.02):
        friction = LegReference(dry, motion, 0, 'rigid_body_friction', band).evaluate(times).forces - bare.forces
        error = np.abs(friction - 4.0 * np.clip(bare.rates / band, -1.0, 1.0)).max()
        what = f'feed-forward with a dead band of {1e3 * band:g} mm/s: error of the force'
        yield at_most('R4-22', what, 1e-9, error, 'N')
    worst = 0.0
    for name in friction_law_names():
        rough = rubbing(machine, name)
        found = LegReference(rough, motion, 0, 'rigid_body_friction', 0.0).evaluate(_nanoseconds(motion))
        worst = max(worst, relative_error(found.forces, inverse_dynamics(rough, motion)))
    what = f'feed-forward with each of {len(friction_law_names())} laws in all joints: error at the knots, relative'
    yield at_most('R4-22', what, 1e-9, worst)
    servo = LegServo(machine, 10**6, ServoSettings(feedforward='rigid_body_friction'))
    home, rate = joint_motion(machine, motion).positions[0, machine.drive_columns], np.full(6, 0.05)
    forward, backward = (servo.forces(0, home, sign * rate) for sign in (1.0, -1.0))
    error = relative_error(forward - backward, -2.0 * machine.servo.damping * rate)
    yield at_most('R4-22', 'measured velocities change the force by damping only, relative', 1e-10, error)


def _nanoseconds(motion: PlatformMotion) -> NDArray[np.int64]:
    return np.round(motion.time * 1e9).astype(np.int64)
