"""Heimann and Abdellatif: friction of all joints by virtual power, sign and dead band."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.dynamics import (
    friction_forces,
)
from pkm_description.friction_laws import (
    Sign,
    ViscousCoulomb,
    friction_law_names,
)
from pkm_description.kinematics.random_states import random_states
from pkm_description.machine import Machine

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
    rough = rubbing(machine, 'viscous_coulomb')
    backwards = friction_forces(rough, scaled(motion, np.full(len(motion), -1.0)))
    error = relative_error(backwards, -friction_forces(rough, motion))
    yield at_most('R4-22', 'sign from the commanded velocity: reversed motion, reversed friction', 1e-10, error)
