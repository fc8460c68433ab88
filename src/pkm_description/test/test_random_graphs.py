"""Positions, rates and accelerations of machines of any legs: random ones, without one silent error.

66 machines; the campaign tries 330, of which more than 200 are regular.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kernels.kinematics.drive_motion import motions_of_drives
from pkm_description.kinematics import drive_jacobian, joint_motion, joint_positions, joint_rates
from pkm_description.kinematics.arguments import require_ok
from pkm_description.kinematics.closed_legs import ClosedLegs, admissible_home, close_legs
from pkm_description.kinematics.drive_map import reduced_jacobian, scaled_condition, twist_per_drive
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, PlatformMotion, Pose
from random_graphs import closure_errors, random_machine

#: machines of one test, those that are always tried, and all of them
_BATCH, _FEW, _COUNT = 33, 33, 330

#: s, of finite differences
STEP = 2e-5

#: machines worse than this (condition number, joint rates per twist in radii) are next to a singular configuration,
#: where finite differences say nothing
_WORST, _FASTEST = 300.0, 150.0


def driven(machine: Machine, extra: int, random: np.random.Generator) -> Machine:
    """The machine with as many drives as degrees of freedom, those that see them best, and some more."""
    pose = machine.home.position[None], machine.home.rotation_base_platform[None]
    legs = close_legs(machine, *pose)
    sizes = np.where([joint.kind == 'prismatic' for joint in machine.joints], 1.0, machine.model.radius[0])
    left = sizes[:, None] * (legs.joint_map[0] @ legs.admitted[0])
    chosen: list[int] = []
    for _ in range(left.shape[1]):
        lengths = np.linalg.norm(left, axis=1)
        best = int(np.argmax(lengths))
        chosen.append(best)
        direction = left[best] / max(lengths[best], 1e-300)
        left = left - np.outer(left @ direction, direction)
    others = [joint for joint in machine.model.column_joint if joint not in chosen]
    chosen += [int(one) for one in random.permutation(others)[:extra]]
    new = []
    for leg, own in zip(machine.legs, machine.leg_slices, strict=True):
        joints = [
            dataclasses.replace(joint, actuated=place in chosen)
            for place, joint in zip(range(own.start, own.stop), leg.joints, strict=True)
        ]
        new.append(dataclasses.replace(leg, joints=tuple(joints)))
    return dataclasses.replace(machine, legs=tuple(new))


def path(machine: Machine, pose: Pose, rates: Array, accelerations: Array) -> PlatformMotion:
    """Twist and acceleration of the platform at a pose, of drive rates and accelerations (A,)."""
    position, rotation = pose.position[None].copy(), pose.rotation_base_platform[None].copy()
    joints = joint_positions(machine, position, rotation)
    found = [np.empty((1, 3)) for _ in range(4)]
    data, scratch = machine.scratch
    status = motions_of_drives(
        machine.compiled_model, scratch, joints, position, rotation, rates[None].copy(), accelerations[None].copy(),
        *found,
    )  # fmt: skip
    require_ok(machine, status, data.detail)
    return PlatformMotion(np.zeros(1), position, rotation, *found)


def at(motion: PlatformMotion, time: float) -> PlatformMotion:
    """The motion a short time later: right to the second order."""
    turn = time * motion.angular_velocity + 0.5 * time**2 * motion.angular_acceleration
    return dataclasses.replace(
        motion,
        position=motion.position + time * motion.linear_velocity + 0.5 * time**2 * motion.linear_acceleration,
        rotation_base_platform=rotation_exp(turn) @ motion.rotation_base_platform,
    )


def is_regular(legs: ClosedLegs) -> bool:
    fastest = np.abs(legs.joint_map * np.repeat([legs.machine.model.radius[0], 1.0], 3)).max()
    return bool(scaled_condition(legs)[0] < _WORST and fastest < _FASTEST)


def close_to(found: Array, expected: Array, part: float) -> bool:
    return bool(np.abs(found - expected).max(initial=0.0) < part * (1.0 + np.abs(expected).max(initial=0.0)))


def check(machine: Machine, least: Machine, pose: Pose, random: np.random.Generator) -> None:
    """Derivatives at a pose that the legs admit; ``least`` has no more drives than degrees of freedom."""
    one = pose.position[None], pose.rotation_base_platform[None]
    joints = joint_positions(machine, *one)
    assert max(closure_errors(machine, joints[0], pose.position, pose.rotation_base_platform)) < 1e-9
    # the drives that determine the platform make a motion
    legs = close_legs(machine, *one)
    twist = 0.3 * legs.admitted[0] @ random.uniform(-1.0, 1.0, legs.admitted.shape[2])
    rates = legs.drive_map[0] @ twist
    seen = [place for place, joint in enumerate(machine.drive_columns) if joint in least.drive_columns]
    motion = path(least, pose, rates[seen], np.zeros(len(seen)))
    np.testing.assert_allclose(motion.twist[0], twist, atol=1e-9 * (1.0 + np.abs(twist).max()))
    if machine.actuated_count > len(seen):
        # all drives as this motion moves them make it, too; one that wants something else is named
        second = joint_motion(machine, motion).accelerations[0, machine.drive_columns]
        again = path(machine, pose, rates, second)
        assert close_to(again.twist, motion.twist, 1e-8) and close_to(again.acceleration, motion.acceleration, 1e-7)
        # across the rates that any motion of the platform gives: no motion has them
        across = np.linalg.svd(reduced_jacobian(legs)[0])[0][:, -1]
        with pytest.raises(KinematicsError, match='more drives than degrees of freedom'):
            path(machine, pose, rates + across, second)
    now = joint_motion(machine, motion)
    before, after = (at(motion, time) for time in (-STEP, STEP))
    there = [joint_positions(machine, two.position, two.rotation_base_platform) for two in (before, after)]
    assert close_to(now.velocities, (there[1] - there[0]) / (2.0 * STEP), 1e-5)
    assert close_to(now.accelerations, (there[1] - 2.0 * joints + there[0]) / STEP**2, 1e-3)
    # maps
    assert close_to(now.velocities[0], legs.joint_map[0] @ motion.twist[0], 1e-9)
    assert close_to(drive_jacobian(machine, *one), legs.drive_map, 1e-12)
    # drives determine the platform, and what the legs forbid is refused
    back = twist_per_drive(legs)[0] @ rates
    assert close_to(back, motion.twist[0], 1e-8)
    forbidden = np.linalg.svd(legs.constraints[0] / np.repeat([1.0, machine.model.radius[0]], 3))[2][0]
    if len(legs.constraints[0]):
        forbidden /= np.repeat([1.0, machine.model.radius[0]], 3)
        with pytest.raises(KinematicsError, match='does not admit this velocity'):
            joint_rates(machine, *one, forbidden[None, :3], forbidden[None, 3:])


@pytest.mark.parametrize(
    'first',
    [
        pytest.param(first, marks=() if first < _FEW else pytest.mark.campaign)
        for first in range(0, _COUNT, _BATCH)
    ],
)
def test_machines_of_random_legs(first: int) -> None:
    checked = 0
    for seed in range(first, first + _BATCH):
        random = np.random.default_rng(seed + 10_000)
        machine = random_machine(seed)
        freedoms = int(machine.model.degrees_of_freedom[0])
        assert 2 <= freedoms <= 6
        least = driven(machine, 0, random)
        machine = driven(machine, int(random.integers(0, 3)), random)
        pose = machine.home
        for _ in range(2):
            legs = close_legs(machine, pose.position[None], pose.rotation_base_platform[None])
            if is_regular(legs):
                check(machine, least, pose, random)
                checked += 1
            assert reduced_jacobian(legs).shape == (1, machine.actuated_count, freedoms)
            away = np.zeros(6)
            away[machine.model.freedom] = 0.02 * random.uniform(-1.0, 1.0, len(machine.model.freedom))
            wished = Pose(pose.position + away[:3], rotation_exp(away[3:]) @ pose.rotation_base_platform)
            try:
                pose = admissible_home(machine, wished).pose
                joint_positions(machine, pose.position, pose.rotation_base_platform)
            except KinematicsError:
                break  # out of reach or beyond a singular position of a leg, and said so
    assert checked > 0.6 * _BATCH
