"""Arrows of drive forces, and the readings that they are made of, without ROS."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from other_machines import cart_with_pendulum, planar_prr, three_prs, three_rps, with_limits
from pkm_description.errors import JointStateError, KinematicsError
from pkm_description.kinematics.rotation import matrix_from_rpy
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, RigidBody
from pkm_description.viewing.coupled_pose import JointReader
from pkm_description.viewing.force_arrows import ForceArrows
from pkm_description.viewing.posing import Poser


def _without_leg_masses(machine: Machine) -> Machine:
    def light(body: RigidBody) -> RigidBody:
        return dataclasses.replace(body, mass=0.0, inertia=np.zeros((3, 3)))

    legs = tuple(
        dataclasses.replace(leg, joints=tuple(dataclasses.replace(j, body=light(j.body)) for j in leg.joints))
        for leg in machine.legs
    )
    return dataclasses.replace(machine, legs=legs)


def test_arrows_of_massless_legs_balance_the_platform() -> None:
    """The arrows are forces on the platform: together they are its weight, with its moment."""
    machine = _without_leg_masses(load_machine('palida'))
    arrows = ForceArrows(machine)
    posture = Poser(machine).from_coordinates({'x': 0.1, 'roll': 0.3, 'yaw': 0.4})
    pose = posture.position, posture.rotation_base_platform
    drawn = arrows.arrows(posture.joint_positions, arrows.static_forces(posture.joint_positions, *pose))
    assert [arrow.joint for arrow in drawn] == list(machine.actuated_joint_names)
    force, moment = np.zeros(3), np.zeros(3)
    for arrow, leg in zip(drawn, machine.legs, strict=True):
        anchor = pose[0] + pose[1] @ leg.platform_point
        along = arrow.end - arrow.start
        push = abs(arrow.force) * along / np.linalg.norm(along)
        force, moment = force + push, moment + np.cross(anchor, push)
        # pushing arrows end in the platform joint, pulling ones begin there
        np.testing.assert_allclose(arrow.end if arrow.force > 0.0 else arrow.start, anchor, atol=1e-9)
        assert arrow.text == f'{arrow.force:.4g} N'
    center = pose[0] + pose[1] @ machine.platform.center_of_mass
    weight = machine.platform.mass * machine.gravity
    np.testing.assert_allclose(force, -weight, atol=1e-9)
    np.testing.assert_allclose(moment, -np.cross(center, weight), atol=1e-9)
    lengths = [np.linalg.norm(arrow.end - arrow.start) for arrow in drawn]
    ratios = np.array(lengths) / np.abs([arrow.force for arrow in drawn])
    np.testing.assert_allclose(ratios, ratios[0])


def test_arrows_of_other_drives() -> None:
    # sliders at the base hand their force on at the hinge, along the rail
    limited = with_limits(three_prs(), 0.1)
    posture = Poser(limited).from_coordinates({})
    (first, *_) = ForceArrows(limited, scale=1e-3).arrows(posture.joint_positions, np.array([200.0, -100.0, np.nan]))
    leg = limited.legs[0]
    rail = leg.joints[0].rotation_parent_joint @ leg.joints[0].axis
    np.testing.assert_allclose(first.end - first.start, 0.2 * rail, atol=1e-12)
    np.testing.assert_allclose(first.end, leg.base_point + rail * posture.joint_positions[0], atol=1e-12)
    # every joint of an open chain must be held; the pendulum's torque is its weight's about the hinge
    machine = cart_with_pendulum()
    arrows = ForceArrows(machine)
    positions = np.array([0.2, 0.5, 0.3])
    torques = arrows.static_forces(positions, None, None)
    drawn = arrows.arrows(positions, torques)
    assert [arrow.text.split(' ', 1)[1] for arrow in drawn] == ['N', 'N m', 'N m']
    assert torques[0] == pytest.approx(0.0, abs=1e-9)
    outer = machine.legs[0].joints[2].body
    lever = matrix_from_rpy(np.array([0.0, 0.8, 0.0])) @ outer.center_of_mass
    assert torques[2] == pytest.approx(-np.cross(lever, outer.mass * machine.gravity)[1], rel=1e-9)
    along = drawn[2].end - drawn[2].start
    np.testing.assert_allclose(along / np.linalg.norm(along), [0.0, np.sign(torques[2]), 0.0], atol=1e-12)


def test_arrows_stay_of_the_machine_s_size() -> None:
    """A machine that moves across gravity has no static forces: its drives' strength is the measure."""
    machine = with_limits(dataclasses.replace(planar_prr(), gravity=np.array([0.0, 0.0, -9.8])), 0.1)
    arrows = ForceArrows(machine)
    posture = Poser(machine).from_coordinates({})
    drawn = arrows.arrows(posture.joint_positions, np.array([100.0, 10.0, 1e9]))
    lengths = [np.linalg.norm(arrow.end - arrow.start) for arrow in drawn]
    assert lengths[0] == pytest.approx(0.35 * arrows.size)
    assert lengths[1] == pytest.approx(0.035 * arrows.size)
    assert lengths[2] < 2.0 * arrows.size


@pytest.mark.parametrize('make', [lambda: load_machine('srs'), three_rps, planar_prr])
def test_readings_of_the_drives_are_completed(make: Callable[[], Machine]) -> None:
    machine = make()
    poser = Poser(machine)
    names = list(machine.actuated_joint_names)
    reader = JointReader(machine, names)
    for part in (0.02, 0.04, -0.06):
        posture = poser.from_coordinates(dict.fromkeys(poser.coordinates, part))
        drives = posture.joint_positions[machine.drive_columns]
        efforts = np.arange(1.0, 1.0 + len(names))
        reading = reader.read([*names, 'wheel'], [*drives, 0.0], [*efforts, 9.0])
        np.testing.assert_allclose(reading.joint_positions, posture.joint_positions, atol=1e-9)
        np.testing.assert_allclose(reading.position, posture.position, atol=1e-9)
        assert reading.efforts.tolist() == efforts.tolist()
    assert np.isnan(reader.read(names, drives, []).efforts).all()
    with pytest.raises(JointStateError, match=f'no position of {names[1]}'):
        reader.read([names[0], *names[2:]], [drives[0], *drives[2:]], [])
    with pytest.raises(JointStateError, match=f'position of {names[2]} is not a finite number'):
        reader.read(names, [*drives[:2], np.nan, *drives[3:]], [])
    with pytest.raises(KinematicsError):
        reader.read(names, drives + 50.0 * np.eye(len(names))[0], [])
    # the reader goes on after what it could not close
    assert np.isfinite(reader.read(names, drives, []).joint_positions).all()
