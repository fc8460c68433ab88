"""All poses of given leg lengths, and a singular one between two of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hand_built_machines import (
    dietmaier_platform,
    heimann_check_robot,
    hexapod,
    polar,
    simona_z_down,
)
from pkm_description.arrays import Array
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics import (
    AssemblyModes,
    assembly_modes,
    drive_positions,
    forward_kinematics,
    leg_lengths,
    length_jacobian,
)
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, Pose

from verification.mechanics.dietmaier import LENGTHS, POSE


@dataclass(frozen=True)
class Path:
    """Straight path of poses between two modes of Dietmaier's platform."""

    position: Array
    rotation: Array
    lengths: Array
    determinant: Array  # of the length Jacobian, positive at the start

    @property
    def start(self) -> Pose:
        return Pose(self.position[0], self.rotation[0])

    def error(self, position: Array, rotation: Array) -> Array:
        move = np.abs(position - self.position).max(axis=1)
        return np.maximum(move, np.abs(rotation - self.rotation).max(axis=(1, 2)))


@pytest.fixture(scope='module')
def dietmaier() -> Machine:
    return dietmaier_platform()


@pytest.fixture(scope='module')
def forty(dietmaier: Machine) -> AssemblyModes:
    return assembly_modes(dietmaier, LENGTHS - dietmaier.lengths_at_zero)


def _path(machine: Machine, modes: AssemblyModes, first: int, last: int, count: int) -> Path:
    part = np.linspace(0.0, 1.0, count)[:, None]
    begin, end = modes.rotation_base_platform[first], modes.rotation_base_platform[last]
    position = modes.position[first] + part * (modes.position[last] - modes.position[first])
    rotation = rotation_exp(part * rotation_log(end @ begin.T)) @ begin
    determinant = np.linalg.det(length_jacobian(machine, position, rotation))
    return Path(position, rotation, leg_lengths(machine, position, rotation), determinant * np.sign(determinant[0]))


def _pairs(modes: AssemblyModes, same_sign: bool) -> list[tuple[int, int]]:
    sign = modes.determinant_sign
    return [(i, j) for i in range(len(modes)) for j in range(i) if (sign[i] == sign[j]) == same_sign]


def test_a_singular_pose_itself_is_refused_with_the_motion_that_is_free(
    dietmaier: Machine, forty: AssemblyModes
) -> None:
    path = _path(dietmaier, forty, *_pairs(forty, same_sign=False)[0], 400)
    crossing = int(np.argmax(path.determinant <= 0.0))
    near, far = path.position[crossing - 1], path.position[crossing]
    turn = rotation_log(path.rotation[crossing] @ path.rotation[crossing - 1].T)

    def pose(part: float) -> tuple[Array, Array]:
        return (near + part * (far - near))[None], (rotation_exp(part * turn) @ path.rotation[crossing - 1])[None]

    low, high = 0.0, 1.0
    while high - low > 1e-13:  # bisection for the place where the determinant changes its sign
        middle = 0.5 * (low + high)
        same = np.linalg.det(length_jacobian(dietmaier, *pose(middle)))[0] * forty.determinant_sign[0] > 0.0
        low, high = (middle, high) if same else (low, middle)
    position, rotation = pose(low)
    lengths = np.concatenate([path.lengths[:1], leg_lengths(dietmaier, position, rotation)])
    start = Pose(np.stack([near, near]), np.repeat(path.rotation[crossing - 1][None], 2, axis=0))
    drives = lengths - dietmaier.lengths_at_zero
    result = forward_kinematics(dietmaier, drives, start, tolerance=1e-9, max_iterations=60)
    assert result.singular[1]
    with pytest.raises(SingularPoseError, match=r'sample 1: condition number .* do not hold the motion'):
        result.require()
    # first-order change of the lengths under the motion named, by finite differences
    twist, step = result.free_twist[1], 1e-5
    moved = [
        leg_lengths(
            dietmaier,
            result.position[1:] + sign * step * twist[:3],
            rotation_exp(sign * step * twist[3:]) @ result.rotation_base_platform[1:],
        )
        for sign in (-1.0, 1.0)
    ]
    assert np.linalg.norm(twist) == pytest.approx(1.0)
    assert np.abs(moved[1] - moved[0]).max() / (2.0 * step) < 1e-3


def test_dietmaiers_platform_has_its_forty_poses(dietmaier: Machine, forty: AssemblyModes) -> None:
    assert len(forty) == 40
    assert forty.settled
    assert forty.residual.max() <= 1e-12
    # distances of the joints by plain arithmetic, nothing of the solver's
    for position, rotation in zip(forty.position, forty.rotation_base_platform, strict=True):
        np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-12)
        assert np.linalg.det(rotation) > 0.0
        for base, platform, length in zip(dietmaier.base_points, dietmaier.platform_points, LENGTHS, strict=True):
            assert np.linalg.norm(position + rotation @ platform - base) == pytest.approx(length, abs=1e-11)
    pose = forty.rotation_base_platform.reshape(40, 9)
    apart = np.abs(pose[:, None] - pose).max(axis=2) + np.eye(40)
    assert apart.min() > 1e-3


def test_the_published_pose_is_among_them_and_home(forty: AssemblyModes) -> None:
    np.testing.assert_allclose(forty.position[0], POSE.position, atol=1e-6)
    np.testing.assert_allclose(forty.rotation_base_platform[0], POSE.rotation_base_platform, atol=1e-6)
    np.testing.assert_array_equal(forty.on_home_branch, np.arange(40) == 0)


def test_as_many_modes_of_either_sign(forty: AssemblyModes) -> None:
    """The lengths as a function of the pose have degree zero, so the signs of a complete set cancel."""
    assert forty.determinant_sign.sum() == 0.0
    assert set(forty.determinant_sign) == {-1.0, 1.0}


def test_another_seed_finds_the_same_poses_and_the_same_seed_the_same_numbers(
    dietmaier: Machine, forty: AssemblyModes
) -> None:
    again = assembly_modes(dietmaier, LENGTHS - dietmaier.lengths_at_zero)
    np.testing.assert_array_equal(again.position, forty.position)
    np.testing.assert_array_equal(again.hits, forty.hits)
    other = assembly_modes(dietmaier, LENGTHS - dietmaier.lengths_at_zero, seed=1)
    # near singular poses 1e-12 m of length are some 1e-8 m of position
    np.testing.assert_allclose(other.position, forty.position, atol=1e-6)


@pytest.mark.parametrize('machine', [heimann_check_robot, simona_z_down], ids=['heimann', 'simona'])
def test_planar_platforms_have_every_mode_twice(machine: object) -> None:
    """Coplanar base and platform joints: the mirror image below the base plane has the same lengths."""
    assert callable(machine)
    built = machine()
    motion = random_states(built, 3, seed=2)
    for position, rotation in zip(motion.position, motion.rotation_base_platform, strict=True):
        modes = assembly_modes(built, drive_positions(built, position, rotation))
        assert modes.settled
        np.testing.assert_allclose(modes.position[0], position, atol=1e-9)
        np.testing.assert_allclose(modes.rotation_base_platform[0], rotation, atol=1e-9)
        mirror = np.diag([1.0, 1.0, -1.0])
        for own, turn in zip(modes.position, modes.rotation_base_platform, strict=True):
            difference = np.abs(modes.position - mirror @ own).max(axis=1)
            difference += np.abs(modes.rotation_base_platform - mirror @ turn @ mirror).max(axis=(1, 2))
            assert np.count_nonzero(difference < 1e-6) == 1


@pytest.mark.parametrize('platform_radius', [0.6, 0.2])
def test_poses_that_are_not_isolated_are_refused(platform_radius: float) -> None:
    """Similar hexagons at equal angles move with all legs locked; equal ones on a circle, as parallelograms do."""
    angles = [0.0, 60.0, 120.0, 180.0, 240.0, 300.0]
    home = Pose(np.array([0.0, 0.0, 0.7]), np.eye(3))
    gravity = np.array([0.0, 0.0, -9.81])
    mobile = hexapod(polar(0.6, angles), polar(platform_radius, angles), home, gravity)
    lengths = leg_lengths(mobile, home.position[None], np.eye(3)[None])[0]
    with pytest.raises(SingularPoseError, match='more than 40 poses'):
        assembly_modes(mobile, lengths - mobile.lengths_at_zero)


def test_lengths_without_a_pose_have_no_modes(dietmaier: Machine) -> None:
    modes = assembly_modes(dietmaier, LENGTHS * [1.0, 1.0, 1.0, 1.0, 1.0, 20.0] - dietmaier.lengths_at_zero)
    assert len(modes) == 0
    assert modes.settled


def test_wrong_lengths_are_clear_errors(dietmaier: Machine) -> None:
    with pytest.raises(ValueError, match='not finite'):
        assembly_modes(dietmaier, np.full(6, np.nan))
    with pytest.raises(ValueError, match=r'expected \(N, 6\) or \(6,\)'):
        assembly_modes(dietmaier, np.ones(5))
