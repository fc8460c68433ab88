"""All poses of given leg lengths: Dietmaier's 40, symmetry, degree, and clear errors."""

from __future__ import annotations

import numpy as np
import pytest
from hand_built_machines import (
    dietmaier_platform,
    heimann_check_robot,
    hexapod,
    polar,
    simona_z_down,
)
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics import AssemblyModes, assembly_modes, drive_positions, leg_lengths
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, Pose

from verification.mechanics.dietmaier import LENGTHS, POSE


@pytest.fixture(scope='module')
def dietmaier() -> Machine:
    return dietmaier_platform()


@pytest.fixture(scope='module')
def forty(dietmaier: Machine) -> AssemblyModes:
    return assembly_modes(dietmaier, LENGTHS - dietmaier.lengths_at_zero)


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
