"""Kinematics of the package's machines with legs of any kind, against what their geometry says in closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graph_machines import NAMES, agile_eye, from_content
from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import (
    drive_positions,
    forward_kinematics,
    joint_motion,
    joint_positions,
)
from pkm_description.kinematics.drive_map import motion_from_drives
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_of_content
from pkm_description.machine import Machine, PlatformMotion


@pytest.fixture(scope='module', params=[*NAMES, 'agile_eye'])
def machine(request: pytest.FixtureRequest) -> Machine:
    if request.param == 'agile_eye':
        return machine_of_content(Path('agile_eye.yaml'), agile_eye())
    return from_content(request.param, {})


@pytest.fixture(scope='module')
def states(machine: Machine) -> PlatformMotion:
    return random_states(machine, 12, seed=4, turn=0.2, move=0.1)


def home_grid(machine: Machine, size: float) -> Array:
    """Poses (27, 3) m around home of a machine that does not turn its platform."""
    steps = size * np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3)).reshape(3, -1).T
    return machine.home.position + steps


def test_rates_of_joints_are_derivatives(machine: Machine, states: PlatformMotion) -> None:
    """Velocities of all joints, idle ones included, against positions a little before and after."""
    step, one = 1e-5, states[:1]
    if machine.is_redundant:
        moved = [
            (
                one.position + time * one.linear_velocity,
                rotation_exp(time * one.angular_velocity) @ one.rotation_base_platform,
            )
            for time in (-step, step)
        ]
        before, after = (joint_positions(machine, *pose)[0] for pose in moved)
    else:
        drives = joint_motion(machine, one).velocities[0, machine.drive_columns]
        before, after = (
            forward_kinematics(machine, drive_positions(machine, one) + time * drives).require().joint_positions[0]
            for time in (-step, step)
        )
    found = joint_motion(machine, one).velocities[0]
    assert np.abs(found[machine.drive_columns]).min() > 1e-3
    np.testing.assert_allclose(found, (after - before) / (2.0 * step), atol=1e-6 * np.abs(found).max())


def test_arms_of_the_delta_in_closed_form() -> None:
    """A rod joins elbow and platform; in the arm's plane that is an intersection of two circles (Clavel 1991)."""
    machine = from_content('delta', {})
    base, platform, arm, rod = 0.164, 0.044, 0.524, 1.244
    poses = home_grid(machine, 0.15)
    found = drive_positions(machine, poses, np.broadcast_to(np.eye(3), (len(poses), 3, 3)))
    for leg, azimuth in enumerate(np.radians([0.0, 120.0, 240.0])):
        turn = np.array([[np.cos(azimuth), np.sin(azimuth), 0], [-np.sin(azimuth), np.cos(azimuth), 0], [0, 0, 1.0]])
        x, y, z = (poses @ turn.T + [platform - base, 0.0, 0.0]).T
        # |elbow - wrist|^2 = rod^2 with the elbow at arm (cos q, 0, -sin q)
        e, f, g = -2.0 * arm * x, 2.0 * arm * z, x * x + y * y + z * z + arm * arm - rod * rod
        angle = np.arctan2(f, e) + np.arccos(-g / np.hypot(e, f))
        np.testing.assert_allclose(found[:, leg], (angle + np.pi) % (2.0 * np.pi) - np.pi, atol=1e-12)


@pytest.mark.parametrize('name', ['delta', 'three_upu'])
def test_platforms_that_do_not_turn(name: str) -> None:
    machine = from_content(name, {})
    home = drive_positions(machine, machine.home.position, machine.home.rotation_base_platform)
    drives = home + np.random.default_rng(0).uniform(-0.1, 0.1, (20, 3))
    found = forward_kinematics(machine, drives).require()
    assert np.ptp(found.position, axis=0).min() > 0.02
    np.testing.assert_allclose(rotation_log(found.rotation_base_platform), 0.0, atol=1e-9)


def test_struts_of_the_3_upu_in_closed_form() -> None:
    machine = from_content('three_upu', {})
    poses = home_grid(machine, 0.1)
    found = drive_positions(machine, poses, np.broadcast_to(np.eye(3), (len(poses), 3, 3)))
    between = machine.platform_points - machine.base_points
    np.testing.assert_allclose(found, np.linalg.norm(poses[:, None] + between, axis=-1) - 0.55, atol=1e-12)


def test_poses_that_a_delta_does_not_admit_are_refused() -> None:
    machine = from_content('delta', {})
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(KinematicsError):
        joint_positions(machine, machine.home.position, turned)


def test_five_bar_in_closed_form() -> None:
    """Both cranks by the law of cosines, elbows outward; the platform turns with the rod of leg 1."""
    machine = from_content('five_bar', {})
    home = drive_positions(machine, machine.home.position, machine.home.rotation_base_platform)
    drives = home + np.random.default_rng(1).uniform(-0.15, 0.15, (20, 2))
    found = forward_kinematics(machine, drives).require()
    for leg, (place, side) in enumerate(((-0.059, 1.0), (0.059, -1.0))):
        way = found.position[:, :2] - [place, 0.0]
        distance = np.linalg.norm(way, axis=1)
        crank = np.arctan2(way[:, 1], way[:, 0]) + side * np.arccos(distance / 0.18)
        np.testing.assert_allclose(drives[:, leg], crank, atol=1e-9)
    elbow = np.array([-0.059, 0.0]) + 0.09 * np.stack([np.cos(drives[:, 0]), np.sin(drives[:, 0])], axis=1)
    rod = (found.position[:, :2] - elbow) / 0.09
    np.testing.assert_allclose(found.rotation_base_platform[:, :2, 0], rod, atol=1e-9)


def test_tricept_stays_on_its_middle_strut() -> None:
    """The platform's z axis goes through the universal joint in the origin; it does not turn about it."""
    machine = from_content('tricept', {})
    states = random_states(machine, 20, seed=1, turn=0.3, move=0.2)
    z = states.rotation_base_platform[:, :, 2]
    np.testing.assert_allclose(np.cross(z, states.position), 0.0, atol=1e-9)
    anchors = states.position[:, None] + np.array([leg.platform_point for leg in machine.legs[:3]]) @ np.swapaxes(
        states.rotation_base_platform, 1, 2
    )
    lengths = np.linalg.norm(anchors - np.array([leg.base_point for leg in machine.legs[:3]]), axis=-1)
    np.testing.assert_allclose(drive_positions(machine, states), lengths - 0.7, atol=1e-12)


def test_agile_eye_keeps_its_centre() -> None:
    machine = machine_of_content(Path('agile_eye.yaml'), agile_eye())
    found = forward_kinematics(machine, np.random.default_rng(0).uniform(-0.5, 0.5, (10, 3))).require()
    np.testing.assert_allclose(found.position, 0.0, atol=1e-9)
    assert np.linalg.norm(rotation_log(found.rotation_base_platform), axis=1).min() > 0.1


def test_an_idle_turn_stays_where_the_file_has_it() -> None:
    turned = {f'leg_chains.arm.joints.{side}_ball.home': [0.0, 0.35, 0.7] for side in ('left', 'right')}
    machine, other = from_content('delta', {}), from_content('delta', turned)
    pose = machine.home.position + np.array([0.05, 0.1, -0.1]), np.eye(3)
    idle = [place for place, joint in enumerate(machine.joints) if joint.name.endswith('_ball_3')]
    found, again = joint_positions(machine, *pose), joint_positions(other, *pose)
    np.testing.assert_allclose(found[idle], 0.0, atol=1e-12)
    np.testing.assert_allclose(again[idle], 0.7, atol=1e-12)
    np.testing.assert_allclose(np.delete(found, idle), np.delete(again, idle), atol=1e-12)


@pytest.mark.parametrize('name', ['tricept', 'delta', 'valencia_3rps'])
def test_accelerations_by_drives_are_those_of_the_velocities(name: str) -> None:
    """Also where a leg forbids the platform several motions."""
    machine, step = load_machine(name), 1e-4
    time = 0.3 + step * np.array([-1.0, 0.0, 1.0])
    home = joint_positions(machine, machine.home.position[None], machine.home.rotation_base_platform[None])
    phase = np.arange(machine.actuated_count)
    turns = [joint.kind == 'revolute' for joint in machine.actuated_joints]
    size = 0.05 * np.where(turns, 1.0, machine.model.radius[0])
    arguments = 7.0 * time[:, None] + phase
    drives = home[0, machine.drive_columns] + size * (np.sin(arguments) - np.sin(phase))
    motion = motion_from_drives(
        machine, time, drives, 7.0 * size * np.cos(arguments), -49.0 * size * np.sin(arguments)
    )
    for velocity, acceleration in (
        (motion.linear_velocity, motion.linear_acceleration), (motion.angular_velocity, motion.angular_acceleration),
    ):  # fmt: skip
        found = (velocity[2] - velocity[0]) / (2.0 * step)
        assert acceleration[1] == pytest.approx(found, abs=1e-5 * max(1.0, np.abs(found).max()))
    assert np.abs(motion.linear_acceleration[1]).max() > 0.1


@pytest.mark.parametrize('size', [1e-8, 1e-6, 1e-4])
def test_constraints_that_repeat_each_other_nearly_leave_three_freedoms(size: float) -> None:
    """Orthoglide: legs forbid the same turns three times over, next to home by rows that are nearly parallel."""
    machine = load_machine(Path(__file__).parent / 'machines' / 'orthoglide.yaml')
    random = np.random.default_rng(0).normal(size=(100, 3))
    drives = size * random / np.linalg.norm(random, axis=1, keepdims=True)
    home = machine.home_positions[machine.drive_columns]
    closed = forward_kinematics(machine, home + drives)
    forces = gravity_forces(machine, closed.position, closed.rotation_base_platform)
    at_home = gravity_forces(machine, machine.home.position[None], machine.home.rotation_base_platform[None])
    np.testing.assert_allclose(forces, np.broadcast_to(at_home, forces.shape), atol=1e3 * size)
