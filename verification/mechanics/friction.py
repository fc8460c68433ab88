"""Friction: Oh's dead band, Mata's laws in all joints, Heimann's projection by virtual power."""

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
from pkm_description.friction_laws import (
    DeadBand,
    FrictionLaw,
    Sign,
    ViscousCoulomb,
    friction_law,
    friction_law_names,
)
from pkm_description.friction_laws.registry import friction_law_class
from pkm_description.kinematics import leg_motion
from pkm_description.kinematics.random_states import random_states
from pkm_description.machine import JointFriction, Machine, PlatformMotion
from pkm_description.machine.variants import with_friction

from verification.check import Check, at_most, equal, near_each, relative_error

#: N, N s/m, m/s ...: one value for every parameter that a law can have
TYPICAL = {
    'coulomb_coefficient': 0.15, 'static_coefficient': 0.3, 'additional_load': 50.0, 'exponent': 0.7, 'slope': 40.0,
    'stribeck_velocity': 0.1, 'static_velocity': 0.002, 'width': 0.002, 'viscous': 80.0, 'viscous_positive': 80.0,
    'viscous_negative': 50.0, 'coulomb': 30.0, 'coulomb_positive': 30.0, 'coulomb_negative': 20.0, 'static': 45.0,
    'saturation': 12.0,
}  # fmt: skip

#: of Mata et al. 2008: F-sym, F-asymC (Table 5), F-asym (14), F-atan (16), F-pow (17) symmetric and not, F-strib (32)
MATA_LAWS = (
    'viscous_coulomb', 'asymmetric_coulomb', 'asymmetric', 'atan', 'power', 'asymmetric_power', 'stribeck',
)  # fmt: skip


def typical_law(name: str, size: float = 1.0) -> FrictionLaw:
    """A law with :data:`TYPICAL` parameters, the linear ones times ``size``."""
    kind = friction_law_class(name)
    names = (*kind.parameter_names('linear'), *kind.parameter_names('nonlinear'))
    law = friction_law({'law': name} | {key: TYPICAL[key] for key in names})
    return law.with_linear_parameters(size * law.linear_parameters())


def rubbing(machine: Machine, name: str) -> Machine:
    """The machine with one law in all joints, a hundred times weaker in those that turn."""
    sliding, turning = typical_law(name), typical_law(name, 0.01)
    return with_friction(machine, lambda joint: JointFriction(law=sliding if joint.kind == 'prismatic' else turning))


def oh_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Eq. 4.5: dead band as printed and continuous; friction of a strut adds to its own drive alone."""
    laws = [joint.friction.law for joint in machine.actuated_joints]
    found = [(law.width, law.form) if isinstance(law, DeadBand) else None for law in laws]
    yield equal('4.5', 'law of every strut: half zone [m/s] and form', [(0.002, 'printed')] * len(laws), found)
    bands = [law for law in laws if isinstance(law, DeadBand)]
    for form, factor in (('printed', 0.002), ('continuous', 0.0)):
        shaped = [dataclasses.replace(law, form=form) for law in bands]
        jumps = [float(law.force(np.nextafter(0.002, 1.0)) - law.force(0.002)) for law in shaped]
        required = [factor * law.viscous for law in bands]
        yield near_each('4.5', f'jump at the edge of the zone, {form} form', required, jumps, 1e-9, 'N')

    motion = random_states(machine, 20 if quick else 200, seed=21)
    rates = leg_motion(machine, motion).velocities[..., machine.actuated_index]
    # a share of the states inside of the zone
    motion = _scaled(motion, np.where(np.arange(len(rates)) % 2, 1.0, 1.5e-3 / np.abs(rates).max(axis=1)))
    rates = leg_motion(machine, motion).velocities[..., machine.actuated_index]
    viscous, coulomb = (np.array([getattr(law, key) for law in bands]) for key in ('viscous', 'coulomb'))
    zone = 2.0 * coulomb / 0.004 * rates
    expected = np.where(np.abs(rates) > 0.002, viscous * rates + coulomb * np.sign(rates), zone)
    share = inverse_dynamics(machine, motion) - inverse_dynamics(machine, motion, friction=False)
    error = relative_error(share, expected)
    yield at_most('4.5', 'F_a - F_rigid = F_f strut by strut (2.55, B.17), relative', 1e-10, error)


def mata_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Item 6: every law in actuated and passive joints, the latter projected on the drives."""
    motion = random_states(machine, 20 if quick else 200, seed=22)
    laws = [typical_law(name) for name in MATA_LAWS]
    count = [len(law.linear_parameters()) + len(law.nonlinear_parameters) for law in laws]
    yield equal('M6', 'parameters per joint: ' + ', '.join(MATA_LAWS), [2, 3, 4, 4, 3, 4, 5], count)
    for name in MATA_LAWS:
        yield from _projection('M6', machine, name, motion)


def heimann_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """R4-21 and R4-22: other laws in all joints, sign and dead band."""
    motion = random_states(machine, 20 if quick else 100, seed=23)
    for name in friction_law_names():
        yield from _projection('R4-21', machine, name, motion)

    band = ViscousCoulomb(viscous=0.0, coulomb=4.0, sign=Sign('dead_band', 0.004))
    yield near_each('R4-22', 'dead band of 4 mm/s: force at 1, 2, 4, 8 mm/s', [1, 2, 4, 4],
                    band.force([1e-3, 2e-3, 4e-3, 8e-3]), 1e-12, 'N')  # fmt: skip
    rough = rubbing(machine, 'viscous_coulomb')
    backwards = friction_forces(rough, _scaled(motion, np.full(len(motion), -1.0)))
    error = relative_error(backwards, -friction_forces(rough, motion))
    yield at_most('R4-22', 'sign from the given (desired) velocity: reversed motion, reversed friction', 1e-10, error)


def _projection(id: str, machine: Machine, name: str, motion: PlatformMotion) -> Iterator[Check]:
    """A law in all joints: power at the drives is what the joints lose, and regressor times parameters is the share."""
    rough = rubbing(machine, name)
    joints, loads = leg_motion(rough, motion), friction_loads(rough, motion)
    share = inverse_dynamics(rough, motion) - inverse_dynamics(rough, motion, friction=False)
    lost = np.zeros(len(share))
    for leg, chain in enumerate(rough.legs):
        for place, joint in enumerate(chain.joints):
            lost += joint.friction.law.dissipated_power(joints.velocities[:, leg, place], loads[:, leg, place])
    power = np.sum(share * joints.velocities[..., rough.actuated_index], axis=1)
    columns = friction_regressor(rough, joints, 'all', loads=loads) @ friction_parameters(rough, 'all')
    errors = [relative_error(power, lost), relative_error(columns, share)]
    what = f'{name} in all joints: power at the drives = power lost, regressor times parameters = friction, relative'
    yield at_most(id, what, 1e-9, errors)


def _scaled(motion: PlatformMotion, factor: Array) -> PlatformMotion:
    """The same states of a free platform with velocities times (N,)."""
    size = factor[:, None]
    return dataclasses.replace(
        motion,
        linear_velocity=size * motion.linear_velocity,
        angular_velocity=size * motion.angular_velocity,
    )
