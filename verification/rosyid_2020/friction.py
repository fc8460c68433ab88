"""R2-14 to R2-16, R2-18 to R2-20: friction that grows with the normal force of the guides (sections 2.2, 5.2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    friction_forces,
    friction_loads,
    friction_parameters,
    friction_regressor,
    inverse_dynamics,
)
from pkm_description.dynamics.friction import JointSelection
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.friction_laws import (
    FrictionLaw,
    LoadDependentStribeck,
    Sign,
    Stribeck,
    friction_law_names,
    guide_loads,
)
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_gravity

from verification.check import Check, agree, at_least, at_most, equal, near, near_each, refused, relative_error
from verification.mechanics.friction import typical_law

#: estimates of Table 1, kg
SLIDER, RODS, PLATFORM = 7.2614, (12.1299, 10.0817, 14.4665), 31.3359
SHARES = (0.7, 0.2, 0.1)
GRAVITY = 9.81
LAW = LoadDependentStribeck(
    viscous=83.1797, coulomb_coefficient=0.1449, static_coefficient=0.3016, stribeck_velocity=0.3281
)
#: m/s and effective coefficients that Table 1 implies
COEFFICIENTS = {0.05: 0.2795, 0.1: 0.2604, 0.2: 0.2301, 0.3281: 0.2025, 0.5: 0.1790, 1.0: 0.1523}


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Checks of the laws, and of the machine lying flat and upright."""
    yield from law_checks()
    yield from load_checks()
    yield from sign_checks()
    yield from machine_checks(machine, 20 if quick else 200)


def law_checks() -> Iterator[Check]:
    """R2-14, R2-15, R2-19: models and their numbers."""
    names = ['viscous_coulomb', 'static_coulomb', 'stribeck', 'load_dependent_stribeck']
    yield equal('R2-14', 'models', names, [name for name in names if name in friction_law_names()])
    plain = Stribeck(viscous=83.1797, coulomb=30.0, static=60.0, stribeck_velocity=0.3281)
    yield equal('R2-14', 'default exponent delta', 1.0, plain.exponent)
    speed = np.linspace(-1.0, 1.0, 400)
    printed = np.sign(speed) * (30.0 + 30.0 * np.exp(-np.abs(speed) / 0.3281)) + 83.1797 * speed
    yield agree('R2-14', 'Stribeck law = Eq. 23', 1e-12, plain.force(speed), printed)
    dry = dataclasses.replace(LAW, viscous=0.0)
    found = dry.force(list(COEFFICIENTS), 1.0)
    speeds = ', '.join(f'{v:g}' for v in COEFFICIENTS)
    yield near_each('R2-15', f'coefficient at {speeds} m/s', list(COEFFICIENTS.values()), found, 5e-5)
    loads = np.array([-300.0, -20.0, 0.0, 50.0, 400.0])
    level = dry.force(0.2, loads) / np.maximum(np.abs(loads), 1e-300)
    yield at_most('R2-15', 'level / |normal force|, scatter over loads of both signs', 1e-12, np.ptp(level[loads != 0]))
    both = LAW.force(0.4, loads) - dry.force(0.4, loads)
    yield at_most('R2-15', 'viscous part over loads -300 .. 400 N, scatter', 1e-12, np.ptp(both), 'N')
    twice = dataclasses.replace(LAW, viscous_count=2)
    yield near('R2-19', 'viscous part at 1 m/s, counted once', 83.18, float(LAW.force(1.0, 0.0)), 5e-3, 'N')
    yield near('R2-19', 'viscous part at 1 m/s, counted in both parts', 166.36, float(twice.force(1.0, 0.0)), 5e-3, 'N')


def load_checks() -> Iterator[Check]:
    """R2-16: the weight of the machine that lies flat, and how the guides share the platform's."""
    weight = guide_loads(SLIDER, RODS, PLATFORM, SHARES, GRAVITY)
    yield near_each('R2-16', 'f_n,y of the estimates', [405.41, 231.62, 243.89], weight, 5e-3, 'N')
    design = guide_loads(6.255, [11.128, 9.08, 13.372], 30.351, SHARES, GRAVITY)
    yield near_each('R2-16', 'f_n,y of the design', [378.95, 209.99, 222.32], design, 5e-3, 'N')
    laws = [dataclasses.replace(LAW, viscous=0.0, additional_load=load) for load in weight]
    moving = [law.force(0.1, 0.0) for law in laws]
    yield near_each('R2-16', 'mu_c f_n in motion', [58.74, 33.56, 35.34], moving, 6e-3, 'N')
    breakaway = [law.breakaway_force(1.0, 0.0) for law in laws]
    yield near_each('R2-16', 'mu_s f_n at the start of motion', [122.27, 69.86, 73.56], breakaway, 6e-3, 'N')
    masses = SLIDER, RODS, PLATFORM
    yield refused('R2-16', 'shares whose sum is not 1', ValueError, guide_loads, *masses, (0.7, 0.2, 0.2))


def sign_checks() -> Iterator[Check]:
    """R2-18: sign exact or smooth, and the force at zero speed."""
    signs = [Sign(), Sign('tanh', 1e-3), Sign('dead_band', 1e-3)]
    dry = dataclasses.replace(LAW, viscous=0.0)
    found = [float(dry.with_sign(sign).force(5e-4, 100.0) / dry.force(5e-4, 100.0)) for sign in signs]
    yield near_each('R2-18', 'exact, tanh, dead band of 1 mm/s at 0.5 mm/s', [1.0, np.tanh(0.5), 0.5], found, 1e-12)
    rest = [typical_law(name).with_sign(sign).force(0.0, 100.0) for name in friction_law_names() for sign in signs]
    yield at_most('R2-18', f'force at zero speed, {len(rest)} laws and signs', 0.0, rest, 'N')
    onset = float(dry.force(1e-12, 100.0) - dry.breakaway_force(1.0, 100.0))
    yield at_most('R2-18', 'limit for v -> 0 minus the breakaway force of 30.16 N', 1e-9, onset, 'N')


def machine_checks(machine: Machine, count: int) -> Iterator[Check]:
    """R2-14, R2-15, R2-20 on the machine, in the plane of motion with and without gravity."""
    for what, gravity in (('flat', machine.gravity), ('standing', np.array([0.0, -GRAVITY, 0.0]))):
        tilted = with_gravity(machine, gravity)
        motion = random_states(tilted, count, seed=31)
        rates = joint_motion(tilted, motion).velocities[:, ::2]
        # the guides run along x: their normal forces in the plane are the y parts of the reactions
        normal = joint_reactions(tilted, motion).joint_forces[:, ::2, 1]
        laws = [joint.friction.law for joint in machine.actuated_joints]
        expected = np.stack([_printed(law, rates[:, leg], normal[:, leg]) for leg, law in enumerate(laws)], axis=-1)
        rigid, total = (inverse_dynamics(tilted, motion, friction=rub) for rub in (False, True))
        yield agree('R2-15', f'{what}: tau = rigid body + Eqs. 23, 24, 40 at |N(t)|', 1e-10, total - rigid, expected)
        yield at_least('R2-15', f'{what}: normal force varies by', 1.0, np.ptp(np.abs(normal), axis=0), 'N')
        share = friction_forces(tilted, motion)
        yield agree('R2-20', f'{what}: friction given separately = its share', 1e-10, share, total - rigid)
        joints, loads = joint_motion(tilted, motion), friction_loads(tilted, motion)
        selections: dict[JointSelection, str] = {'actuated': 'per joint', 'class': 'shared by the guides'}
        for selection, names in selections.items():
            columns = friction_regressor(tilted, joints, selection, loads=loads)
            error = relative_error(columns @ friction_parameters(machine, selection), total - rigid)
            yield at_most('R2-14', f'{what}: parameters {names}, regressor times them = friction', 1e-10, error)


def _printed(law: FrictionLaw | None, rates: Array, normal: Array) -> Array:
    """Friction of a guide by Eqs. 23, 24 and 40, f_v once."""
    assert isinstance(law, LoadDependentStribeck)
    mu_c, mu_s = law.coulomb_coefficient, law.static_coefficient
    varying = mu_c + (mu_s - mu_c) * np.exp(-np.abs(rates) / law.stribeck_velocity)
    return np.sign(rates) * (varying * np.abs(normal) + mu_c * law.additional_load) + law.viscous * rates
