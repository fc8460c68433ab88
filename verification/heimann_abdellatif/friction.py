"""Heimann and Abdellatif: friction of all joints by virtual power, sign and dead band."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pkm_description.dynamics import friction_forces, inverse_dynamics
from pkm_description.friction_laws import (
    Sign,
    ViscousCoulomb,
    friction_law_names,
)
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import JointFriction, Machine, PlatformMotion
from pkm_description.machine.machine import with_friction
from pkm_description.motion.profiles import profile

from pkm_bringup import LegReference, LegServo, ServoSettings
from verification.check import Check, at_most, near_each, relative_error
from verification.mechanics.friction import power_check, rubbing, scaled


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
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
