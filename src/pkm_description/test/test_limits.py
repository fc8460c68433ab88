"""The check before motion: every kind of limit is found, with leg, joint, sample, value and bound (R4-05)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from changed_machines import translation
from other_machines import six_pus, six_rus
from other_machines import with_limits as with_drive_limits
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import KinematicsError, MachineFileError
from pkm_description.kinematics.joint_limits import LimitViolation
from pkm_description.kinematics.joint_motion import leg_lengths
from pkm_description.kinematics.workspace import position_violations, single_axis_limits
from pkm_description.loading import load_machine
from pkm_description.machine import JointLimits, Machine, PlatformMotion
from pkm_description.motion import profiles
from pkm_description.motion.coordinates import motion_from_coordinates
from pkm_description.motion.limits import check_motion, limit_use, require_motion, worst_violation

MACHINE = load_machine('palida')


def heave(amplitude: float, frequency: float, machine: Machine = MACHINE) -> PlatformMotion:
    """One period of z = amplitude sin(2 pi f t) about home, 64 samples."""
    time, rate, up = np.arange(64) / 64.0 / frequency, 2.0 * np.pi * frequency, np.array([0.0, 0.0, amplitude])
    sine, cosine = np.outer(np.sin(rate * time), up), np.outer(np.cos(rate * time), up)
    return translation(time, machine.home, sine, rate * cosine, -(rate**2) * sine)


def turned(*angles: float) -> PlatformMotion:
    """At rest at home's position, turned about y."""
    coordinates = np.outer(angles, np.eye(6)[4])
    return motion_from_coordinates(np.arange(float(len(angles))), coordinates, *[0.0 * coordinates] * 2, MACHINE.home)


def with_limits(place: int, limits: JointLimits) -> Machine:
    """PaLiDA with other limits of one joint of every leg."""

    def changed(leg):
        joints = list(leg.joints)
        joints[place] = dataclasses.replace(joints[place], limits=limits)
        return dataclasses.replace(leg, joints=tuple(joints))

    return dataclasses.replace(MACHINE, legs=tuple(changed(leg) for leg in MACHINE.legs))


def with_cone(cone: float) -> Machine:
    legs = tuple(leg.with_end(cone=cone) for leg in MACHINE.legs)
    return dataclasses.replace(MACHINE, legs=legs)


def kinds(violations: list[LimitViolation]) -> set[str]:
    return {one.limit for one in violations}


def test_motion_inside_all_limits_passes() -> None:
    machine = with_cone(0.5)
    assert check_motion(machine, heave(0.02, 1.0)) == []
    require_motion(machine, heave(0.02, 1.0))


def test_speed_is_found_where_the_legs_are_too_fast() -> None:
    """Leg speed by finite differences of leg lengths; positions and forces are inside."""
    machine = MACHINE
    motion = heave(0.025, 5.0)
    step = 1e-6
    ahead, behind = (
        leg_lengths(machine, motion.position + sign * step * motion.linear_velocity, motion.rotation_base_platform)
        for sign in (1, -1)
    )
    speeds = (ahead - behind) / (2 * step)
    limit = 0.9 * np.abs(speeds).max()
    limits = dataclasses.replace(MACHINE.legs[0].joints[2].limits, velocity=limit, effort=np.inf)
    found = check_motion(with_limits(2, limits), motion)
    expected = np.argwhere(np.abs(speeds) > limit)
    assert kinds(found) == {'speed'}
    assert [(one.sample, one.leg) for one in found] == [(sample, f'leg{leg + 1}') for sample, leg in expected]
    assert [one.value for one in found] == pytest.approx(list(speeds[tuple(expected.T)]), rel=1e-6)
    assert found[0].unit == 'm/s'
    assert f'speed {abs(found[0].value):.3f} m/s exceeds {limit:.3f} m/s' in str(found[0])


def test_force_is_found_where_the_drives_are_too_weak() -> None:
    motion = heave(0.01, 2.0)
    forces = inverse_dynamics(MACHINE, motion)
    limit = np.sort(np.abs(forces).ravel())[-4:].mean()
    limits = dataclasses.replace(MACHINE.legs[0].joints[2].limits, effort=limit)
    machine = with_limits(2, limits)
    found = check_motion(machine, motion)
    expected = np.argwhere(np.abs(forces) > limit)
    assert kinds(found) == {'force'}
    assert [(one.sample, one.joint) for one in found] == [(k, f'leg{leg + 1}_prismatic') for k, leg in expected]
    sample, leg = np.unravel_index(np.abs(forces).argmax(), forces.shape)
    with pytest.raises(
        KinematicsError, match=rf'leg{leg + 1}_prismatic: force .* N exceeds .* t = {motion.time[sample]:.3f}'
    ):
        require_motion(machine, motion)
    assert limit_use(machine, motion).effort == pytest.approx(np.abs(forces).max() / limit)


def test_passive_joints_are_found() -> None:
    """Universal joints may be limited too, in position and in speed."""
    motion = turned(0.0, 0.2)
    wide = with_limits(0, JointLimits(-1.0, 1.0))
    assert check_motion(wide, motion) == []
    tight = with_limits(0, JointLimits(-1e-3, 1e-3))
    found = [one for one in check_motion(tight, motion) if one.sample == 1]
    assert kinds(found) == {'position'}
    assert {one.joint.split('_', 1)[1] for one in found} == {'universal_1'}
    assert all(one.unit == 'rad' for one in found)
    assert kinds(check_motion(with_limits(1, JointLimits(velocity=1e-4)), heave(0.02, 1.0))) == {'speed'}
    assert limit_use(with_limits(0, JointLimits(-0.1, 0.1)), motion).position > 1.0


def test_ball_joints_tilt_by_the_angle_of_their_struts() -> None:
    """Angle between strut and its direction at home, both in platform axes; it counts to either side of the cone."""
    machine = MACHINE
    motion = turned(0.0, 0.1, -0.3)
    levers = machine.platform_points @ np.swapaxes(motion.rotation_base_platform, -1, -2)
    vectors = motion.position[:, None] + levers - machine.base_points
    directions = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True) @ motion.rotation_base_platform
    angles = np.arccos(np.clip(np.sum(directions * directions[0], axis=-1), -1.0, 1.0))
    cone = (1.0 + 1e-9) * float(np.median(angles[2]))  # two legs are at the median itself
    found = check_motion(with_cone(cone), motion)
    assert kinds(found) == {'tilt'}
    assert [(one.sample, one.leg) for one in found] == [(k, f'leg{leg + 1}') for k, leg in np.argwhere(angles > cone)]
    assert [one.value for one in found] == pytest.approx(list(angles[angles > cone]), rel=1e-6)
    assert str(found[0]).startswith(f'{found[0].leg} ball joint: tilt ')
    assert limit_use(with_cone(cone), motion).position == pytest.approx(angles.max() / cone)
    assert position_violations(with_cone(cone), motion) == found
    # what stops the platform on its way about y is the ball joint, at its cone
    least, most = single_axis_limits(with_cone(cone))[4]
    assert max(-least, most) <= 0.3
    assert kinds(position_violations(with_cone(cone), turned(least * (1 - 1e-4), most * (1 - 1e-4)))) == set()
    assert kinds(position_violations(with_cone(cone), turned(least * (1 + 1e-4), most * (1 + 1e-4)))) == {'tilt'}


def test_the_worst_violation_is_named_first() -> None:
    """Positions before speeds before forces, and among equals the furthest."""
    limits = dataclasses.replace(MACHINE.legs[0].joints[2].limits, lower=0.15, upper=0.3, velocity=0.1, effort=1.0)
    found = check_motion(with_limits(2, limits), heave(0.3, 1.0))
    assert kinds(found) == {'position', 'speed', 'force'}
    worst = worst_violation(found)
    assert worst.limit == 'position'
    assert worst.excess == max(one.excess for one in found if one.limit == 'position')
    assert [one.sample for one in found] == sorted(one.sample for one in found)


def machine_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / 'machine.yaml'
    path.write_text(MACHINE.path.read_text() + text)
    return path


def test_machine_files_give_cones(tmp_path: Path) -> None:
    path = machine_file(tmp_path, '\nball_joint: {cone: [0.5, 0.5, 0.5, 0.6, 0.5, 0.5]}\n')
    assert [leg.end.cone for leg in load_machine(path).legs] == [0.5, 0.5, 0.5, 0.6, 0.5, 0.5]
    assert all(leg.end.cone == np.inf for leg in MACHINE.legs)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('{cone: 45.0}', r'ball_joint\.cone.*looks like degrees'),
        ('{cone: -0.1}', r'ball_joint\.cone'),
        ('{angle: 0.1}', r'unknown key'),
    ],
)
def test_cones_that_make_no_sense_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(MachineFileError, match=message):
        load_machine(machine_file(tmp_path, f'\nball_joint: {text}\n'))


@pytest.mark.parametrize('build', [pytest.param(six_rus, marks=pytest.mark.campaign), six_pus])
def test_named_profiles_keep_legs_within_their_reach(build: Callable[[], Machine]) -> None:
    """Nothing but the legs' reach limits these machines; between the samples of the search legs must close, too."""
    machine = build()
    motion = profiles.profile('mp1', machine, 20.0, 500.0)
    assert np.isfinite(inverse_dynamics(machine, motion)).all()
    assert check_motion(machine, motion) == []
    # a part of the reach stays free, and no more than that: the motion is scaled down, not given up
    assert 0.8 < limit_use(machine, motion).reach <= 0.91


def test_poses_out_of_reach_are_listed_like_all_others() -> None:
    machine = six_pus()
    motion = heave(0.3, 0.1, machine)
    far = dataclasses.replace(motion, position=motion.position.copy())
    # rods of 0.8 m on vertical rails: a platform 0.6 m off the middle is far from one of them
    far.position[10:13, 0] += 0.9
    far.position[40, 0] += 0.9
    violations = check_motion(machine, far)
    missed = [one for one in violations if one.limit == 'reach']
    assert sorted({one.sample for one in missed}) == [10, 11, 12, 40]
    assert [one.sample for one in violations] == sorted(one.sample for one in violations)
    worst = worst_violation(violations)
    anchors = far.position[worst.sample] + machine.platform_points
    leg = int(worst.leg.removeprefix('leg')) - 1
    lacking = np.linalg.norm((anchors - machine.base_points)[leg, :2]) - 0.8
    assert worst.value == pytest.approx(lacking, rel=1e-6)
    assert f'misses its platform joint by {lacking:.3g} m' in str(worst)
    with pytest.raises(KinematicsError, match='misses its platform joint'):
        require_motion(machine, far)


def test_other_limits_are_judged_beside_poses_out_of_reach() -> None:
    machine = with_drive_limits(six_pus(), 0.1)
    motion = heave(0.15, 0.1, machine)
    alone = [one for one in check_motion(machine, motion) if one.limit == 'position']
    far = dataclasses.replace(motion, position=motion.position.copy())
    far.position[0, 0] += 0.9
    assert [one for one in check_motion(machine, far) if one.limit == 'position'] == alone
    assert alone
