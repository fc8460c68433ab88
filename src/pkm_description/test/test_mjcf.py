"""The exported MuJoCo model against the machine file and the analytic model."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.export.mjcf import mjcf_text
from pkm_description.kinematics import leg_motion
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine, load_machine
from pkm_description.mechanism import Mechanism
from pkm_description.motion.random_states import random_states


@pytest.fixture(scope='module', params=['srs', 'palida'])
def machine(request: pytest.FixtureRequest) -> Machine:
    return load_machine(request.param)


@pytest.fixture(scope='module')
def model(machine: Machine) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(mjcf_text(machine))


def test_one_root_body_and_the_suites_names(machine: Machine, model: mujoco.MjModel) -> None:
    root = ElementTree.fromstring(mjcf_text(machine))
    assert [body.get('name') for body in root.findall('worldbody/body')] == ['base_link']
    for leg in machine.legs:
        for joint in leg.joints:
            assert model.joint(joint.name).bodyid[0] == model.body(joint.body.name).id
    assert [model.actuator(i).name for i in range(model.nu)] == [joint.name for joint in machine.actuated_joints]
    assert (model.nq, model.nv, model.neq) == (25, 24, 6)


def test_masses_centres_and_inertias_are_the_machine_files(machine: Machine, model: mujoco.MjModel) -> None:
    bodies = [machine.platform] + [joint.body for leg in machine.legs for joint in leg.joints]
    assert model.body_mass.sum() == pytest.approx(sum(body.mass for body in bodies), rel=1e-14)
    for body in bodies:
        exported = model.body(body.name)
        assert exported.mass[0] == body.mass
        assert exported.ipos == pytest.approx(body.center_of_mass, abs=1e-15)
        axes = np.empty(9)
        mujoco.mju_quat2Mat(axes, exported.iquat)
        axes = axes.reshape(3, 3)
        assert axes @ np.diag(exported.inertia) @ axes.T == pytest.approx(
            body.inertia, rel=1e-9, abs=1e-9 * np.trace(body.inertia)
        )


def test_gravity_limits_and_friction_are_the_machine_files(machine: Machine, model: mujoco.MjModel) -> None:
    assert model.opt.gravity == pytest.approx(machine.gravity, abs=0.0)
    for joint in (joint for leg in machine.legs for joint in leg.joints):
        exported = model.joint(joint.name)
        assert (exported.damping[0], exported.frictionloss[0]) == (
            joint.friction.viscous,
            joint.friction.coulomb,
        )
        if joint.actuated:
            assert exported.range.tolist() == [joint.limits.lower, joint.limits.upper]
            assert model.actuator(joint.name).ctrlrange.tolist() == [
                -joint.limits.effort,
                joint.limits.effort,
            ]


def test_home_is_closed_and_in_equilibrium(machine: Machine, model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key('home').id)
    mujoco.mj_forward(model, data)
    for number, leg in enumerate(machine.legs, start=1):
        gap = data.site(f'{leg.name}_tip').xpos - data.site(f'platform_anchor{number}').xpos
        assert np.linalg.norm(gap) < 1e-9
    # exactly closed loops carry their load by yielding: 1e-4 of the accelerations that the loads would give
    assert np.abs(data.qacc).max() < 1e-2
    home = machine.home
    weight = gravity_forces(Mechanism(machine), home.position[None], home.rotation_base_platform[None])[0]
    assert data.ctrl == pytest.approx(weight, abs=0.0)


def test_forces_equal_mujocos_inverse_dynamics(machine: Machine, model: mujoco.MjModel) -> None:
    """mj_inverse of the open tree, then the loop forces that leave the passive joints free: no constraint softness."""
    mechanism, motion = Mechanism(machine), random_states(machine, 20, seed=1)
    legs = leg_motion(mechanism, motion)
    expected = inverse_dynamics(mechanism, motion, friction=False)
    data = mujoco.MjData(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EQUALITY | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.dof_damping[:] = 0.0
    model.dof_frictionloss[:] = 0.0
    drives = np.zeros((model.nv, model.nu))
    drives[[model.joint(joint.name).dofadr[0] for joint in machine.actuated_joints], np.arange(model.nu)] = 1.0
    quaternions = quaternion_from_matrix(motion.rotation_base_platform)[:, [3, 0, 1, 2]]
    for i in range(len(motion)):
        to_platform = motion.rotation_base_platform[i].T
        data.qpos[:] = [*legs.positions[i].ravel(), *motion.position[i], *quaternions[i]]
        data.qvel[:] = [
            *legs.velocities[i].ravel(), *motion.linear_velocity[i], *(to_platform @ motion.angular_velocity[i])
        ]  # fmt: skip
        data.qacc[:] = [
            *legs.accelerations[i].ravel(), *motion.linear_acceleration[i],
            *(to_platform @ motion.angular_acceleration[i]),
        ]  # fmt: skip
        mujoco.mj_inverse(model, data)
        torques = np.concatenate([drives, _closure_jacobian(machine, model, data).T], axis=1)
        forces = np.linalg.solve(torques, data.qfrc_inverse)[: model.nu]
        assert forces == pytest.approx(expected[i], rel=1e-10, abs=1e-10 * np.abs(expected).max())


def _closure_jacobian(machine: Machine, model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Velocity of every tip relative to its anchor, (18, 24)."""
    rows = []
    for number, leg in enumerate(machine.legs, start=1):
        tip, anchor = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacSite(model, data, tip, None, model.site(f'{leg.name}_tip').id)
        mujoco.mj_jacSite(model, data, anchor, None, model.site(f'platform_anchor{number}').id)
        rows.append(tip - anchor)
    return np.concatenate(rows)


def test_other_readers_take_it(machine: Machine, tmp_path: Path) -> None:
    """Pinocchio fails on several root bodies and on bodies whose inertia it would have to guess."""
    pinocchio = pytest.importorskip('pinocchio')
    path = tmp_path / 'machine.xml'
    path.write_text(mjcf_text(machine))
    read = pinocchio.buildModelFromMJCF(str(path))
    assert (read.nq, read.nv) == (25, 24)
    mass = machine.platform.mass + sum(joint.body.mass for leg in machine.legs for joint in leg.joints)
    assert pinocchio.computeTotalMass(read) == pytest.approx(mass, rel=1e-12)


def test_bad_time_step_is_refused(machine: Machine) -> None:
    with pytest.raises(ValueError, match='time_step = 0.0'):
        mjcf_text(machine, 0.0)
