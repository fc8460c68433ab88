"""Properties that hold for every machine: random machines of all kinds, random poses and motions.

Oracles are definitions (closing points coincide), finite differences, and conservation laws.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from closing_points import closing_gap
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    base_parameters,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    kinetic_energy,
    potential_energy,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.dynamics.open_chain import (
    open_chain_energy,
    open_chain_forces,
    open_chain_regressor,
)
from pkm_description.kinematics import drive_positions, forward_kinematics, joint_motion, motion_from_drives
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.workspace import random_joint_states, random_states
from pkm_description.machine import Machine, PlatformMotion
from random_machines import BASE_PARAMETERS, CLOSED_KINDS, closed_mechanisms, open_chains
from scipy.spatial.transform import Rotation

EXAMPLES = 10
SEEDS = st.integers(0, 2**31 - 1)

#: range of random states: rad, and fraction of the leg length
RANGE = {'turn': 0.12, 'move': 0.05}


def examples(count: int) -> Callable:
    """Few, always the same, and never judged by time; a smaller seed is no simpler machine, so nothing is shrunk."""
    return settings(
        max_examples=count, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip


def every_kind(count: int = EXAMPLES) -> Callable:
    """Run a test for every kind of closed machine with ``count`` machines each."""

    def decorate(test: Callable) -> Callable:
        test = given(data=st.data())(test)
        return pytest.mark.parametrize('kind', CLOSED_KINDS)(examples(count)(test))

    return decorate


def drawn(data: st.DataObject, kind: str) -> tuple[Machine, int]:
    return data.draw(closed_mechanisms(kind)), data.draw(SEEDS)


def largest(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))


def driven_path(machine: Machine, seed: int) -> Callable[[float], PlatformMotion]:
    """Motion through random drive states, as a function of a time shift: positions to second order."""
    states = random_states(machine, 3, seed, **RANGE)
    legs = joint_motion(machine, states)
    place = machine.drive_columns
    start, rates, second = (values[:, place] for values in (legs.positions, legs.velocities, legs.accelerations))

    def at(shift: float) -> PlatformMotion:
        positions = start + shift * rates + 0.5 * shift**2 * second
        return motion_from_drives(machine, states.time, positions, rates + shift * second, second)

    return at


@every_kind()
def test_closures_hold(kind: str, data: st.DataObject) -> None:
    """Legs end in the platform joints, stay on their branch, and forward kinematics finds the pose again."""
    machine, seed = drawn(data, kind)
    states = random_states(machine, 6, seed, **RANGE)
    legs = close_legs(machine, states.position, states.rotation_base_platform)
    assert closing_gap(machine, legs.positions, states.position, states.rotation_base_platform) < 1e-11
    assert largest(legs.positions - machine.home_positions) < 1.0
    drives = drive_positions(machine, states.position, states.rotation_base_platform)
    found = forward_kinematics(machine, drives).require()
    assert largest(found.position - states.position) < 1e-9
    assert largest(found.rotation_base_platform - states.rotation_base_platform) < 1e-9
    assert largest(found.joint_positions - legs.positions) < 1e-9


@every_kind()
def test_jacobians_and_their_derivatives_are_finite_differences(kind: str, data: st.DataObject) -> None:
    """Twist and acceleration of the platform, rates and accelerations of all joints, along a motion of the drives."""
    machine, seed = drawn(data, kind)
    at, step = driven_path(machine, seed), 1e-4
    before, now, after = at(-step), at(0.0), at(step)
    turned = after.rotation_base_platform @ np.swapaxes(before.rotation_base_platform, 1, 2)
    velocity = (after.position - before.position) / (2.0 * step)
    spin = np.array([Rotation.from_matrix(one).as_rotvec() for one in turned]) / (2.0 * step)
    numeric = [np.concatenate([velocity, spin], axis=1), (after.twist - before.twist) / (2.0 * step)]
    joints = [joint_motion(machine, motion) for motion in (before, now, after)]
    numeric += [
        (joints[2].positions - joints[0].positions) / (2.0 * step),
        (joints[2].velocities - joints[0].velocities) / (2.0 * step),
    ]
    analytic = [now.twist, now.acceleration, joints[1].velocities, joints[1].accelerations]
    for found, expected in zip(analytic, numeric, strict=True):
        # central differences: error of the order step^2 times third derivatives, which grow with the motion
        assert largest(found - expected) < 1e-5 * (1.0 + largest(expected)) ** 2
    legs = close_legs(machine, now.position, now.rotation_base_platform)
    assert largest((legs.joint_map @ now.twist[..., None])[..., 0] - joints[1].velocities) < 1e-9
    assert largest((legs.constraints @ now.twist[..., None])[..., 0]) < 1e-9


@every_kind()
def test_regressor_times_parameters_is_the_inverse_dynamics(kind: str, data: st.DataObject) -> None:
    """And so are base columns times base parameters, at states that the reduction has not seen."""
    machine, seed = drawn(data, kind)
    states = random_states(machine, 8, seed, **RANGE)
    regressor = rigid_body_regressor(machine, states, identical_legs=False)
    parameters = rigid_body_parameters(machine, identical_legs=False)
    driven = machine.drive_columns
    rotors = machine.rotor_inertia[driven] * joint_motion(machine, states).accelerations[:, driven]
    expected = inverse_dynamics(machine, states, friction=False)
    tolerance = 1e-9 * largest(expected)
    assert largest(regressor @ parameters + rotors - expected) < tolerance
    base = base_parameters(machine, {})
    assert len(base) == BASE_PARAMETERS[kind]
    assert base.gap > 1e6
    assert largest(base.columns(regressor) @ base.values(parameters) + rotors - expected) < 10 * tolerance
    # what no force shows may be anything
    changed = parameters + np.random.default_rng(seed).normal(size=len(base.null_directions)) @ base.null_directions
    assert largest(regressor @ changed + rotors - expected) < 10 * tolerance


@every_kind()
def test_forward_dynamics_inverts_inverse_dynamics(kind: str, data: st.DataObject) -> None:
    machine, seed = drawn(data, kind)
    states = random_states(machine, 5, seed, **RANGE)
    pose = states.position, states.rotation_base_platform
    forces = inverse_dynamics(machine, states)
    found = forward_dynamics(machine, *pose, states.twist, forces)
    assert largest(found - states.acceleration) < 1e-7 * (1.0 + largest(states.acceleration))


@every_kind()
def test_weight_is_the_slope_of_the_potential_energy(kind: str, data: st.DataObject) -> None:
    """Drives that hold the machine do the work that lifts it."""
    machine, seed = drawn(data, kind)
    at, step = driven_path(machine, seed), 1e-5
    before, now, after = at(-step), at(0.0), at(step)
    lifted = [potential_energy(machine, one.position, one.rotation_base_platform) for one in (before, after)]
    rates = joint_motion(machine, now).velocities[..., machine.drive_columns]
    power = np.sum(gravity_forces(machine, now.position, now.rotation_base_platform) * rates, axis=1)
    scale = 1.0 + largest(power) + largest(lifted[0])
    assert largest((lifted[1] - lifted[0]) / (2.0 * step) - power) < 1e-7 * scale


class Simulation:
    """Free motion of a machine under constant drive forces, without friction, in the drives' coordinates."""

    def __init__(self, machine: Machine, forces: Array) -> None:
        self.machine, self.forces = machine, forces

    def state(self, positions: Array, rates: Array) -> PlatformMotion:
        time = np.zeros(len(positions))
        return motion_from_drives(self.machine, time, positions, rates, np.zeros_like(rates))

    def slope(self, positions: Array, rates: Array) -> Array:
        """Accelerations of the drives."""
        state = self.state(positions, rates)
        pose = state.position, state.rotation_base_platform
        acceleration = forward_dynamics(self.machine, *pose, state.twist, self.forces, friction=False)
        motion = PlatformMotion(
            state.time, *pose, state.linear_velocity, state.angular_velocity, acceleration[:, :3], acceleration[:, 3:]
        )
        return joint_motion(self.machine, motion).accelerations[..., self.machine.drive_columns]

    def conserved(self, positions: Array, rates: Array) -> Array:
        """Energy of the machine less the work of the constant forces (N,) J."""
        state = self.state(positions, rates)
        pose = state.position, state.rotation_base_platform
        energy = kinetic_energy(self.machine, *pose, state.twist) + potential_energy(self.machine, *pose)
        return energy - np.sum(self.forces * positions, axis=1)


def runge_kutta(slope: Callable, positions: Array, rates: Array, step: float, count: int) -> tuple[Array, Array]:
    """Classical fourth-order steps of ``positions'' = slope(positions, positions')``."""
    for _ in range(count):
        a1 = slope(positions, rates)
        a2 = slope(positions + 0.5 * step * rates, rates + 0.5 * step * a1)
        v2 = rates + 0.5 * step * a1
        v3 = rates + 0.5 * step * a2
        a3 = slope(positions + 0.5 * step * v2, v3)
        v4 = rates + step * a3
        a4 = slope(positions + step * v3, v4)
        positions = positions + step / 6.0 * (rates + 2.0 * v2 + 2.0 * v3 + v4)
        rates = rates + step / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return positions, rates


def assert_drift_of_fourth_order(coarse: float, fine: float, energy: float) -> None:
    """Halving the step takes the drift down by about 2^4 (at least 2^3), unless hardly any drift is left."""
    assert coarse < 1e-4 * energy
    assert fine < coarse / 8.0 or fine < 1e-8 * energy


@every_kind(3)
def test_energy_is_conserved_in_simulation(kind: str, data: st.DataObject) -> None:
    machine, seed = drawn(data, kind)
    states = random_states(machine, 2, seed, **RANGE)
    pose = states.position, states.rotation_base_platform
    start = drive_positions(machine, *pose)
    simulation = Simulation(machine, gravity_forces(machine, *pose))
    rates = 0.3 * joint_motion(machine, states).velocities[..., machine.drive_columns]
    before = simulation.conserved(start, rates)
    moving = simulation.state(start, rates)
    scale = float(kinetic_energy(machine, *pose, moving.twist).max())
    drifts = []
    for count in (4, 8):
        end = runge_kutta(simulation.slope, start, rates, 0.08 / count, count)
        drifts.append(largest(simulation.conserved(*end) - before))
    assert_drift_of_fourth_order(*drifts, scale)


@examples(12)
@given(machine=open_chains(), seed=SEEDS)
def test_open_chains(machine: Machine, seed: int) -> None:
    """Regressor, power and energy of chains that end free."""
    positions, velocities, accelerations = random_joint_states(machine, 4, seed)
    forces = open_chain_forces(machine, positions, velocities, accelerations, friction=False)
    regressor = open_chain_regressor(machine, positions, velocities, accelerations)
    parameters = rigid_body_parameters(machine, identical_legs=False)
    rotors = machine.rotor_inertia * accelerations
    tolerance = 1e-9 * (1.0 + largest(forces))
    assert largest(regressor @ parameters + rotors - forces) < tolerance
    base = base_parameters(machine, {})
    assert largest(base.columns(regressor) @ base.values(parameters) + rotors - forces) < 10 * tolerance

    step = 1e-5
    energies = []
    for shift in (-step, step):
        moved = positions + shift * velocities + 0.5 * shift**2 * accelerations
        energies.append(sum(open_chain_energy(machine, moved, velocities + shift * accelerations)))
    power = np.sum(forces * velocities, axis=1)
    slope = (energies[1] - energies[0]) / (2.0 * step)
    assert largest(power - slope) < 1e-6 * (1.0 + largest(power) + largest(energies[0]))
