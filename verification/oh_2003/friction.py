"""Oh (2003), Eq. 4.5: dead band as printed and continuous, strut by strut."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.dynamics import inverse_dynamics
from pkm_description.friction_laws import DeadBand
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine

from verification.check import Check, at_most, equal, near_each, relative_error
from verification.mechanics.friction import scaled


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """T13: dead band as printed and continuous; friction of a strut adds to its own drive alone."""
    laws = [joint.friction.law for joint in machine.actuated_joints]
    found = [(law.width, law.form) if isinstance(law, DeadBand) else None for law in laws]
    yield equal('T13', 'law of every strut: half zone [m/s] and form', [(0.002, 'printed')] * len(laws), found)
    bands = [law for law in laws if isinstance(law, DeadBand)]
    for form, factor in (('printed', 0.002), ('continuous', 0.0)):
        shaped = [dataclasses.replace(law, form=form) for law in bands]
        jumps = [float(law.force(np.nextafter(0.002, 1.0)) - law.force(0.002)) for law in shaped]
        required = [factor * law.viscous for law in bands]
        yield near_each('T13', f'jump at the edge of the zone, {form} form', required, jumps, 1e-9, 'N')

    motion = random_states(machine, 20 if quick else 200, seed=21)
    rates = joint_motion(machine, motion).velocities[..., machine.drive_columns]
    # a share of the states inside of the zone
    motion = scaled(motion, np.where(np.arange(len(rates)) % 2, 1.0, 1.5e-3 / np.abs(rates).max(axis=1)))
    rates = joint_motion(machine, motion).velocities[..., machine.drive_columns]
    viscous, coulomb = (np.array([getattr(law, key) for law in bands]) for key in ('viscous', 'coulomb'))
    zone = 2.0 * coulomb / 0.004 * rates
    expected = np.where(np.abs(rates) > 0.002, viscous * rates + coulomb * np.sign(rates), zone)
    share = inverse_dynamics(machine, motion) - inverse_dynamics(machine, motion, friction=False)
    error = relative_error(share, expected)
    yield at_most('T13', 'F_a - F_rigid = F_f strut by strut (2.55, B.17), relative', 1e-10, error)
