"""Machine files that are no hexapods on struts, against figures of the papers and equations written out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.friction_laws import LoadDependentStribeck
from pkm_description.kinematics import drive_positions, forward_kinematics, joint_positions
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine, machine_file
from scipy.spatial.transform import Rotation


def test_valencia_has_the_frames_of_the_paper() -> None:
    """Modified Denavit-Hartenberg rows of Mata et al. 2008: body frames and, at home, the angles of ball joint 1."""
    machine = load_machine('valencia_3rps')
    assert (machine.degrees_of_freedom, machine.actuated_count) == (3, 3)
    poses = forward_kinematics(machine, np.array([[0.1, 0.1, 0.1], [0.05, 0.22, 0.13]])).require()
    found, origins = body_poses(machine, poses.joint_positions)
    found, origins = found.reshape(2, 3, 2, 3, 3), origins.reshape(2, 3, 2, 3)
    for sample, joints in enumerate(poses.joint_positions.reshape(2, 3, 2)):
        for leg, azimuth in enumerate(np.radians([210.0, 330.0, 90.0])):
            outward = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
            base = np.column_stack([outward, [0.0, 0.0, -1.0], np.cross(outward, [0.0, 0.0, -1.0])])
            cylinder = base @ _denavit_hartenberg(0.0, joints[leg, 0])
            rod = cylinder @ _denavit_hartenberg(np.pi / 2, 0.0)
            assert found[sample, leg, 0] == pytest.approx(cylinder, abs=1e-9)
            assert found[sample, leg, 1] == pytest.approx(rod, abs=1e-9)
            ball_joint = 0.40 * outward + (0.5 + joints[leg, 1]) * rod[:, 2]
            assert origins[sample, leg, 1] == pytest.approx(ball_joint, abs=1e-12)
            if leg == 0:
                assert poses.position[sample] == pytest.approx(ball_joint, abs=1e-9)
    # level with legs of 0.60 m
    assert poses.joint_positions[0, ::2] == pytest.approx(np.full(3, -0.2296), abs=5e-5)
    platform = found[0, 0, 1]
    for alpha, theta in ((-np.pi / 2, 1.8004), (-np.pi / 2, -np.pi / 2), (np.pi / 2, np.pi / 3)):
        platform = platform @ _denavit_hartenberg(alpha, theta)
    assert poses.rotation_base_platform[0] == pytest.approx(platform, abs=5e-5)


def _denavit_hartenberg(alpha: float, theta: float) -> np.ndarray:
    return (Rotation.from_euler('x', alpha) * Rotation.from_euler('z', theta)).as_matrix()


def test_valencia_figures_are_the_papers() -> None:
    """Mata et al. 2008: triangle that the coefficients of Table 1 mean, Tables 5 and 8."""
    machine = load_machine('valencia_3rps')
    points = machine.platform_points
    sides = np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1)
    assert sides == pytest.approx(np.full(3, 0.4563), abs=1e-12)
    assert points[1] == pytest.approx([0.4563, 0.0, 0.0], abs=0.0)
    assert points[2] == pytest.approx([0.2282, 0.3952, 0.0], abs=6e-5)
    m3, mx3, my3 = machine.platform.parameters[:3]
    m2, m5, m7 = (leg.joints[1].body.mass for leg in machine.legs)
    assert mx3 + 0.57735 * my3 - 0.4563 * (m3 + m2) == pytest.approx(-2.47, abs=5e-3)
    assert m5 - 2.5306 * my3 + m3 + m2 == pytest.approx(10.83, abs=5e-3)
    assert m7 + 2.5306 * my3 == pytest.approx(5.42, abs=5e-3)
    for leg in machine.legs:
        cylinder, rod = (joint.body.parameters for joint in leg.joints)
        assert cylinder[9] + rod[7] == pytest.approx(0.1555, abs=1e-12)
        drive = leg.joints[1]
        assert (drive.rotor_inertia, drive.friction.viscous, drive.friction.coulomb) == (483.10, 3272.0, 228.0)


def test_khalifa_figures_are_the_papers() -> None:
    """Rosyid and El-Khasawneh 2020, Table 1 (design), section 5; inertias there are about the pivots."""
    machine = load_machine('khalifa_3prr')
    assert machine.platform_points[:, 0].tolist() == [0.28, 0.0, 0.28]
    assert [leg.tip[0] for leg in machine.legs] == [0.600, 0.475, 0.604]
    sliders, rods = zip(*[(leg.joints[0].body, leg.joints[1].body) for leg in machine.legs], strict=True)
    assert {slider.mass for slider in sliders} == {6.2550}
    table = zip(rods, (11.128, 9.08, 13.372), (2.6718, 1.8805, 3.6474), (0.9765, 0.5937, 1.3898), strict=True)
    for rod, mass, moment, inertia in [*table, (machine.platform, 30.351, 7.2690, 2.3986)]:
        assert rod.parameters[[0, 1, 9]] == pytest.approx([mass, moment, inertia], abs=1e-3)
        assert rod.mass == mass
    weight = -machine.gravity[2] * (machine.platform.mass + sum(body.mass for body in (*sliders, *rods)))
    assert weight == pytest.approx(811.25, abs=5e-3)
    laws = [leg.joints[0].friction.law for leg in machine.legs]
    for law, load in zip(laws, [378.95, 209.99, 222.32], strict=True):
        assert isinstance(law, LoadDependentStribeck)
        assert law.additional_load == pytest.approx(load, abs=5e-3)
        # R2-15: effective coefficient of 0.2025 at the Stribeck velocity, on the force that the machine exerts
        viscous_and_weight = law.force(0.3281, 0.0)
        assert law.force(0.3281, 100.0) - viscous_and_weight == pytest.approx(20.25, abs=5e-2)
        assert viscous_and_weight == pytest.approx(83.1797 * 0.3281 + 0.1449 * load, abs=5e-3)


def test_khalifa_estimates_are_the_papers() -> None:
    """Rosyid and El-Khasawneh 2020, Table 1 (estimates), as an overlay; loads by Eq. 39, weight."""
    overlay = machine_file('khalifa_3prr').with_name('table1_estimates.yaml')
    machine = load_machine('khalifa_3prr', overlay)
    sliders, rods = zip(*[(leg.joints[0].body, leg.joints[1].body) for leg in machine.legs], strict=True)
    table = zip(rods, (12.1299, 10.0817, 14.4665), (3.3970, 2.4049, 3.6484), (1.2206, 0.7421, 1.5088), strict=True)
    for body, mass, moment, inertia in [*table, (machine.platform, 31.3359, 8.2238, 2.9509)]:
        assert body.parameters[[0, 1, 9]] == pytest.approx([mass, moment, inertia], abs=1e-12)
    inertias = [*(rod.inertia[2, 2] for rod in rods), machine.platform.inertia[2, 2]]
    assert inertias == pytest.approx([0.2693, 0.1684, 0.5887, 0.7926], abs=1e-4)
    assert {slider.mass for slider in sliders} == {7.2614}
    loads = [leg.joints[0].friction.law for leg in machine.legs]
    assert [getattr(law, 'additional_load', None) for law in loads] == pytest.approx([405.41, 231.62, 243.89], abs=5e-3)
    weight = 9.81 * (machine.platform.mass + sum(body.mass for body in (*sliders, *rods)))
    assert weight == pytest.approx(880.92, abs=5e-3)


def test_khalifa_closes_as_the_equations_say() -> None:
    """Rosyid and El-Khasawneh 2020, Eqs. 12 and 13 solved for sliders and angles; rod 3 leans the other way."""
    machine = load_machine('khalifa_3prr')
    assert (machine.degrees_of_freedom, machine.planar) == (3, True)
    random = np.random.default_rng(2)
    x, y, angle = random.uniform([-0.15, 0.22, -0.35], [0.15, 0.42, 0.35], (40, 3)).T
    lengths, side = np.array([0.600, 0.475, 0.604]), np.array([1.0, 1.0, -1.0])
    reach = np.array([0.28, 0.0, 0.28])
    pin_x, pin_y = x[:, None] + reach * np.cos(angle)[:, None], y[:, None] + reach * np.sin(angle)[:, None]
    across = side * np.sqrt(lengths**2 - pin_y**2)
    expected = np.stack([pin_x - across, np.arctan2(pin_y, across)], axis=-1)
    position = np.stack([x, y, np.zeros(40)], axis=-1)
    positions = joint_positions(machine, position, rotation_exp(angle[:, None] * [0.0, 0.0, 1.0]))
    assert np.abs(positions - expected.reshape(40, 6)).max() < 1e-12


def test_double_pendulum_obeys_the_printed_equations() -> None:
    """Oh 2003, Eqs. 3.3 to 3.5 with l1 0.50, l2 0.75 m, m1 0.75, m2 0.50, M 1.50 kg; absolute angles."""
    machine = load_machine('double_pendulum')
    q, v, a = np.random.default_rng(3).uniform(-2.0, 2.0, (3, 50, 3))
    forces = open_chain_forces(machine, q, v, a)
    l1, l2, m1, m2, cart, g = 0.50, 0.75, 0.75, 0.50, 1.50, 9.81
    th1, th2 = q[:, 1], q[:, 1] + q[:, 2]
    w1, w2 = v[:, 1], v[:, 1] + v[:, 2]
    x, e1, e2 = a[:, 0], a[:, 1], a[:, 1] + a[:, 2]
    mu, c, s = m1 / 2 + m2, np.cos(th2 - th1), np.sin(th2 - th1)
    push = (cart + m1 + m2) * x + mu * l1 * (e1 * np.cos(th1) - w1**2 * np.sin(th1))
    push += m2 / 2 * l2 * (e2 * np.cos(th2) - w2**2 * np.sin(th2))
    first = mu * l1 * x * np.cos(th1) + (m1 / 3 + m2) * l1**2 * e1 + m2 / 2 * l1 * l2 * (e2 * c - w2**2 * s)
    first -= mu * g * l1 * np.sin(th1)
    second = m2 / 2 * l2 * x * np.cos(th2) + m2 / 2 * l1 * l2 * (e1 * c + w1**2 * s) + m2 / 3 * l2**2 * e2
    second -= m2 / 2 * g * l2 * np.sin(th2)
    # torques at the joints work on relative angles
    np.testing.assert_allclose(forces, np.stack([push, first + second, second], axis=-1), rtol=0.0, atol=1e-12)


def test_hexaglide_sliders_stand_where_the_rods_reach_their_rails() -> None:
    """Line and sphere; the upper of both points."""
    machine = load_machine('hexaglide_6pus')
    assert (machine.degrees_of_freedom, machine.actuated_count) == (6, 6)
    random = np.random.default_rng(4)
    position = machine.home.position + random.uniform(-0.05, 0.05, (30, 3))
    rotation = rotation_exp(random.uniform(-0.15, 0.15, (30, 3)))
    anchors = position[:, None] + np.einsum('nij,lj->nli', rotation, machine.platform_points)
    rails = np.array([leg.joints[0].rotation_parent_joint[:, 2] for leg in machine.legs])
    gap = machine.base_points - anchors
    along = np.einsum('nlj,lj->nl', gap, rails)
    expected = -along + np.sqrt(along**2 - np.sum(gap**2, axis=2) + 0.6**2)
    assert drive_positions(machine, position, rotation) == pytest.approx(expected, abs=1e-12)
