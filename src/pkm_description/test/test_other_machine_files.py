"""Machine files that are no hexapods on struts, against figures of the papers and equations written out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.friction_laws import LoadDependentStribeck
from pkm_description.kinematics import drive_positions, forward_kinematics
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


def test_khalifa_friction_is_the_papers() -> None:
    """Rosyid and El-Khasawneh 2020, Table 1 and section 5; of bodies and lengths see verification, R2-01 to R2-12."""
    machine = load_machine('khalifa_3prr')
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
