"""Jacobians of the inverse dynamics against central differences of the function itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from graph_machines import FOLDER, agile_eye
from hand_built_machines import turned_link_frames
from other_machines import CLOSED
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    forward_dynamics,
    inverse_dynamics,
    inverse_dynamics_derivatives,
)
from pkm_description.errors import KinematicsError
from pkm_description.friction_laws import Asymmetric, FrictionLaw, LoadDependentStribeck, PowerLaw, Sign, Stribeck
from pkm_description.kinematics import joint_motion, motion_from_drives
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_of_content
from pkm_description.machine import Joint, JointFriction, Machine, PlatformMotion
from pkm_description.machine.machine import with_friction

#: m/s, width of the smooth signs: differences need a derivative
SMOOTH = 0.05
STEP = 1e-5

MACHINES: dict[str, Callable[[], Machine]] = {
    '6-UPS': turned_link_frames,
    **CLOSED,
    **{name: partial(load_machine, FOLDER / name / 'machine.yaml') for name in ('delta', 'five_bar', 'tricept')},
}
FREE = ('6-UPS', '6-PUS', 'planar 3-PRR', 'octopod_8ups', 'four_rrr')


def states(machine: Machine) -> PlatformMotion:
    return random_states(machine, 2, seed=3, turn=0.1, move=0.05)


def differences(function: Callable[..., Array], state: tuple[Array, ...], place: int, columns: Array) -> Array:
    """Derivatives by one array of a state along columns (C, ...), on the last axis."""
    found = []
    for column in columns:
        sides = [
            function(*(value + (sign * STEP * column if index == place else 0.0) for index, value in enumerate(state)))
            for sign in (1.0, -1.0)
        ]
        found.append((sides[0] - sides[1]) / (2.0 * STEP))
    return np.stack(found, axis=-1)


def assert_close(found: Array, expected: Array, tolerance: float = 1e-6, smoothing: float = SMOOTH) -> None:
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * (1e-3 + np.abs(expected).max()))


def check_by_the_drives(machine: Machine, tolerance: float = 1e-6, smoothing: float = SMOOTH) -> None:
    motion, columns = states(machine), machine.drive_columns
    joints = joint_motion(machine, motion)
    drives = tuple(values[:, columns] for values in (joints.positions, joints.velocities, joints.accelerations))

    def forces(*state: Array) -> Array:
        return inverse_dynamics(machine, motion_from_drives(machine, motion.time, *state), sign_smoothing=smoothing)

    found = inverse_dynamics_derivatives(machine, motion, sign_smoothing=smoothing)
    assert_close(found.forces, forces(*drives))
    for place, ours in enumerate((found.by_position, found.by_velocity, found.by_acceleration)):
        assert_close(ours, differences(forces, drives, place, np.eye(machine.actuated_count)), tolerance)


def check_by_the_pose(machine: Machine, tolerance: float = 1e-6) -> None:
    motion = states(machine)

    def forces(change: Array, twist: Array, acceleration: Array) -> Array:
        moved = PlatformMotion(
            motion.time, motion.position + change[:, :3], rotation_exp(change[:, 3:]) @ motion.rotation_base_platform,
            twist[:, :3], twist[:, 3:], acceleration[:, :3], acceleration[:, 3:],
        )  # fmt: skip
        return inverse_dynamics(machine, moved, sign_smoothing=SMOOTH)

    found = inverse_dynamics_derivatives(machine, motion, 'platform', sign_smoothing=SMOOTH)
    state = np.zeros((2, 6)), motion.twist, motion.acceleration
    for place, ours in enumerate((found.by_position, found.by_velocity, found.by_acceleration)):
        assert_close(ours, differences(forces, state, place, np.eye(6)[machine.model.freedom]), tolerance)


@pytest.mark.parametrize('name', list(MACHINES))
def test_inverse_dynamics_by_the_drives(name: str) -> None:
    check_by_the_drives(MACHINES[name]())


def rubbing(joint: Joint) -> JointFriction:
    """Friction in proportion to the load, of drives more than of passive joints."""
    law = LoadDependentStribeck(
        viscous=0.3, coulomb_coefficient=0.1 if joint.actuated else 0.002,
        static_coefficient=0.15 if joint.actuated else 0.003, stribeck_velocity=0.3,
    )  # fmt: skip
    return JointFriction(law=law)


def rubbing_drives(joint: Joint) -> JointFriction:
    return rubbing(joint) if joint.actuated else JointFriction()


@pytest.mark.parametrize('friction', [rubbing, rubbing_drives])
@pytest.mark.parametrize('name', ['6-UPS', '6-PUS', '3-RPS', 'planar 3-PRR', 'khalifa_3prr'])
def test_friction_by_the_load(name: str, friction: Callable[[Joint], JointFriction]) -> None:
    """The drives' forces change the reactions, these the friction, and this the forces again."""
    machine = load_machine(name) if name == 'khalifa_3prr' else MACHINES[name]()
    machine = with_friction(machine, friction)
    found = inverse_dynamics_derivatives(machine, states(machine), sign_smoothing=SMOOTH)
    plain = inverse_dynamics_derivatives(machine, states(machine), friction=False)
    assert np.abs(found.by_acceleration - plain.by_acceleration).max() > 1e-4 * np.abs(plain.by_acceleration).max()
    check_by_the_drives(machine, 1e-5)


@pytest.mark.parametrize('friction', [rubbing, rubbing_drives])
@pytest.mark.parametrize('name', ['octopod_8ups', 'four_rrr'])
def test_friction_by_the_load_of_redundant_drives(name: str, friction: Callable[[Joint], JointFriction]) -> None:
    """Redundant drives share friction: it changes the other drives' forces, and with them the loads."""
    machine = with_friction(load_machine(FOLDER / name / 'machine.yaml'), friction)
    motion = states(machine)
    forces = inverse_dynamics(machine, motion, sign_smoothing=SMOOTH)
    pose = motion.position, motion.rotation_base_platform
    free = forward_dynamics(machine, *pose, motion.twist, forces, sign_smoothing=SMOOTH)
    np.testing.assert_allclose(free, motion.acceleration, atol=1e-9)
    check_by_the_pose(machine, 1e-5)


@pytest.mark.parametrize('name', FREE)
def test_derivatives_by_the_pose(name: str) -> None:
    """Of redundant machines too, whose drives share the forces in another way at each pose."""
    machine = MACHINES[name]() if name in MACHINES else load_machine(FOLDER / name / 'machine.yaml')
    if len(set(machine.drive_weights)) < 2 and machine.actuated_count > machine.degrees_of_freedom:
        machine = dataclasses.replace(machine, drive_weights=tuple(np.linspace(1.0, 2.0, machine.actuated_count)))
    check_by_the_pose(machine)


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
    check_by_the_drives(with_friction(MACHINES['planar 3-PRR'](), lambda joint: smooth), smoothing=0.0)


def test_what_is_no_coordinate_is_refused() -> None:
    held, redundant = MACHINES['3-RPS'](), load_machine(FOLDER / 'four_rrr' / 'machine.yaml')
    with pytest.raises(KinematicsError, match="use coordinates='drives'"):
        inverse_dynamics_derivatives(held, states(held), 'platform')
    with pytest.raises(KinematicsError, match="4 drives for 3 degrees of freedom.*use coordinates='platform'"):
        inverse_dynamics_derivatives(redundant, states(redundant))
    held_thrice = with_friction(machine_of_content(Path('agile_eye.yaml'), agile_eye()), rubbing)
    with pytest.raises(KinematicsError, match='hold the platform more than once'):
        inverse_dynamics_derivatives(held_thrice, states(held_thrice))
