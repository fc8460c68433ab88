"""Planar machines whose home is turned, angles at half a turn, and turns between attitudes."""

from __future__ import annotations

import numpy as np
import pytest
from hand_built_machines import polar
from other_machines import JointSpec, chain_leg, machine_of
from pkm_description.dynamics import gravity_forces, inverse_dynamics, potential_energy
from pkm_description.errors import KinematicsError
from pkm_description.kernels.kinematics.legs import wrapped
from pkm_description.kernels.kinematics.pose import turn_between
from pkm_description.kinematics import drive_positions, forward_kinematics, joint_motion
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, PlatformMotion, Pose
from scipy.spatial.transform import Rotation

HOME = np.array([0.1, -0.2, 0.3])


def three_rpr(turn: float) -> Machine:
    """Planar 3-RPR with 0.4 m struts; at home the platform is turned by ``turn`` about z."""
    rotation, legs = rotation_exp(np.array([0.0, 0.0, turn])), []
    for index, point in enumerate(polar(0.25, [10, 130, 250])):
        angle = np.radians(40 + 120 * index) + turn
        reach = 0.4 * np.array([np.cos(angle), np.sin(angle), 0.0])
        specs: list[JointSpec] = [
            ('revolute', [0, 0, 1], (HOME + rotation @ point - reach).tolist(), np.eye(3), angle),
            ('prismatic', [1, 0, 0], [0.0, 0.0, 0.0], np.eye(3), 0.4),
        ]
        legs.append(chain_leg(f'leg{index + 1}', specs, 1, np.zeros(3), point, index))
    return machine_of(legs, Pose(HOME, rotation), 'planar', np.array([0.0, -9.80665, 0.0]))


def poses(machine: Machine, count: int = 30) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    position = machine.home.position + random.uniform(-0.05, 0.05, (count, 3)) * np.array([1.0, 1.0, 0.0])
    turns = np.zeros((count, 3))
    turns[:, 2] = random.uniform(-0.2, 0.2, count)
    return position, rotation_exp(turns) @ machine.home.rotation_base_platform


@pytest.mark.parametrize('turn', [0.0, 0.7, -2.3, np.pi])
def test_a_turned_home_changes_nothing_else(turn: float) -> None:
    """Struts are as long as the distances of their joints, drives give the pose back, rates are derivatives."""
    machine = three_rpr(turn)
    position, rotation = poses(machine)
    anchors = position[:, None] + machine.platform_points @ np.swapaxes(rotation, 1, 2)
    drives = drive_positions(machine, position, rotation)
    np.testing.assert_allclose(drives, np.linalg.norm(anchors - machine.base_points, axis=-1), atol=1e-9)
    found = forward_kinematics(machine, drives).require()
    np.testing.assert_allclose(found.position, position, atol=1e-8)
    np.testing.assert_allclose(found.rotation_base_platform, rotation, atol=1e-8)
    velocity, spin = np.array([0.3, -0.2, 0.0]), np.array([0.0, 0.0, 0.9])
    step = 1e-6
    ends = [
        drive_positions(machine, position + s * step * velocity, rotation_exp(s * step * spin) @ rotation)
        for s in (1.0, -1.0)
    ]
    count = len(position)
    rows = [np.tile(vector, (count, 1)) for vector in (velocity, spin, np.zeros(3), np.zeros(3))]
    motion = PlatformMotion(np.arange(count, dtype=float), position, rotation, *rows)
    rates = joint_motion(machine, motion).velocities[:, machine.drive_columns]
    np.testing.assert_allclose(rates, (ends[0] - ends[1]) / (2.0 * step), atol=1e-7)


@pytest.mark.parametrize('turn', [0.7, -2.3])
def test_forces_at_a_turned_home_are_those_of_the_potential_energy(turn: float) -> None:
    machine, step = three_rpr(turn), 1e-6
    position, rotation = poses(machine, 5)
    forces = gravity_forces(machine, position, rotation)
    for velocity, spin in (([1.0, 0.0, 0.0], 0.0), ([0.0, 1.0, 0.0], 0.0), ([0.0, 0.0, 0.0], 1.0)):
        move, angle = step * np.array(velocity), np.array([0.0, 0.0, step * spin])
        ends = [(position + s * move, rotation_exp(s * angle) @ rotation) for s in (1.0, -1.0)]
        work = (potential_energy(machine, *ends[0]) - potential_energy(machine, *ends[1])) / (2.0 * step)
        way = (drive_positions(machine, *ends[0]) - drive_positions(machine, *ends[1])) / (2.0 * step)
        np.testing.assert_allclose(np.sum(forces * way, axis=1), work, rtol=1e-5, atol=1e-5)
    rest = PlatformMotion.at_rest(position[0], rotation[0])
    np.testing.assert_allclose(inverse_dynamics(machine, rest, friction=False)[0], forces[0], atol=1e-9)


@pytest.mark.parametrize(('size', 'fits'), [(0.9e-6, True), (1.1e-6, False), (-1.1e-6, False)])
def test_poses_beside_the_plane_of_a_turned_home(size: float, fits: bool) -> None:
    """Off it, or tilted about any axis of the platform, by more than 1e-6 m or rad."""
    machine = three_rpr(0.7)
    home = machine.home.position, machine.home.rotation_base_platform
    moved = [(home[0] + np.array([0.0, 0.0, size]), home[1])]
    moved += [(home[0], home[1] @ rotation_exp(size * axis)) for axis in np.eye(3)[:2]]
    for position, rotation in moved:
        if fits:
            drive_positions(machine, position[None], rotation[None])
        else:
            with pytest.raises(KinematicsError, match='plane'):
                drive_positions(machine, position[None], rotation[None])


@pytest.mark.parametrize('middle', [0.0, 1.3, -3.0])
def test_angles_are_taken_within_half_a_turn(middle: float) -> None:
    for angle in (*np.linspace(-20.0, 20.0, 41), middle + np.pi, middle - np.pi, middle + 3.0 * np.pi - 1e-9):
        found = wrapped(float(angle), middle)
        assert -np.pi - 1e-12 <= found - middle <= np.pi + 1e-12
        assert np.cos(found - angle) == pytest.approx(1.0, abs=1e-12)
    assert wrapped(np.pi, 0.0) == -np.pi and wrapped(-np.pi, 0.0) == -np.pi
    assert wrapped(0.5, 0.0) == 0.5


@pytest.mark.parametrize('angle', [0.0, 1e-9, 0.5, np.pi / 2.0, 3.0, np.pi - 1e-6])
def test_turn_from_one_attitude_to_another(angle: float) -> None:
    random = np.random.default_rng(2)
    begin = Rotation.random(rng=random).as_matrix()
    axis = random.normal(size=3)
    axis /= np.linalg.norm(axis)
    end = rotation_exp(angle * axis) @ begin
    found_axis, found = turn_between(np.ascontiguousarray(begin), np.ascontiguousarray(end[None]))
    assert found == pytest.approx(angle, abs=1e-8)
    np.testing.assert_allclose(rotation_exp(found * np.array(found_axis)) @ begin, end, atol=1e-8)
    assert np.linalg.norm(found_axis) == pytest.approx(1.0)
