"""Machines whose bodies cannot exist are not simulated; those that can are not held up."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from pkm_description.dynamics import forward_dynamics
from pkm_description.dynamics.energy import require_definite
from pkm_description.dynamics.inverse import bodies_exist
from pkm_description.errors import InfeasibleMachineError
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_names
from pkm_description.machine import Machine, RigidBody


def with_platform(machine: Machine, mass: float, inertia: float = 1.0) -> Machine:
    body = machine.platform
    changed = RigidBody(body.name, mass, body.center_of_mass, inertia * body.inertia)
    return dataclasses.replace(machine, platform=changed)


def accelerations(machine: Machine) -> np.ndarray:
    home = machine.home
    return forward_dynamics(
        machine, home.position, home.rotation_base_platform, np.zeros(6), np.zeros(machine.actuated_count)
    )


@pytest.mark.parametrize('name', machine_names())
def test_bodies_of_every_machine_file_exist(name: str) -> None:
    assert bodies_exist(load_machine(name))


@pytest.mark.parametrize('name', ['srs', 'valencia_3rps', 'khalifa_3prr', 'five_bar', 'octopod_8ups'])
def test_a_platform_of_negative_mass_is_refused(name: str) -> None:
    machine = load_machine(name)
    wrong = with_platform(machine, -1e5)
    assert not bodies_exist(wrong)
    with pytest.raises(InfeasibleMachineError, match=f'{name}: the mass matrix is not positive definite in sample 0'):
        accelerations(wrong)


def test_what_rotors_make_up_for_is_simulated() -> None:
    """A body alone cannot exist, but every motion has inertia: nothing speaks against a simulation."""
    machine = load_machine('valencia_3rps')
    light = with_platform(machine, -1.0)
    assert not bodies_exist(light)
    assert np.isfinite(accelerations(light)).all()


def test_inertia_that_no_body_has_is_noticed() -> None:
    machine = load_machine('srs')
    flat = dataclasses.replace(
        machine, platform=dataclasses.replace(machine.platform, inertia=np.diag([1.0, 1.0, 2.5]))
    )
    assert not bodies_exist(flat)
    home = machine.home
    require_definite(flat, home.position[None], home.rotation_base_platform[None])  # the mass matrix is fine
