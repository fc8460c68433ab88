"""Golden points of the UF machine with joints at vertices and side middles, masses of chapter 2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import joint_motion, leg_lengths
from pkm_description.machine import Machine

from verification.check import Check, near, near_each
from verification.oh_2003.checks import energy_balance
from verification.oh_2003.kane import strut_forces
from verification.oh_2003.kinematics import OhMotion, strut_kinematics
from verification.oh_2003.parameters import OhModel, oh_model
from verification.oh_2003.trajectories import OH_FREQUENCIES, case, sine

#: s, instant of the moving points
TIME = 0.1

STATIC_FORCES = (-51.3116, -40.8960) * 3
LENGTHS = (0.53322, 0.47880, 0.55796, 0.45244, 0.52860, 0.47364)
LENGTH_RATES = (-0.02372, 0.04684, 0.07611, -0.06118, -0.04289, 0.02619)
FORCES = {
    1: (-41.3758, -62.5619, -105.7957, -26.1512, -10.0315, -34.5289),
    6: (-29.8342, -16.0765, -54.5647, -39.1377, -68.5111, -63.0422),
}


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Compare lengths, rates and forces of single instants, and the steps of the energy model."""
    model = oh_model(machine)
    still = sine((), 0.0, np.zeros(1), model.home)
    forces = strut_forces(model.geometry, still, model.parameters)
    yield near_each('T3', 'F_a at rest at home', STATIC_FORCES, forces, 5e-5, 'N')
    moving = case(1, OH_FREQUENCIES['high'], np.array([TIME]), model.home)
    struts = strut_kinematics(model.geometry, moving)
    yield near_each('T2', 'L, case 1, 4 pi rad/s, 0.1 s', LENGTHS, struts.length, 5e-6, 'm')
    yield near_each('T2', "L', case 1, 4 pi rad/s, 0.1 s", LENGTH_RATES, struts.rate, 5e-6, 'm/s')
    for number, figures in FORCES.items():
        motion = case(number, OH_FREQUENCIES['high'], np.array([TIME]), model.home)
        forces = strut_forces(model.geometry, motion, model.parameters)
        yield near_each('T3', f'F_a, case {number}, 4 pi rad/s, 0.1 s', figures, forces, 5e-5, 'N')
    yield from library_checks(machine, model, moving, still)
    trapezoid, left, largest = energy_balance(model, 1e-3)
    yield near('T4', 'energy model, XY at 4 pi rad/s, 1 ms: largest step', 3.0e-2, largest, 5e-4, 'J')
    yield near('T4', 'energy model: largest error with the printed left rule', 3.4e-4, left, 5e-6, 'J')
    yield near('T4', 'energy model: largest error with the trapezoid', 1.9e-8, trapezoid, 5e-10, 'J')


def library_checks(machine: Machine, model: OhModel, moving: OhMotion, still: OhMotion) -> Iterator[Check]:
    """The same points by the library's kinematics and dynamics; case 1 turns no strut about its axis."""
    for text, motion, figures in (('at rest at home', still, STATIC_FORCES), ('case 1', moving, FORCES[1])):
        forces = inverse_dynamics(machine, model.platform_motion(motion), friction=False)
        yield near_each('T3', f'library: F_a {text}', figures, forces, 5e-5, 'N')
    platform = model.platform_motion(moving)
    legs = joint_motion(machine, platform)
    lengths = leg_lengths(machine, platform.position, platform.rotation_base_platform)
    yield near_each('T2', 'library: L, case 1', LENGTHS, lengths, 5e-6, 'm')
    rates = legs.velocities[..., machine.drive_columns]
    yield near_each('T2', "library: L', case 1", LENGTH_RATES, rates, 5e-6, 'm/s')
