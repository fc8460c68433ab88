"""Chains without a platform: the printed pendulum equations and their own energy."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from other_machines import cart_with_pendulum
from pkm_description.arrays import Array
from pkm_description.dynamics import rigid_body_parameters
from pkm_description.dynamics.open_chain import (
    open_chain_forces,
    open_chain_mass_matrix,
    open_chain_regressor,
)
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import joint_positions
from pkm_description.machine import Machine, RigidBody


def random_motion(count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(seed)
    return tuple(random.uniform(-2.0, 2.0, (count, 3)) for _ in range(3))  # type: ignore[return-value]


def test_regressor_mass_matrix_and_inverse_agree() -> None:
    machine = cart_with_pendulum()
    positions, velocities, accelerations = random_motion(20)
    forces = open_chain_forces(machine, positions, velocities, accelerations, friction=False)
    rotors = machine.rotor_inertia * accelerations
    columns = open_chain_regressor(machine, positions, velocities, accelerations)
    parameters = rigid_body_parameters(machine, False)
    np.testing.assert_allclose(columns @ parameters + rotors, forces, atol=1e-10)
    still = open_chain_forces(machine, positions, velocities, 0.0 * accelerations, friction=False)
    mass = open_chain_mass_matrix(machine, positions)
    np.testing.assert_allclose((mass @ accelerations[..., None])[..., 0], forces - still, atol=1e-10)


def uniform_rods(machine: Machine, cart: float, masses: Array, lengths: Array) -> Machine:
    """Cart and rods of the printed pendulum: centres of mass in the middle, no rotor, no friction."""
    first = machine.legs[0]
    bodies = [RigidBody('cart', cart, np.zeros(3), np.eye(3))]
    for number, (mass, length) in enumerate(zip(masses, lengths, strict=True)):
        inertia = mass * length**2 / 12.0 * np.diag([1.0, 1.0, 1e-9])
        bodies.append(RigidBody(f'rod{number}', mass, np.array([0.0, 0.0, 0.5 * length]), inertia))
    places = [first.joints[0].translation, first.joints[1].translation, np.array([0.0, 0.0, lengths[0]])]
    joints = tuple(
        dataclasses.replace(joint, body=body, translation=place, rotor_inertia=0.0)
        for joint, body, place in zip(first.joints, bodies, places, strict=True)
    )
    return dataclasses.replace(machine, legs=(dataclasses.replace(first, joints=joints),))


def test_printed_equations_of_the_double_pendulum() -> None:
    """Oh 2003, Eqs. 3.3-3.5, in absolute angles; joint torques add up along the chain."""
    cart, masses, lengths, gravity = 1.5, np.array([0.75, 0.5]), np.array([0.5, 0.75]), 9.80665
    machine = uniform_rods(cart_with_pendulum(), cart, masses, lengths)
    (m1, m2), (l1, l2) = masses, lengths
    x, v, a = random_motion(30, seed=2)
    absolute = [np.cumsum(part[:, 1:], axis=1) for part in (x, v, a)]
    t1, t2 = absolute[0].T
    w1, w2 = absolute[1].T
    e1, e2 = absolute[2].T
    mu, acceleration = 0.5 * m1 + m2, a[:, 0]
    force = (
        (cart + m1 + m2) * acceleration
        + mu * l1 * (e1 * np.cos(t1) - w1**2 * np.sin(t1))
        + 0.5 * m2 * l2 * (e2 * np.cos(t2) - w2**2 * np.sin(t2))
    )
    about_first = (
        mu * l1 * acceleration * np.cos(t1)
        + (m1 / 3 + m2) * l1**2 * e1
        + 0.5 * m2 * l1 * l2 * (e2 * np.cos(t2 - t1) - w2**2 * np.sin(t2 - t1))
        - mu * gravity * l1 * np.sin(t1)
    )
    about_second = (
        0.5 * m2 * l2 * acceleration * np.cos(t2)
        + 0.5 * m2 * l1 * l2 * (e1 * np.cos(t2 - t1) + w1**2 * np.sin(t2 - t1))
        + m2 / 3 * l2**2 * e2
        - 0.5 * m2 * gravity * l2 * np.sin(t2)
    )
    # a torque in the first joint turns both links: virtual work with absolute angles
    printed = np.stack([force, about_first + about_second, about_second], axis=1)
    ours = open_chain_forces(machine, x, v, a, friction=False)
    np.testing.assert_allclose(ours, printed, atol=1e-6)


def test_platform_functions_say_what_to_use() -> None:
    with pytest.raises(KinematicsError, match='open chain'):
        joint_positions(cart_with_pendulum(), np.zeros((1, 3)), np.eye(3)[None])
