"""Joint limits of poses, and how far the platform moves along single axes."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.kinematics import leg_lengths, length_jacobian
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import position_violations, single_axis_limits
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion


def _lengths(machine: Machine, margin: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    limits = [joint.limits for joint in machine.actuated_joints]
    zero = machine.lengths_at_zero
    return (
        zero + [one.lower + margin for one in limits],
        zero + [one.upper - margin for one in limits],
    )


def _lifted(machine: Machine, *heights: float) -> PlatformMotion:
    """Poses above home, one second apart."""
    count, home = len(heights), machine.home
    zero = np.zeros((count, 3))
    position = home.position + np.outer(heights, [0.0, 0.0, 1.0])
    rotation = np.repeat(home.rotation_base_platform[None], count, axis=0)
    return PlatformMotion(np.arange(count, dtype=float), position, rotation, zero, zero, zero, zero)


@pytest.mark.parametrize(
    ('margin', 'expected'),
    [
        # SIMONA: full stroke, then 50 mm less at both ends; z and with it heave,
        # sway, pitch and yaw are turned to z up
        (0.0, [(-1.054, 1.340), (-1.105, 1.105), (-0.741, 0.690), (-28.25, 28.25), (-26.56, 25.92), (-45.14, 45.14)]),
        (0.05, [(-0.981, 1.259), (-1.030, 1.030), (-0.678, 0.636), (-25.92, 25.92), (-24.29, 23.72), (-41.56, 41.56)]),
    ],
)
def test_simona_moves_as_far_as_printed(margin: float, expected: list[tuple[float, float]]) -> None:
    machine = load_machine('srs')
    limits = single_axis_limits(machine, margin)
    np.testing.assert_allclose([limits[axis] for axis in (0, 1, 2)], expected[:3], atol=0.002)
    np.testing.assert_allclose(np.degrees([limits[axis] for axis in (3, 4, 5)]), expected[3:], atol=0.05)


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


def test_violations_name_sample_joint_value_and_limits() -> None:
    machine = load_machine('srs')
    assert position_violations(machine, _lifted(machine, 0.0, 0.6, -0.7)) == []
    found = position_violations(machine, _lifted(machine, 0.0, 0.8, 0.1, -0.8))
    assert [(one.sample, one.joint) for one in found] == [
        (sample, f'leg{leg}_prismatic') for sample in (1, 3) for leg in range(1, 7)
    ]
    # heights over the horizontal distance of joints of 1.269171 m
    for one, height in ((found[0], 0.8), (found[6], -0.8)):
        assert one.value == pytest.approx(np.hypot(2.388772 + height, 1.269171) - 2.08, abs=2e-6)
        assert (one.lower, one.upper) == (0.0, 1.25)
    assert str(found[0]) == 'leg1_prismatic: position 1.3521 m exceeds the upper limit 1.2500 m'
    assert str(found[6]).startswith('leg1_prismatic: position -')
    assert str(found[6]).endswith(' m is below the lower limit 0.0000 m')


def test_passive_joints_have_limits_too() -> None:
    machine = load_machine('palida')
    # far to the side the legs lean by more than 1.3 rad
    flat = PlatformMotion.at_rest(np.array([0.0, 0.95, 0.2]), np.eye(3))
    names = {one.joint.split('_', 1)[1] for one in position_violations(machine, flat)}
    assert 'universal_1' in names or 'universal_2' in names
