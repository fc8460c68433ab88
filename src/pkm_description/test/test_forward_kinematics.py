"""Forward kinematics: the right pose, or a clear no."""

from __future__ import annotations

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot, hexapod, polar, simona_z_down
from pkm_description.errors import AssemblyModeError, ConvergenceError, SingularPoseError
from pkm_description.kinematics import (
    forward_kinematics,
    leg_lengths,
    length_jacobian,
)
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, Pose


@pytest.fixture(scope='module', params=[heimann_check_robot, simona_z_down], ids=['heimann', 'simona'])
def machine(request: pytest.FixtureRequest) -> Machine:
    return request.param()


def test_round_trip_of_ten_thousand_poses(machine: Machine) -> None:
    motion = random_states(machine, 10_000, turn=0.3, move=0.15)
    lengths = leg_lengths(machine, motion.position, motion.rotation_base_platform)
    result = forward_kinematics(machine, lengths - machine.lengths_at_zero).require()
    np.testing.assert_allclose(result.position, motion.position, atol=1e-10)
    np.testing.assert_allclose(result.rotation_base_platform, motion.rotation_base_platform, atol=1e-10)
    assert result.iterations.max() <= 10


def test_never_a_silent_wrong_answer(machine: Machine) -> None:
    """Far out, some poses lie beyond a singularity: the rest come back exactly, or are marked."""
    motion = random_states(machine, 20_000, seed=9, turn=0.8, move=0.4)
    home = machine.home
    lengths = leg_lengths(machine, motion.position, motion.rotation_base_platform)
    jacobian = length_jacobian(machine, motion.position, motion.rotation_base_platform)
    at_home = length_jacobian(machine, home.position[None], home.rotation_base_platform[None])
    home_side = np.linalg.det(jacobian) * np.linalg.det(at_home) > 0.0
    assert 0.9 < home_side.mean() < 0.99
    result = forward_kinematics(machine, lengths - machine.lengths_at_zero)
    trusted = result.converged & result.right_assembly_mode & (result.condition < 1e3)
    found = leg_lengths(machine, result.position, result.rotation_base_platform)
    assert np.abs(found - lengths)[trusted].max() < 1e-11
    same = np.abs(result.position - motion.position).max(axis=1) < 1e-7
    same &= np.abs(result.rotation_base_platform - motion.rotation_base_platform).max(axis=(1, 2)) < 1e-7
    assert np.all(same[trusted & home_side])
    assert trusted[home_side].mean() > 0.98


def test_start_beyond_the_base_finds_and_reports_the_mirror_branch(machine: Machine) -> None:
    home = machine.home
    lengths = leg_lengths(machine, home.position[None], home.rotation_base_platform[None])
    mirrored = Pose(home.position * [1.0, 1.0, -1.0], np.eye(3))
    result = forward_kinematics(machine, lengths - machine.lengths_at_zero, mirrored)
    assert result.converged[0]
    assert not result.right_assembly_mode[0]
    np.testing.assert_allclose(result.position[0], mirrored.position, atol=1e-9)
    with pytest.raises(AssemblyModeError, match='sample 0'):
        result.require()


def test_lengths_that_no_pose_has_are_reported(machine: Machine) -> None:
    home = machine.home
    lengths = np.repeat(leg_lengths(machine, home.position[None], home.rotation_base_platform[None]), 3, axis=0)
    lengths[1, 4] *= 10.0
    lengths[2, 0] = np.nan
    result = forward_kinematics(machine, lengths - machine.lengths_at_zero)
    np.testing.assert_array_equal(result.converged, [True, False, False])
    assert result.residual[1] > 0.1
    with pytest.raises((ConvergenceError, SingularPoseError), match='sample 1'):
        result.require()
    with pytest.raises(ConvergenceError, match=r'sample 0.*leg1 misses'):
        forward_kinematics(machine, lengths[2:] - machine.lengths_at_zero).require()


def test_singular_architecture_is_refused_by_name() -> None:
    # similar hexagons at equal angles: the platform can turn about z without any leg noticing
    angles = [0.0, 60.0, 120.0, 180.0, 240.0, 300.0]
    home = Pose(np.array([0.0, 0.0, 0.7]), np.eye(3))
    singular = hexapod(polar(0.6, angles), polar(0.2, angles), home, np.array([0.0, 0.0, -9.81]))
    lengths = leg_lengths(singular, home.position[None], home.rotation_base_platform[None])
    result = forward_kinematics(singular, lengths - singular.lengths_at_zero)
    assert result.condition[0] > 1e10
    with pytest.raises(SingularPoseError, match='sample 0: condition number'):
        result.require()


def test_condition_at_home() -> None:
    machine = simona_z_down()
    home = machine.home
    result = forward_kinematics(machine, np.full((2, 6), 2.705) - machine.lengths_at_zero)
    np.testing.assert_allclose(result.condition, 3.27, atol=0.005)
    np.testing.assert_allclose(result.position, np.stack([home.position] * 2), atol=1e-12)


def test_condition_numbers_near_and_far_from_singular_poses() -> None:
    """A quarter turn about z is singular on PaLiDA's layout: condition numbers over six decades."""
    from pkm_description.loading import load_machine

    palida = load_machine('palida')
    home = palida.home
    turn = np.pi / 2.0 - np.logspace(0.0, -6.0, 40)
    rotation = rotation_exp(turn[:, None] * np.array([0.0, 0.0, 1.0])) @ home.rotation_base_platform
    position = np.repeat(home.position[None], 40, axis=0)
    lengths = leg_lengths(palida, position, rotation)
    result = forward_kinematics(palida, lengths - palida.lengths_at_zero, Pose(position, rotation))
    exact = np.linalg.cond(length_jacobian(palida, position, rotation))
    assert exact.max() > 1e6
    np.testing.assert_allclose(result.condition, exact, rtol=1e-6)
    np.testing.assert_array_equal(result.singular, exact > 1e4)
    np.testing.assert_array_equal(np.isnan(result.free_twist).all(axis=1), ~result.singular)
    # the platform moves along the twist that is named, and no leg notices
    twists = result.free_twist[result.singular]
    assert np.linalg.norm(twists, axis=1) == pytest.approx(np.ones(len(twists)))
    noticed = (length_jacobian(palida, position, rotation)[result.singular] @ twists[..., None])[..., 0]
    assert len(twists) > 5 and np.abs(noticed).max() < 1e-3
