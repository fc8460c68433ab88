"""Oh (2003), T9: derivatives of the pendulum's observation, and his equations against the library's open chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.machine import Machine

from verification.check import Check, at_most, near_each, relative_error
from verification.mechanics.neighbours import smooth_derivative
from verification.oh_2003.pendulum import (
    PENDULUM_PARAMETERS,
    PendulumMotion,
    pendulum_force_jacobian,
    pendulum_forces,
)

#: l1, l2 [m], m1, m2, M [kg] of the benchmark
TRUE_PARAMETERS = np.array([0.50, 0.75, 0.75, 0.50, 1.50])


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Checks of the double pendulum on a cart."""
    cart, first, second = machine.legs[0].joints
    # both links are uniform: length = twice the distance of the centre of mass
    found = [
        2.0 * float(np.linalg.norm(first.body.center_of_mass)),
        2.0 * float(np.linalg.norm(second.body.center_of_mass)),
        first.body.mass,
        second.body.mass,
        cart.body.mass,
    ]
    yield near_each('T9', f'{", ".join(PENDULUM_PARAMETERS)} of the machine', TRUE_PARAMETERS, found, 1e-12, 'm, kg')
    joints = np.linalg.norm(second.translation - first.body.center_of_mass * 2.0)
    yield at_most('T9', "second joint at the first link's end", 1e-12, joints, 'm')

    random = np.random.default_rng(61)
    shape = (50 if quick else 500, 3)
    motion = PendulumMotion(*(random.uniform(-size, size, shape) for size in (3.0, 10.0, 40.0)))
    for text, parameters in (('true', TRUE_PARAMETERS), ('initial (all 1)', np.ones(5))):
        numeric = np.stack(
            [smooth_derivative(_along(motion, parameters, unit), 1e-2) for unit in np.eye(5)],
            axis=-1,
        )
        error = relative_error(pendulum_force_jacobian(motion, parameters), numeric)
        yield at_most('T9', f'J_LS (3.7) against finite differences, {text} parameters, relative', 1e-8, error)
    matrix = pendulum_force_jacobian(motion, TRUE_PARAMETERS)
    masses = np.array([0.0, 0.0, 1.0, 1.0, 1.0]) * TRUE_PARAMETERS
    # without a known force the scale of the masses is not observable: the residual is homogeneous in them
    error = relative_error(matrix @ masses, pendulum_forces(motion, TRUE_PARAMETERS))
    yield at_most('T9', 'observation = J_LS x masses: homogeneous of degree 1, relative', 1e-12, error)

    # joint angles are relative, his are absolute; a torque of joint 2 works on both links
    position, velocity, acceleration = (
        np.stack([values[:, 0], values[:, 1], values[:, 2] - values[:, 1]], axis=1)
        for values in (motion.position, motion.velocity, motion.acceleration)
    )
    forces = open_chain_forces(machine, position, velocity, acceleration, friction=False)
    force, torque_1, torque_2 = forces.T
    suite = np.stack([force, torque_1 - torque_2, torque_2], axis=1)
    error = relative_error(suite, pendulum_forces(motion, TRUE_PARAMETERS))
    yield at_most('T9', 'library: forces of the open chain = Eqs. 3.3 to 3.5, relative', 1e-12, error)


def _along(motion: PendulumMotion, parameters: Array, unit: Array) -> Callable[[float], Array]:
    return lambda step: pendulum_forces(motion, parameters + step * unit)
