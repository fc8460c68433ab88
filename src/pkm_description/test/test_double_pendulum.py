"""Oh's pendulum in closed form against the general open chain, and its derivatives against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.dynamics.open_chain import (
    PENDULUM_PARAMETERS,
    PendulumMotion,
    open_chain_forces,
    pendulum_force_jacobian,
    pendulum_forces,
)
from pkm_description.loading import load_machine
from pkm_description.machine.machine import with_gravity

#: as in the machine file
PARAMETERS = np.array([0.50, 0.75, 0.75, 0.50, 1.50])


@pytest.fixture
def motion() -> PendulumMotion:
    random = np.random.default_rng(3)
    return PendulumMotion(*(random.uniform(-size, size, (30, 3)) for size in (3.0, 10.0, 40.0)))


@pytest.mark.parametrize('gravity', [9.81, 1.62])
def test_forces_are_those_of_the_open_chain(motion: PendulumMotion, gravity: float) -> None:
    machine = load_machine('double_pendulum')
    machine = with_gravity(machine, machine.gravity * gravity / np.linalg.norm(machine.gravity))
    relative = [
        np.stack([values[:, 0], values[:, 1], values[:, 2] - values[:, 1]], axis=1)
        for values in (motion.position, motion.velocity, motion.acceleration)
    ]
    force, first, second = open_chain_forces(machine, *relative, friction=False).T
    expected = np.stack([force, first - second, second], axis=1)
    np.testing.assert_allclose(pendulum_forces(motion, PARAMETERS, gravity), expected, atol=1e-11)


def test_derivatives(motion: PendulumMotion) -> None:
    found = pendulum_force_jacobian(motion, PARAMETERS)
    assert found.shape == (30, 3, len(PENDULUM_PARAMETERS))
    for place, unit in enumerate(1e-4 * np.eye(5)):
        change = pendulum_forces(motion, PARAMETERS + unit) - pendulum_forces(motion, PARAMETERS - unit)
        np.testing.assert_allclose(found[..., place], change / 2e-4, rtol=1e-7, atol=1e-6)
