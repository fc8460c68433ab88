"""Joint limits of poses, motion along single axes; forward kinematics in the whole workspace of every hexapod."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.kinematics import assembly_modes, drive_positions, forward_kinematics, leg_lengths, length_jacobian
from pkm_description.kinematics.assembly_modes import follow_drives
from pkm_description.kinematics.forward import home_branch
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import single_axis_limits
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, Pose

from verification.mechanics.forward_kinematics import count_wrong_answers, random_workspace_poses


def _lengths(machine: Machine, margin: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    limits = [joint.limits for joint in machine.actuated_joints]
    zero = machine.lengths_at_zero
    return (
        zero + [one.lower + margin for one in limits],
        zero + [one.upper - margin for one in limits],
    )


@pytest.mark.parametrize('name', ['srs', 'palida'])
def test_excursions_end_where_a_leg_ends_or_the_pose_is_singular(name: str) -> None:
    machine = load_machine(name)
    home = machine.home
    lower, upper = _lengths(machine)
    limits = single_axis_limits(machine, tolerance=1e-9)
    assert list(limits) == list(range(6))
    for axis, side in np.ndindex(6, 2):
        # just inside, at and just outside of the limit
        move = np.zeros((3, 6))
        move[:, axis] = limits[axis][side] * np.array([1.0 - 1e-6, 1.0, 1.0 + 1e-6])
        pose = home.position + move[:, :3], rotation_exp(move[:, 3:]) @ home.rotation_base_platform
        room = np.minimum(leg_lengths(machine, *pose) - lower, upper - leg_lengths(machine, *pose)).min(axis=1)
        at_home = length_jacobian(machine, home.position[None], home.rotation_base_platform[None])
        same_side = np.linalg.det(length_jacobian(machine, *pose)) * np.linalg.det(at_home)
        assert room[0] > 0.0
        assert same_side[0] > 0.0
        assert min(room[2], same_side[2]) < 0.0


def test_palida_turns_until_it_is_singular() -> None:
    """A quarter turn about z leaves the legs of this layout without hold, well inside of their stroke."""
    machine = load_machine('palida')
    limits = single_axis_limits(machine)
    np.testing.assert_allclose(np.degrees(limits[5]), [-90.0, 90.0], atol=1e-3)


HEXAPODS = ('srs', 'palida', 'msi', 'uf', 'snl', 'ford')


@pytest.fixture(scope='module')
def palida() -> Machine:
    return load_machine('palida')


@pytest.mark.parametrize('name', HEXAPODS)
def test_no_wrong_answer_and_few_refused(name: str) -> None:
    count = count_wrong_answers(load_machine(name), 10_000, seed=11)
    assert count.wrong == 0
    assert count.right + count.refused == count.poses == 10_000
    # palida's joints allow singular poses; those near them are refused, and some behind them seen from home
    assert count.refused <= 20


@pytest.mark.parametrize('name', ['srs', 'palida'])
def test_verified_branch_agrees_and_refuses_no_more(name: str) -> None:
    machine = load_machine(name)
    position, rotation = random_workspace_poses(machine, 3000, seed=12)
    result = forward_kinematics(machine, drive_positions(machine, position, rotation), verify_branch=True)
    assert np.mean(result.trusted) > 0.997
    np.testing.assert_allclose(result.position[result.trusted], position[result.trusted], atol=1e-7)


def test_following_finds_poses_that_newton_steps_from_home_miss(palida: Machine) -> None:
    position, rotation = random_workspace_poses(palida, 10_000, seed=13, largest_turn=2.0)
    drives = drive_positions(palida, position, rotation)
    # from a start of one's own nothing is followed that has not converged
    plain = forward_kinematics(palida, drives, palida.home, max_iterations=20)
    missed = ~(plain.converged & plain.right_assembly_mode)
    result = forward_kinematics(palida, drives[missed])
    found = result.trusted
    assert np.count_nonzero(found) > 0
    np.testing.assert_allclose(result.position[found], position[missed][found], atol=1e-6)


def test_following_stops_where_the_lengths_have_no_pose_any_more(palida: Machine) -> None:
    """One leg grows until the platform stands still in it: the way ends at a singular pose, on the right side."""
    home = palida.home
    pose = home.position[None], home.rotation_base_platform[None]
    lengths, longer = leg_lengths(palida, *pose), np.array([0.8, 0.0, 0.0, 0.0, 0.0, 0.0])
    drives = lengths - palida.lengths_at_zero
    followed = follow_drives(palida, drives + longer)
    assert not followed.reached[0]
    assert 0.01 < followed.fraction[0] < 0.9
    jacobian = length_jacobian(palida, followed.position, followed.rotation_base_platform)
    assert np.linalg.det(jacobian)[0] * home_branch(palida)[0] > 0.0
    # the search over all poses knows nothing of the way: it finds this pose, and a little further on none at all
    here, beyond = (drives[0] + (followed.fraction[0] + ahead) * longer for ahead in (0.0, 0.05))
    modes = assembly_modes(palida, here)
    difference = np.abs(modes.rotation_base_platform - followed.rotation_base_platform).max(axis=(1, 2))
    assert np.maximum(difference, np.abs(modes.position - followed.position).max(axis=1)).min() < 1e-6
    assert len(assembly_modes(palida, beyond)) == 0
    back = follow_drives(palida, drives, Pose(followed.position, followed.rotation_base_platform))
    assert back.reached[0]
    np.testing.assert_allclose(back.position, pose[0], atol=1e-7)


def test_beyond_sixty_degrees_two_poses_of_the_home_branch_may_share_their_lengths(palida: Machine) -> None:
    """The limit of what is guaranteed: no wrong answer that lengths could tell, and both poses are among the modes."""
    count = count_wrong_answers(palida, 5000, seed=0, largest_turn=np.pi)
    assert 0 < count.wrong == count.indistinguishable < 50
    position, rotation = random_workspace_poses(palida, 5000, seed=0, largest_turn=np.pi)
    lengths = leg_lengths(palida, position, rotation)
    result = forward_kinematics(palida, lengths - palida.lengths_at_zero)
    other = result.trusted & (np.abs(result.position - position).max(axis=1) > 1e-3)
    sample = int(np.argmax(other))
    modes = assembly_modes(palida, lengths[sample] - palida.lengths_at_zero)
    for pose in (position[sample], result.position[sample]):
        assert np.abs(modes.position - pose).max(axis=1).min() < 1e-6
    signs = modes.determinant_sign[np.abs(modes.position - position[sample]).max(axis=1) < 1e-6]
    np.testing.assert_array_equal(signs, home_branch(palida)[0])
