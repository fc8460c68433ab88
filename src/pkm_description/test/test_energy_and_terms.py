"""Shares of the drive forces, payloads, and drive forces sample by sample."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from drive_motions import TIME, drive_motion
from graph_machines import FOLDER
from hand_built_machines import heimann_check_robot, random_body, turned_link_frames
from other_machines import CLOSED, cart_with_pendulum
from pkm_description.dynamics import (
    DriveDynamics,
    DriveRegressor,
    friction_loads,
    friction_regressor,
    inverse_dynamics,
    rigid_body_regressor,
)
from pkm_description.dynamics.inverse import drive_force_terms
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import joint_motion, motion_from_drives
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.machine.machine import joined, with_gravity, with_payload

BUILDERS = {'6-UPS': turned_link_frames, **CLOSED}


@pytest.fixture(scope='module', params=list(BUILDERS))
def machine(request: pytest.FixtureRequest) -> Machine:
    return BUILDERS[request.param]()


def test_terms_scale_as_they_should(machine: Machine) -> None:
    """Twice as fast: velocity products and inertia four times, weight the same."""
    motion = drive_motion(machine, TIME)
    names = ['linear_velocity', 'angular_velocity', 'linear_acceleration', 'angular_acceleration']
    faster = dataclasses.replace(
        motion, **{name: getattr(motion, name) * (2 if 'velocity' in name else 4) for name in names}
    )
    slow, fast = (drive_force_terms(machine, m, friction=False) for m in (motion, faster))
    for name in ('pm', 'sm', 'cor', 'cen', 'rotor'):
        np.testing.assert_allclose(getattr(fast, name), 4 * getattr(slow, name), atol=1e-9)
    for name in ('grp', 'grs'):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), atol=1e-9)
    weightless = with_gravity(machine, np.zeros(3))
    floating = drive_force_terms(weightless, motion, friction=False)
    np.testing.assert_allclose(floating.total, slow.total - slow.grp - slow.grs, atol=1e-9)


def test_joined_bodies_keep_their_parameters() -> None:
    random = np.random.default_rng(4)
    first, second = random_body('a', 3.0, 0.3, random), random_body('b', 5.0, 0.2, random)
    np.testing.assert_allclose(joined(first, second).parameters, first.parameters + second.parameters, atol=1e-12)


def test_variants_refuse_what_makes_no_sense() -> None:
    with pytest.raises(ValueError, match='three numbers'):
        with_gravity(heimann_check_robot(), np.zeros(2))
    with pytest.raises(ValueError, match='open chain'):
        with_payload(cart_with_pendulum(), random_body('load', 1.0, 0.1, np.random.default_rng(0)))


@pytest.mark.parametrize('name', ['srs', 'valencia_3rps', 'khalifa_3prr', 'delta'])
def test_forces_are_those_of_the_platforms_motion(name: str) -> None:
    """Samples in a row, then a jump far away: each gives what the batch gives."""
    machine = load_machine(FOLDER / name / 'machine.yaml' if name == 'delta' else name)
    drives = drives_in_a_row(machine)
    time = np.arange(len(drives[0]), dtype=float)
    expected = inverse_dynamics(machine, motion_from_drives(machine, time, *drives), external_wrench=np.arange(6.0))
    live = DriveDynamics(machine)
    found = np.array([live.forces(*sample, external_wrench=np.arange(6.0)) for sample in zip(*drives, strict=True)])
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize('name', ['srs', 'khalifa_3prr', 'delta', 'four_rrr'])
def test_rows_are_those_of_the_platforms_motion(name: str) -> None:
    """Also where friction goes with the load, and where redundant drives share it."""
    machine = load_machine(FOLDER / name / 'machine.yaml' if name in ('delta', 'four_rrr') else name)
    motion = random_states(machine, 4, seed=4)
    joints, columns = joint_motion(machine, motion), machine.drive_columns
    bodies = rigid_body_regressor(machine, motion)
    friction = friction_regressor(machine, joints, loads=friction_loads(machine, motion))
    forces, live = inverse_dynamics(machine, motion), DriveRegressor(machine)
    for index in range(4):
        sample = (one[index, columns] for one in (joints.positions, joints.velocities, joints.accelerations))
        rows = live.rows(*sample)
        for found, expected in ((rows.forces, forces), (rows.bodies, bodies), (rows.friction, friction)):
            np.testing.assert_allclose(found, expected[index], rtol=0.0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize('name', ['srs', 'khalifa_3prr'])
def test_forces_may_follow_other_accelerations(name: str) -> None:
    machine = load_machine(name)
    joints, columns = joint_motion(machine, random_states(machine, 1, seed=5)), machine.drive_columns
    place, rate, second = (one[0, columns] for one in (joints.positions, joints.velocities, joints.accelerations))
    moving, still = (DriveRegressor(machine).rows(place, rate, acceleration) for acceleration in (second, 0.0 * second))
    both = DriveRegressor(machine).rows(place, rate, 0.0 * second, second)
    assert np.abs(moving.forces - still.forces).max() > 1e-3 * np.abs(still.forces).max()
    np.testing.assert_array_equal(both.forces, moving.forces)
    np.testing.assert_array_equal(both.bodies, still.bodies)


def drives_in_a_row(machine: Machine) -> list[np.ndarray]:
    states = random_states(machine, 2, seed=4)
    joints = joint_motion(machine, states)
    first, last = joints.positions[:, machine.drive_columns]
    shares = np.array([0.0, 0.004, 0.008, 1.0, 0.996])[:, None]
    rows = [np.random.default_rng(seed).normal(size=(5, len(first))) for seed in (1, 2)]
    return [first + shares * (last - first), *rows]


def test_doubtful_drives_are_refused_and_the_next_sample_starts_again() -> None:
    machine = load_machine('srs')
    live = DriveDynamics(machine)
    drives = drives_in_a_row(machine)
    before = live.forces(*(one[0] for one in drives))
    with pytest.raises(KinematicsError):
        live.forces(drives[0][0] + 5.0 * np.eye(6)[0], drives[1][0], drives[2][0])
    with pytest.raises(KinematicsError, match='NaN or infinity'):
        live.forces(drives[0][0], np.full(6, np.nan), drives[2][0])
    np.testing.assert_allclose(live.forces(*(one[0] for one in drives)), before, rtol=1e-9)
