"""Legs without closed form stay on the branch on which they are at home, or it is said that they cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hand_built_machines import polar
from other_machines import JointSpec, chain_leg, machine_of, six_rus, three_rps
from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces, potential_energy
from pkm_description.errors import AssemblyModeError, KinematicsError
from pkm_description.kernels.model import OTHER_BRANCH
from pkm_description.kinematics import drive_positions, forward_kinematics, joint_positions
from pkm_description.kinematics.arguments import require_ok
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, Pose


def short_struts(length: float, beside: float = 0.0) -> Machine:
    """Planar 3-RPR whose struts are very short at home; the slides may pass ``beside`` their pivots [m]."""
    legs = []
    points = polar(0.25, [0, 120, 240])
    for index, point in enumerate(points):
        angle = np.radians(30 + 100 * index)
        reach = length * np.array([np.cos(angle), np.sin(angle), 0.0])
        specs: list[JointSpec] = [
            ('revolute', [0, 0, 1], (point - reach).tolist(), np.eye(3), angle),
            ('prismatic', [1, 0, 0], [0.0, beside, 0.0], np.eye(3), length),
        ]
        legs.append(chain_leg(f'leg{index + 1}', specs, 1, np.zeros(3), point, index))
    return machine_of(legs, Pose(np.zeros(3), np.eye(3)), 'planar', np.array([0.0, -9.80665, 0.0]))


def poses(machine: Machine, count: int, move: float, angle: float) -> tuple[Array, Array]:
    """Random poses of a planar machine."""
    random = np.random.default_rng(3)
    position = np.zeros((count, 3))
    position[:, :2] = random.uniform(-move, move, (count, 2))
    vector = np.zeros((count, 3))
    vector[:, 2] = random.uniform(-angle, angle, count)
    return machine.home.position + position, rotation_exp(vector) @ machine.home.rotation_base_platform


@pytest.mark.parametrize('length', [0.04, 0.05, 0.06])
def test_short_struts_do_not_turn_over(length: float) -> None:
    """Without an offset a strut that keeps to its branch is as long as the distance from its pivot."""
    machine = short_struts(length)
    position, rotation = poses(machine, 400, 0.3, 0.3)
    joints = joint_positions(machine, position, rotation).reshape(-1, 3, 2)
    anchors = position[:, None] + machine.platform_points @ np.swapaxes(rotation, 1, 2)
    distance = np.linalg.norm(anchors - machine.base_points, axis=-1)
    np.testing.assert_allclose(joints[..., 1], distance, atol=1e-9)


def test_static_forces_of_short_struts() -> None:
    """By the textbook's Jacobian: force along strut i times its unit vector, moments about the platform's origin."""
    machine = short_struts(0.05)
    position, rotation = poses(machine, 50, 0.2, 0.2)
    levers = machine.platform_points @ np.swapaxes(rotation, 1, 2)
    struts = position[:, None] + levers - machine.base_points
    unit = struts / np.linalg.norm(struts, axis=-1, keepdims=True)
    moment = levers[..., 0] * unit[..., 1] - levers[..., 1] * unit[..., 0]
    rows = np.concatenate([unit[..., :2], moment[..., None]], axis=-1)
    # virtual work of the drives is that of the weight of all bodies: central differences of the potential energy
    step, work = 1e-6, np.empty((len(position), 3))
    for axis in range(3):
        ends = []
        for sign in (-1.0, 1.0):
            move, angle = np.zeros(3), np.zeros(3)
            (move if axis < 2 else angle)[axis] = sign * step
            ends.append(potential_energy(machine, position + move, rotation_exp(angle) @ rotation))
        work[:, axis] = (ends[1] - ends[0]) / (2.0 * step)
    expected = np.linalg.solve(np.swapaxes(rows, 1, 2), work[..., None])[..., 0]
    np.testing.assert_allclose(gravity_forces(machine, position, rotation), expected, rtol=1e-4, atol=1e-3)


def test_legs_agree_with_the_closure() -> None:
    """Both ways accept the same branch: forward kinematics returns where inverse kinematics came from."""
    machine = short_struts(0.05)
    position, rotation = poses(machine, 20, 0.02, 0.05)
    joints = joint_positions(machine, position, rotation)
    closed = forward_kinematics(machine, joints[..., machine.drive_columns]).require()
    np.testing.assert_allclose(closed.position, position, atol=1e-9)


def test_a_leg_that_is_not_brought_back_is_named() -> None:
    detail = np.array([7.0, 1.0, 0.0, 0.0])
    with pytest.raises(AssemblyModeError, match='sample 7: leg2 reaches .* only on another branch'):
        require_ok(short_struts(0.05), OTHER_BRANCH, detail)


def test_legs_with_two_solutions_of_one_sign_are_right_or_refused() -> None:
    """A leg may get from one solution to the other without a singular position: the sign of its volume tells nothing.

    Of such legs forward kinematics, which follows the drives from home, knows where they are.
    """
    machine = load_machine(Path(__file__).parent / 'machines' / 'cuspidal_leg.yaml')
    home = machine.home_positions[machine.drive_columns]
    drives = home + np.random.default_rng(1).uniform(-0.06, 0.06, (60, 6))
    right = refused = 0
    for wanted in drives:
        closed = forward_kinematics(machine, wanted[None])
        if not closed.trusted[0]:
            continue
        try:
            found = drive_positions(machine, closed.position, closed.rotation_base_platform)[0]
        except AssemblyModeError:
            refused += 1
            continue
        np.testing.assert_allclose(found, wanted, atol=1e-8)
        right += 1
    assert right > refused > 0


def test_tips_that_move_on_a_cylinder_have_no_branch() -> None:
    """Their normal turns with the leg: a turn by more than a quarter is no change of branch."""
    radius, machine = 0.4, three_rps()
    legs = []
    for index, point in enumerate(polar(0.3, [0, 120, 240])):
        specs: list[JointSpec] = [
            ('prismatic', [0, 0, 1], (point - [radius, 0.0, 0.0]).tolist(), np.eye(3), 0.5),
            ('revolute', [0, 0, 1], [0, 0, 0], np.eye(3), 0.0),
        ]
        legs.append(chain_leg(f'leg{index + 1}', specs, 0, np.array([radius, 0.0, 0.0]), point, index))
    machine = machine_of(legs, Pose(np.array([0.0, 0.0, 0.5]), np.eye(3)), 'free')
    angle = 2.0
    position = np.array([radius * (np.cos(angle) - 1.0), radius * np.sin(angle), 0.6])
    joints = joint_positions(machine, position[None], np.eye(3)[None])[0]
    np.testing.assert_allclose(joints.reshape(3, 2), [[0.6, angle]] * 3, atol=1e-9)


def test_a_leg_beyond_its_reach_states_what_is_missing() -> None:
    """To the micrometre, where undamped iterations state what their last jump has left."""
    machine = six_rus()
    home = machine.home
    up = np.array([0.0, 0.0, 1.0])

    def closes(rise: float) -> bool:
        try:
            joint_positions(machine, (home.position + rise * up)[None], home.rotation_base_platform[None])
        except KinematicsError:
            return False
        return True

    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if closes(middle) else (low, middle)
    beyond = home.position + (low + 2e-4) * up
    with pytest.raises(KinematicsError, match='misses its platform joint by') as caught:
        joint_positions(machine, beyond[None], home.rotation_base_platform[None])
    missing = float(str(caught.value).split('joint by ')[1].split(' m')[0])
    # crank and rod in one line: their lengths and the distance from the crank's axis are known
    assert 1e-5 < missing < 2e-4
