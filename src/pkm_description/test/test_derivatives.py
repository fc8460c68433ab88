"""Jacobians of the inverse dynamics: along random directions, beside the mass matrix, and of what stands still."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from graph_machines import FOLDER
from hand_built_machines import turned_link_frames
from other_machines import CLOSED
from pkm_description.arrays import Array
from pkm_description.dynamics import forward_dynamics, inverse_dynamics, inverse_dynamics_derivatives, mass_matrix
from pkm_description.dynamics.derivatives import Coordinates
from pkm_description.errors import KinematicsError
from pkm_description.friction_laws import Asymmetric, FrictionLaw, LoadDependentStribeck, PowerLaw, Sign, Stribeck
from pkm_description.friction_laws.laws import ViscousCoulomb
from pkm_description.kinematics import joint_motion, motion_from_drives
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine import Joint, JointFriction, Machine, PlatformMotion
from pkm_description.machine.machine import with_friction

#: m/s, width of the smooth signs: what is along a direction needs a derivative
SMOOTH = 0.05
#: s, to the first of the two instants on either side of which the derivative along a direction is made
STEP = 2e-4

MACHINES: dict[str, Callable[[], Machine]] = {
    '6-UPS': turned_link_frames,
    **CLOSED,
    **{name: partial(load_machine, FOLDER / name / 'machine.yaml') for name in ('delta', 'five_bar', 'tricept')},
}
FREE = ('6-UPS', '6-PUS', 'planar 3-PRR', 'octopod_8ups', 'four_rrr')


def states(machine: Machine) -> PlatformMotion:
    return random_states(machine, 2, seed=3, turn=0.1, move=0.05)


def check_along_directions(
    machine: Machine, coordinates: Coordinates = 'drives', tolerance: float = 1e-6, smoothing: float = SMOOTH
) -> None:
    """What positions, rates and accelerations do together along a random direction, in fourth order."""
    motion = states(machine)
    width = machine.actuated_count if coordinates == 'drives' else 6
    direction = np.random.default_rng(5).normal(size=(3, len(motion), width))
    if coordinates == 'platform':
        direction[..., np.setdiff1d(range(6), machine.model.freedom)] = 0.0
    joints = joint_motion(machine, motion)

    def forces(way: float) -> Array:
        place, rate, second = way * direction
        if coordinates == 'drives':
            columns = machine.drive_columns
            moved = motion_from_drives(
                machine, motion.time, joints.positions[:, columns] + place, joints.velocities[:, columns] + rate,
                joints.accelerations[:, columns] + second,
            )  # fmt: skip
        else:
            twist, acceleration = motion.twist + rate, motion.acceleration + second
            moved = PlatformMotion(
                motion.time, motion.position + place[:, :3],
                rotation_exp(place[:, 3:]) @ motion.rotation_base_platform, twist[:, :3], twist[:, 3:],
                acceleration[:, :3], acceleration[:, 3:],
            )  # fmt: skip
        return inverse_dynamics(machine, moved, sign_smoothing=smoothing)

    expected = (8.0 * (forces(STEP) - forces(-STEP)) - (forces(2.0 * STEP) - forces(-2.0 * STEP))) / (12.0 * STEP)
    found = inverse_dynamics_derivatives(machine, motion, coordinates, sign_smoothing=smoothing)
    own = direction if coordinates == 'drives' else direction[..., machine.model.freedom]
    parts = (found.by_position, found.by_velocity, found.by_acceleration)
    along = sum(np.einsum('nac,nc->na', part, one) for part, one in zip(parts, own, strict=True))
    np.testing.assert_allclose(found.forces, forces(0.0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(along, expected, rtol=0.0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize('name', list(MACHINES))
def test_inverse_dynamics_by_the_drives(name: str) -> None:
    check_along_directions(MACHINES[name]())


def rubbing(joint: Joint) -> JointFriction:
    """Friction in proportion to the load, of drives more than of passive joints."""
    law = LoadDependentStribeck(
        viscous=0.3, coulomb_coefficient=0.1 if joint.actuated else 0.002,
        static_coefficient=0.15 if joint.actuated else 0.003, stribeck_velocity=0.3,
    )  # fmt: skip
    return JointFriction(law=law)


@pytest.mark.parametrize('name', ['6-UPS', '3-RPS', 'planar 3-PRR', 'khalifa_3prr'])
def test_friction_by_the_load(name: str) -> None:
    """The drives' forces change the reactions, these the friction, and this the forces again."""
    machine = load_machine(name) if name == 'khalifa_3prr' else MACHINES[name]()
    machine = with_friction(machine, rubbing)
    found = inverse_dynamics_derivatives(machine, states(machine), sign_smoothing=SMOOTH)
    plain = inverse_dynamics_derivatives(machine, states(machine), friction=False)
    assert np.abs(found.by_acceleration - plain.by_acceleration).max() > 1e-4 * np.abs(plain.by_acceleration).max()
    check_along_directions(machine, tolerance=1e-5)


@pytest.mark.parametrize('name', ['octopod_8ups', 'four_rrr'])
def test_friction_by_the_load_of_redundant_drives(name: str) -> None:
    """Redundant drives share friction: it changes the other drives' forces, and with them the loads."""
    machine = with_friction(load_machine(FOLDER / name / 'machine.yaml'), rubbing)
    motion = states(machine)
    forces = inverse_dynamics(machine, motion, sign_smoothing=SMOOTH)
    pose = motion.position, motion.rotation_base_platform
    free = forward_dynamics(machine, *pose, motion.twist, forces, sign_smoothing=SMOOTH)
    np.testing.assert_allclose(free, motion.acceleration, atol=1e-9)
    check_along_directions(machine, 'platform', 1e-5)


@pytest.mark.parametrize('name', FREE)
def test_derivatives_by_the_pose(name: str) -> None:
    """Of redundant machines too, whose drives share the forces in another way at each pose."""
    machine = MACHINES[name]() if name in MACHINES else load_machine(FOLDER / name / 'machine.yaml')
    if len(set(machine.drive_weights)) < 2 and machine.actuated_count > machine.degrees_of_freedom:
        machine = dataclasses.replace(machine, drive_weights=tuple(np.linspace(1.0, 2.0, machine.actuated_count)))
    check_along_directions(machine, 'platform')
    motion, freedom = states(machine), machine.model.freedom
    found = inverse_dynamics_derivatives(machine, motion, 'platform', friction=False)
    drive_map = close_legs(machine, motion.position, motion.rotation_base_platform).drive_map
    mass = mass_matrix(machine, motion.position, motion.rotation_base_platform)[:, freedom][:, :, freedom]
    ours = np.swapaxes(drive_map[..., freedom], 1, 2) @ found.by_acceleration
    np.testing.assert_allclose(ours, mass, rtol=0.0, atol=1e-10 * np.abs(mass).max())


@pytest.mark.parametrize(
    'law',
    [
        Stribeck(viscous=3.0, coulomb=5.0, static=9.0, stribeck_velocity=0.2, exponent=1.5),
        PowerLaw(viscous=3.0, coulomb=5.0, exponent=1.4),
        Asymmetric(viscous_positive=3.0, viscous_negative=2.0, coulomb_positive=5.0, coulomb_negative=4.0),
    ],
    ids=lambda law: law.law,
)
def test_friction_laws(law: FrictionLaw) -> None:
    smooth = JointFriction(law.with_sign(Sign('tanh', SMOOTH)))
    check_along_directions(with_friction(MACHINES['planar 3-PRR'](), lambda joint: smooth), smoothing=0.0)


def test_an_exact_sign_has_no_derivative() -> None:
    """Also where joints stand still, or turn round within a step: only viscous friction counts."""
    machine = MACHINES['6-UPS']()
    found = []
    for coulomb in (0.0, 50.0):
        friction = JointFriction(ViscousCoulomb(viscous=3.0, coulomb=coulomb))
        rubbed = with_friction(machine, lambda _, own=friction: own)
        motion = states(rubbed)
        still = dataclasses.replace(
            motion, linear_velocity=0.0 * motion.linear_velocity, angular_velocity=1e-7 * motion.angular_velocity
        )
        found.append(inverse_dynamics_derivatives(rubbed, still).by_velocity)
    np.testing.assert_allclose(found[1], found[0], atol=1e-4)


def test_what_is_no_coordinate_is_refused() -> None:
    held, redundant = MACHINES['3-RPS'](), load_machine(FOLDER / 'four_rrr' / 'machine.yaml')
    with pytest.raises(KinematicsError, match="use coordinates='drives'"):
        inverse_dynamics_derivatives(held, states(held), 'platform')
    with pytest.raises(KinematicsError, match="4 drives for 3 degrees of freedom.*use coordinates='platform'"):
        inverse_dynamics_derivatives(redundant, states(redundant))
