"""Forward kinematics of machines with legs of any kind: against the inverse, differences, and geometry by hand."""

from __future__ import annotations

import numpy as np
import pytest
from graph_machines import FOLDER, NAMES, agile_eye, from_content
from pkm_description.errors import ConvergenceError, KinematicsError
from pkm_description.kernels.linalg import (
    eliminate_columns,
    independence,
    inverse_squares,
    reflect_columns,
    singular_columns,
)
from pkm_description.kinematics import (
    PoseSolver,
    assembly_modes,
    drive_jacobian,
    drive_positions,
    forward_kinematics,
    joint_positions,
    measured_tolerance,
)
from pkm_description.kinematics.assembly_modes import follow_drives
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.kinematics.forward import checked_drives
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_of_content
from pkm_description.machine import Machine

REDUNDANT = {'octopod_8ups', 'four_rrr'}


@pytest.fixture(scope='module', params=[*NAMES, 'agile_eye'])
def machine(request: pytest.FixtureRequest) -> Machine:
    if request.param == 'agile_eye':
        return machine_of_content(FOLDER / 'agile_eye' / 'machine.yaml', agile_eye())
    return from_content(request.param, {})


def drives_near_home(machine: Machine, count: int, seed: int = 0) -> np.ndarray:
    """Drive positions (N, A) that have a pose; redundant ones from poses about home."""
    model, random = machine.model, np.random.default_rng(seed)
    if machine.actuated_count == machine.degrees_of_freedom:
        reach = np.where(model.kind[model.drive_joint] == 0, 0.05, 0.1 * model.radius[0])
        return model.home_joints[model.drive_joint] + reach * random.uniform(-1.0, 1.0, (count, len(reach)))
    moves, turns = random.normal(size=(2, count, 3)) * 0.1
    if machine.planar:
        moves[:, 2] = turns[:, :2] = 0.0
    position = model.home_position + model.radius[0] * moves
    return drive_positions(machine, position, rotation_exp(turns) @ model.home_rotation)


def test_the_inverse_gives_the_drives_back(machine: Machine) -> None:
    drives = drives_near_home(machine, 30)
    found = forward_kinematics(machine, drives).require()
    assert found.residual.max() <= 1e-12
    assert found.joint_positions.shape == (30, len(machine.joints))
    pose = found.position, found.rotation_base_platform
    np.testing.assert_allclose(drive_positions(machine, *pose), drives, atol=1e-9)
    np.testing.assert_allclose(joint_positions(machine, *pose), found.joint_positions, atol=1e-9)


def test_moves_of_the_pose_are_those_of_the_drive_jacobian(machine: Machine) -> None:
    """Along a motion of the drives that the machine can make: differences of poses against the inverse's Jacobian."""
    step = 1e-6
    centre = forward_kinematics(machine, drives_near_home(machine, 6, seed=1)).require()
    start = centre.joint_positions[:, machine.drive_columns]
    jacobian = drive_jacobian(machine, centre.position, centre.rotation_base_platform)
    if machine.actuated_count > machine.degrees_of_freedom:  # rates that fit together
        freedom = machine.model.freedom
        rates = jacobian[..., freedom] @ np.random.default_rng(2).normal(size=len(freedom))
    else:
        rates = np.tile(np.random.default_rng(2).normal(size=machine.actuated_count), (6, 1))
    ends = [forward_kinematics(machine, start + sign * step * rates, centre) for sign in (-1.0, 1.0)]
    turn = rotation_log(ends[1].rotation_base_platform @ np.swapaxes(ends[0].rotation_base_platform, 1, 2))
    twist = np.concatenate([ends[1].position - ends[0].position, turn], axis=1) / (2.0 * step)
    np.testing.assert_allclose((jacobian @ twist[..., None])[..., 0], rates, atol=2e-6 * np.abs(rates).max())


def test_a_sample_does_not_depend_on_the_others(machine: Machine) -> None:
    drives = drives_near_home(machine, 5)
    drives[1, 0], drives[3] = np.nan, drives[3] + 50.0
    batch = forward_kinematics(machine, drives)
    assert batch.trusted[[0, 2, 4]].all() and not batch.trusted[1]
    for sample in (0, 2, 4):
        single = forward_kinematics(machine, drives[sample])
        np.testing.assert_array_equal(single.position[0], batch.position[sample])
        np.testing.assert_array_equal(single.joint_positions[0], batch.joint_positions[sample])
        assert single.iterations[0] == batch.iterations[sample]
    with pytest.raises(ConvergenceError, match=r'sample 0: no pose found'):
        forward_kinematics(machine, drives[1]).require()


def test_steps_of_the_solver_find_the_same(machine: Machine) -> None:
    first, last = forward_kinematics(machine, drives_near_home(machine, 2, seed=3)).require().position
    part = np.linspace(0.0, 1.0, 25)[:, None]
    if machine.actuated_count > machine.degrees_of_freedom:
        rotation = np.repeat(machine.model.home_rotation[None], 25, axis=0)
        drives = drive_positions(machine, first + part * (last - first), rotation)
    else:
        ends = drives_near_home(machine, 2, seed=3)
        drives = ends[0] + part * (ends[1] - ends[0])
    expected = forward_kinematics(machine, drives).require()
    solver, found = PoseSolver(machine, 1e-9, 10), None
    poses = [found := solver.solve(sample, found) for sample in drives]
    np.testing.assert_allclose([pose.position for pose in poses], expected.position, atol=1e-10)
    np.testing.assert_allclose([pose.joint_positions for pose in poses], expected.joint_positions, atol=1e-9)
    series = solver.series(drives, np.zeros(25, dtype=bool))
    np.testing.assert_array_equal(series.found.position, [pose.position for pose in poses])
    # twist per drive rate: what moves the drives by one is found again
    jacobian = drive_jacobian(machine, expected.position, expected.rotation_base_platform)
    mapped = jacobian @ series.found.inverse_jacobian @ jacobian
    np.testing.assert_allclose(mapped, jacobian, atol=1e-8 * np.abs(jacobian).max())


def test_drives_followed_from_home_end_in_the_same_pose(machine: Machine) -> None:
    if machine.name in REDUNDANT:
        pytest.skip('drives on a straight line contradict each other')
    drives = drives_near_home(machine, 4)
    followed = follow_drives(machine, drives)
    assert followed.reached.all()
    np.testing.assert_allclose(followed.position, forward_kinematics(machine, drives).position, atol=1e-7)


@pytest.mark.parametrize('name', sorted(REDUNDANT))
def test_contradicting_drives_leave_a_residual_and_the_nearest_pose(name: str) -> None:
    machine = from_content(name, {})
    exact = forward_kinematics(machine, drives_near_home(machine, 3))
    drives = exact.joint_positions[:, machine.drive_columns]
    noise = 1e-5 * np.random.default_rng(4).normal(size=drives.shape)
    found = forward_kinematics(machine, drives + noise)
    assert (found.residual > 1e-7).all() and (found.residual < 1e-4).all()
    assert not found.converged.any()
    with pytest.raises(KinematicsError, match='no pose found'):
        found.require()
    tolerant = forward_kinematics(machine, drives + noise, tolerance=1e-4).require()
    np.testing.assert_allclose(tolerant.position, found.position, atol=1e-10)
    assert np.abs(tolerant.position - exact.position).max() < 1e-4
    # least squares: the drives of the pose found miss the given ones by less than those of the exact pose
    own = drive_positions(machine, found.position, found.rotation_base_platform)
    if name == 'octopod_8ups':  # gaps are lengths of the drives
        assert (np.linalg.norm(own - drives - noise, axis=1) < np.linalg.norm(noise, axis=1)).all()


def test_five_bar_has_two_modes_at_equal_distances_from_its_elbows() -> None:
    machine = from_content('five_bar', {})
    drives = drives_near_home(machine, 1, seed=5)[0]
    modes = assembly_modes(machine, drives)
    assert len(modes) == 2 and modes.settled
    assert modes.on_home_branch.tolist() == [True, False]
    np.testing.assert_allclose(modes.position[0], forward_kinematics(machine, drives).position[0], atol=1e-9)
    # where the driven cranks end depends on the drives alone
    joints = forward_kinematics(machine, drives).joint_positions
    origins = body_poses(machine, joints)[1][0]
    elbows = origins[[part.start + 1 for part in machine.leg_slices]]
    points = [
        closure.other_point for leg in machine.legs for closure in leg.platform_closures
    ]
    ends = modes.position[:, None] + np.einsum('kij,lj->kli', modes.rotation_base_platform, points)
    lengths = np.linalg.norm(ends - elbows, axis=2)
    np.testing.assert_allclose(lengths[0], lengths[1], atol=1e-9)


def test_delta_has_a_mode_below_and_one_above() -> None:
    machine = from_content('delta', {})
    drives = drives_near_home(machine, 1, seed=6)[0]
    modes = assembly_modes(machine, drives, quiet_batches=1)
    upright = np.abs(modes.rotation_base_platform - np.eye(3)).max(axis=(1, 2)) < 1e-9
    # parallel rods: both translational poses, intersections of three spheres
    heights = np.sort(modes.position[upright, 2])
    assert len(heights) == 2
    np.testing.assert_allclose(
        modes.position[0], forward_kinematics(machine, drives).position[0], atol=1e-9
    )


def test_too_few_drives_are_refused() -> None:
    machine = from_content('five_bar', {})
    with pytest.raises(ValueError, match=r'drive_positions .* \(N, 2\)'):
        checked_drives(machine, np.zeros((1, 3)))


def test_singular_values_and_eliminations_are_those_of_lapack() -> None:
    random = np.random.default_rng(7)
    for trial in range(200):
        size = int(random.integers(1, 7))
        matrix = random.normal(size=(size, size))
        if trial % 3 == 0:
            matrix = np.diag(random.choice([1.0, 2.0, 3.0], size))
        if trial % 3 == 1:
            matrix[:, 0] *= 1e-3
        memory = np.zeros((9, 9))
        memory[:size, :size] = matrix
        singular_columns(memory, size, size)
        lengths = np.sort(np.linalg.norm(memory[:size, :size], axis=0))[::-1]
        np.testing.assert_allclose(lengths, np.linalg.svd(matrix, compute_uv=False), rtol=1e-9)
        right = random.normal(size=(size, 2))
        memory[:size, :size], memory[:size, size : size + 2] = matrix, right
        eliminate_columns(memory, size, size, size + 2)
        solved = np.linalg.solve(np.triu(memory[:size, :size]), memory[:size, size : size + 2])
        np.testing.assert_allclose(solved, np.linalg.solve(matrix, right), rtol=1e-7, atol=1e-9)
        memory[:size, :size] = matrix
        reflect_columns(memory, np.zeros(9), size, 0, size, size)
        upper = np.triu(memory[:size, :size])
        np.testing.assert_allclose(upper.T @ upper, matrix.T @ matrix, atol=1e-12 * np.abs(matrix).max() ** 2)
        part = np.abs(np.diag(upper)) / np.linalg.norm(matrix, axis=0)
        np.testing.assert_allclose(independence(memory, size), part.min(), rtol=1e-9)
        inverse = np.linalg.norm(np.linalg.inv(upper)) ** 2
        np.testing.assert_allclose(inverse_squares(memory, size, np.zeros(9)), inverse, rtol=1e-9)


@pytest.mark.parametrize('name', ['octopod_8ups', 'four_rrr'])
def test_measured_redundant_drives_have_the_pose_that_fits_best(name: str) -> None:
    machine = load_machine(name)
    drives = drives_near_home(machine, 20)
    measured = drives + 1e-3 * np.random.default_rng(1).normal(size=drives.shape)
    assert not forward_kinematics(machine, measured).converged.any()
    result = forward_kinematics(machine, measured, tolerance=measured_tolerance(machine))
    solver, begins = PoseSolver(machine, 1e-9, 10), np.ones(20, dtype=bool)
    series = solver.series(measured, begins)
    assert result.trusted.all() and not series.errors
    assert np.abs(series.found.position - result.position).max() < 1e-9
    # gaps are what the noise makes of them, and no pose nearby has smaller ones
    assert (result.residual < 0.01).all() and (result.residual > 1e-7).all()
    best = _misfit(machine, measured, result.position, result.rotation_base_platform)
    for axis in range(2):
        aside = result.position.copy()
        aside[:, axis] += 2e-4
        assert (_misfit(machine, measured, aside, result.rotation_base_platform) > best).all()
    # where the steps end before that, nothing is called converged
    early = forward_kinematics(machine, measured, tolerance=measured_tolerance(machine), max_iterations=1)
    moved = np.linalg.norm(early.position - result.position, axis=1)
    assert (early.residual[moved > 0.05] > 0.05 * moved[moved > 0.05]).all()


def _misfit(machine: Machine, drives: np.ndarray, position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    return np.linalg.norm(drive_positions(machine, position, rotation) - drives, axis=1)
