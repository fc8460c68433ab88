from __future__ import annotations

import numpy as np
import pytest
from pkm_bringup.viewer.scene import MachineShapes
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine, machine_names
from pkm_description.machine.machine import closure_ends

WITH_PLATFORM = [name for name in machine_names() if load_machine(name).has_platform]


@pytest.mark.parametrize('name', WITH_PLATFORM)
def test_legs_end_at_the_platform(name: str) -> None:
    machine = load_machine(name)
    shapes = MachineShapes(machine)
    home = machine.home
    ends = [end for end in closure_ends(machine) if end.closure.other == machine.platform.name]
    # a platform that is a point (five-bar) has the machine's size instead
    size = np.linalg.norm(np.ptp([end.closure.other_point for end in ends], axis=0)) or machine.model.radius[0]
    # planar machines move in their plane, three-legged spatial ones in height
    moved = home.position + 0.02 * size * np.array([1.0, 0.5, 0.0] if machine.planar else [0.0, 0.0, 1.0])
    # where the platform's turn depends on its place (five-bar), the drives alone would know a second pose
    alone = machine.planar and machine.model.degrees_of_freedom[0] < 3
    for position in (home.position,) if alone else (home.position, moved):
        poses = shapes.at_pose(position, home.rotation_base_platform)
        for end in ends:
            there = position + home.rotation_base_platform @ end.closure.other_point
            np.testing.assert_allclose(poses[end.tip][0], there, atol=1e-6)
            np.testing.assert_allclose(poses[end.anchor][0], there, atol=1e-12)


@pytest.mark.parametrize('name', machine_names())
def test_every_leg_has_shapes_that_are_thick_enough(name: str) -> None:
    machine = load_machine(name)
    shapes = MachineShapes(machine)
    assert {shape.leg for shape in shapes.shapes if shape.leg is not None} == set(range(machine.leg_count))
    lower, upper = shapes.box(shapes.home())
    round_ones = [shape.size[0] for shape in shapes.shapes if shape.kind != 'box']
    assert min(round_ones) >= 0.0059 * np.linalg.norm(upper - lower)


def test_box_holds_a_turned_bar() -> None:
    machine = load_machine('srs')
    shapes = MachineShapes(machine)
    lower, upper = shapes.box(shapes.home())
    points = np.concatenate([machine.base_points, machine.home.position + machine.platform_points])
    assert (points >= lower).all() and (points <= upper).all()
    # the platform's disc is the widest part, and the legs end at joints on the floor
    disc = np.linalg.norm(machine.platform_points[:, :2], axis=1).max()
    assert np.isclose(upper[0], max(disc, points[:, 0].max()), atol=0.1)


def test_platform_turns_about_its_origin() -> None:
    machine = load_machine('srs')
    shapes = MachineShapes(machine)
    turn = rotation_exp(np.array([0.0, 0.0, 0.5]))
    poses = shapes.platform_at(np.array([1.0, 2.0, 3.0]), turn)
    np.testing.assert_allclose(poses['platform_link'][0], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(poses['platform_anchor1'][0], [1.0, 2.0, 3.0] + turn @ machine.platform_points[0])
    assert shapes.platform_links >= {'platform_link', 'imu_link', 'platform_anchor6'}


def test_pose_out_of_reach_is_refused() -> None:
    machine = load_machine('hexaglide_6pus')
    with pytest.raises(KinematicsError):
        MachineShapes(machine).at_pose(np.array([0.0, 0.0, 50.0]), np.eye(3))
