"""Machine files against the figures that the papers print."""

from __future__ import annotations

import numpy as np
import pytest
from changed_machines import translation
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.kinematics import joint_motion, leg_lengths, length_jacobian
from pkm_description.kinematics.workspace import position_violations
from pkm_description.loading import load_machine, machine_file
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.skeleton.kinds import hexapod_layout


def _translations(
    machine: Machine, offset: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray
) -> PlatformMotion:
    """States of a platform that keeps the attitude of home, all (N, 3)."""
    return translation(np.arange(float(len(offset))), machine.home, offset, velocity, acceleration)


def _directions(count: int) -> np.ndarray:
    directions = np.random.default_rng(0).normal(size=(count, 3))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ('name', 'masses', 'inertias'),
    [
        ('uf', (4.82, 7.72, 1.79), ((0.0908, 0.181), (0.552, 0.00751), (0.0183, 0.00160))),
        ('snl', (93.0, 2.11, 4.64), ((1.18, 1.37), (0.00135, 0.00135), (0.556, 0.000362))),
        ('ford', (7500.0, 100.0, 54.5), ((6.42e3, 1.28e4), (85.6, 0.500), (1.83, 0.174))),
    ],
)
def test_oh_masses_and_inertias(
    name: str, masses: tuple[float, ...], inertias: tuple[tuple[float, float], ...]
) -> None:
    """Oh 2003, section 2.4.1.4: platform, body B, body E; transverse and longitudinal (polar) moments."""
    machine = load_machine(name)
    for leg in machine.legs:
        bodies = machine.platform, leg.joints[1].body, leg.joints[2].body
        assert tuple(body.mass for body in bodies) == masses
        for body, (transverse, longitudinal) in zip(bodies, inertias, strict=True):
            assert body.inertia.tolist() == np.diag([transverse, transverse, longitudinal]).tolist()
            assert body.center_of_mass[:2].tolist() == [0.0, 0.0]


def test_uf_layout_and_golden_point() -> None:
    """Special 6-6 with side middles: triangle sides of Oh 2003, figure 2.4; figures of an independent computation."""
    machine = load_machine('uf')
    for points, side in ((machine.base_points[::2], 0.8128), (machine.platform_points[1::2], 0.6096)):
        edges = np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1)
        assert edges == pytest.approx(np.full(3, side), abs=1e-12)
    home = PlatformMotion.at_rest(machine.home.position, np.eye(3))
    pose = home.position, home.rotation_base_platform
    assert leg_lengths(machine, *pose)[0] == pytest.approx([0.53954, 0.46781] * 3, abs=5e-6)
    jacobian = length_jacobian(machine, *pose)[0]
    assert np.linalg.cond(jacobian) == pytest.approx(5.43, abs=5e-3)
    assert abs(np.linalg.det(jacobian)) == pytest.approx(0.0922, abs=5e-5)
    # the cross that our chain needs weighs 1 g in the base joint
    assert gravity_forces(machine, *pose)[0] == pytest.approx([-51.3116, -40.8960] * 3, abs=5e-5)


def test_uf_with_the_parameters_of_chapter_4() -> None:
    """Oh 2003, tables of chapter 4, in 1e-6 kg m^2; the source's y axis is z here."""
    machine = load_machine('uf', machine_file('uf').with_name('chapter4.yaml'))
    bodies = machine.platform, machine.legs[4].joints[1].body, machine.legs[4].joints[2].body
    assert [body.mass for body in bodies] == [4.82, 7.7214, 1.79]
    figures = [(90761.2, 181283.6), (563500.0, 69400.0), (18269.4, 54.2)]
    for body, (transverse, longitudinal) in zip(bodies, figures, strict=True):
        assert 1e6 * body.inertia == pytest.approx(np.diag([transverse, transverse, longitudinal]), abs=1e-6)


def test_snl_and_ford_edges() -> None:
    """Edges of Oh 2003, figure 2.4, as sides of hexagons (legs in pairs); ford is four times as large."""
    snl, ford = load_machine('snl'), load_machine('ford')
    assert snl.platform_points[::2] == pytest.approx(snl.platform_points[1::2], abs=1e-12)
    sides = [
        (snl.base_points, [1, 3, 5], 0.2014), (snl.base_points, [0, 2, 4], 0.4722),
        (snl.platform_points, [1, 3, 5], 0.6096),
        (ford.base_points, [1, 3, 5], 4 * 0.1235), (ford.base_points, [0, 2, 4], 4 * 0.5276),
        (ford.platform_points, [0, 2, 4], 4 * 0.0382), (ford.platform_points, [1, 3, 5], 4 * 0.5878),
    ]  # fmt: skip
    for points, starts, side in sides:
        edges = np.linalg.norm(np.roll(points, -1, axis=0) - points, axis=1)[starts]
        assert edges == pytest.approx(np.full(3, side), abs=1e-12)


@pytest.mark.parametrize(
    ('name', 'end', 'speed', 'acceleration'),
    [('uf', 0.04, 0.3, 4.0), ('snl', 0.3, 0.3, 3.0), ('ford', 0.6, 1.0, 10.0), ('msi', 0.0, 0.785, 24.7)],
)
def test_limits_leave_the_printed_motions(name: str, end: float, speed: float, acceleration: float) -> None:
    """Feeds and end positions of Oh 2003; 5 Hz at 25 mm of Heimann and Abdellatif; in 200 directions at once."""
    machine = load_machine(name)
    directions = _directions(200)
    ends = end * np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [-1.0, -1.0, 0.0], [0.0, 0.0, 0.0]])
    motion = _translations(machine, np.repeat(ends, 40, axis=0), speed * directions, acceleration * directions)
    assert position_violations(machine, motion) == []
    limits = machine.actuated_joints[0].limits
    velocity = np.array([joint.limits.velocity for joint in machine.joints])
    assert (np.abs(joint_motion(machine, motion).velocities) < velocity).all()
    assert np.abs(inverse_dynamics(machine, motion)).max() < 0.9 * limits.effort


def test_msi_accelerates_with_more_than_50_g_along_each_axis() -> None:
    machine = load_machine('msi')
    assert {(joint.limits.effort, joint.limits.velocity) for joint in machine.actuated_joints} == {(15e3, 1.0)}
    axes = 50.0 * 9.80665 * np.vstack([np.eye(3), -np.eye(3)])
    motion = _translations(machine, np.zeros((6, 3)), np.zeros((6, 3)), axes)
    assert np.abs(inverse_dynamics(machine, motion)).max() < 15e3
    base, platform = hexapod_layout(0.75, 0.45, 0.2, 0.12)
    assert machine.base_points == pytest.approx(base, abs=1e-14)
    assert machine.platform_points == pytest.approx(platform, abs=1e-14)
