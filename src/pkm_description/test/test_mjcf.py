"""The exported MuJoCo model against the machine file and the analytic model."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
from exported_machines import EXPORTED, exported_machine
from pkm_description.dynamics import gravity_forces
from pkm_description.export.mjcf import mjcf_text
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.machine.machine import closure_ends

from verification.engines.mujoco import added_mass


@pytest.fixture(scope='module', params=EXPORTED)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return exported_machine(request.param, tmp_path_factory.mktemp('machine'))


@pytest.fixture(scope='module')
def model(machine: Machine) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(mjcf_text(machine))


def test_one_root_body_and_the_suites_names(machine: Machine, model: mujoco.MjModel) -> None:
    root = ElementTree.fromstring(mjcf_text(machine))
    assert [body.get('name') for body in root.findall('worldbody/body')] == ['base_link']
    bodies = {model.body(number).name for number in range(model.nbody)}
    for joint in machine.joints:
        if joint.body.mass > 0.0 or joint.body.name in bodies:
            assert model.joint(joint.name).bodyid[0] == model.body(joint.body.name).id
    assert [model.actuator(i).name for i in range(model.nu)] == [joint.name for joint in machine.actuated_joints]
    # universal joints that close loops have a cross, which turns; they and pins in space are held at two points
    crosses = [end.link for end in closure_ends(machine) if end.closure.kind == 'universal']
    joints = len(machine.joint_names) + len(crosses)
    # a platform has a position and a quaternion, or x, y and an angle
    extra = {'free': (7, 6), 'planar': (3, 3), 'none': (0, 0)}[machine.freedom]
    twice = [closure for closure in machine.closures if closure.kind == 'pin' and not machine.planar]
    loops = len(machine.closures) + len(crosses) + len(twice)
    assert (model.nq, model.nv, model.neq) == (joints + extra[0], joints + extra[1], loops)


def test_gravity_limits_friction_and_rotors_are_the_machine_files(machine: Machine, model: mujoco.MjModel) -> None:
    assert model.opt.gravity == pytest.approx(machine.gravity, abs=0.0)
    for joint in (joint for leg in machine.legs for joint in leg.joints):
        exported = model.joint(joint.name)
        assert exported.damping[0] == joint.friction.viscous
        assert exported.frictionloss[0] == joint.friction.coulomb
        assert exported.armature[0] == joint.rotor_inertia
        bounds = [joint.limits.lower, joint.limits.upper]
        assert exported.limited[0] == np.isfinite(bounds).any()
        if np.isfinite(bounds).all():
            assert exported.range.tolist() == bounds
        if joint.actuated:
            effort = joint.limits.effort
            assert model.actuator(joint.name).ctrlrange.tolist() == [-effort, effort]


def test_home_is_in_equilibrium(machine: Machine, model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key('home').id)
    if not machine.has_platform:  # nothing holds its passive joints, so all are asked what they would need
        mujoco.mj_inverse(model, data)
        driven = [model.joint(joint.name).dofadr[0] for joint in machine.actuated_joints]
        assert data.ctrl == pytest.approx(data.qfrc_inverse[driven], abs=1e-9)
        return
    mujoco.mj_forward(model, data)
    # exactly closed loops carry their load by yielding: 1e-4 of the accelerations that the loads would give
    assert np.abs(data.qacc).max() < 3e-2
    home = machine.home
    weight = gravity_forces(machine, home.position[None], home.rotation_base_platform[None])[0]
    assert data.ctrl == pytest.approx(weight, abs=0.0)


def test_planar_loops_carry_nothing_out_of_the_plane() -> None:
    """The third row of a ``connect`` is empty there: no redundancy, so nothing becomes badly conditioned."""
    machine = load_machine('khalifa_3prr')
    model = mujoco.MjModel.from_xml_string(mjcf_text(machine))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key('home').id)
    data.qvel[:] = np.linspace(0.1, 0.5, model.nv)
    mujoco.mj_forward(model, data)
    rows = np.flatnonzero(data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    assert len(rows) == 3 * len(machine.legs)
    jacobian = data.efc_J.reshape(data.nefc, model.nv)[rows]
    assert np.abs(jacobian[2::3]).max() < 1e-15
    assert np.abs(data.efc_force[rows][2::3]).max() < 1e-9 * np.abs(data.efc_force[rows]).max()
    in_plane = np.delete(jacobian, np.s_[2::3], axis=0)
    assert np.linalg.matrix_rank(in_plane) == len(in_plane)


def test_other_readers_take_it(machine: Machine, model: mujoco.MjModel, tmp_path: Path) -> None:
    """Pinocchio fails on several root bodies and on bodies whose inertia it would have to guess."""
    pinocchio = pytest.importorskip('pinocchio')
    path = tmp_path / 'machine.xml'
    path.write_text(mjcf_text(machine))
    read = pinocchio.buildModelFromMJCF(str(path))
    assert (read.nq, read.nv) == (model.nq, model.nv)
    mass = sum(joint.body.mass for joint in machine.joints) + machine.platform.mass
    assert pinocchio.computeTotalMass(read) - added_mass(machine, model) == pytest.approx(mass, rel=1e-12)


def test_bad_time_step_is_refused(machine: Machine) -> None:
    with pytest.raises(ValueError, match='time_step = 0.0'):
        mjcf_text(machine, 0.0)
