"""An overlay gives the same forces in the library and in the simulator, rotors included."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from pkm_description.dynamics import inverse_dynamics
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.texts import not_expressed
from pkm_description.kinematics import drive_positions, joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_joints
from pkm_description.motion import profiles
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.pipeline import identify
from pkm_identification.recording.recording import Recording
from pkm_identification.report.files import write_overlay
from pkm_identification.result import IdentificationResult

from verification.engines.mujoco import mujoco_result


def with_rotors(machine: Machine, factor: float, least: float) -> Machine:
    """Machine with other inertias of its drives."""
    return with_joints(machine, lambda joint: replace(
        joint, rotor_inertia=factor * joint.rotor_inertia + least) if joint.actuated else joint)  # fmt: skip


@pytest.fixture(scope='module', params=[('valencia_3rps', 'drives'), ('srs', 'fourier')], ids=lambda case: case[0])
def identified(request: pytest.FixtureRequest) -> tuple[Machine, IdentificationResult]:
    """Return a machine whose file knows nothing of 20 % more, or of any, rotor inertia; and its identification."""
    name, profile = request.param
    nominal = load_machine(name)
    truth = with_rotors(nominal, 1.2, 25.0)
    motion = profiles.profile(profile, nominal, 20.0, 200.0, 0)
    positions = drive_positions(truth, motion.position, motion.rotation_base_platform)
    random = np.random.default_rng(1)
    sensors = truth.leg_sensors
    recording = Recording(
        motion.time,
        positions + sensors.position_noise * random.normal(size=positions.shape),
        inverse_dynamics(truth, motion) + sensors.effort_noise * random.normal(size=positions.shape),
    )
    config = IdentificationConfig.from_mapping({'columns.terms': ['inertia']})
    return truth, identify(nominal, recording, config=config)


def test_overlay_has_the_rotors_and_gives_one_force_everywhere(
    identified: tuple[Machine, IdentificationResult], tmp_path: Path
) -> None:
    truth, result = identified
    path = write_overlay(result, tmp_path / 'overlay.yaml')
    reloaded = load_machine(truth.path, overlay=path)
    assert result.identified_machine is not None and result.delivered is not None
    assert 'inertia of the drives' not in result.delivered.lost
    assert reloaded.rotor_inertia == pytest.approx(result.identified_machine.rotor_inertia, rel=1e-9)
    assert reloaded.rotor_inertia.any()
    std = {name: value for name, value in result.std.items() if name.endswith('rotor_inertia')}
    for joint, true in zip(reloaded.actuated_joints, truth.actuated_joints, strict=True):
        known = std.get(f'{joint.name}.rotor_inertia')
        if known is not None:  # a base parameter by itself
            assert abs(joint.rotor_inertia - true.rotor_inertia) < 4.0 * known

    motion = random_states(truth, 25, 7)
    ours = inverse_dynamics(reloaded, motion)
    size = np.abs(ours).max()
    assert np.abs(ours - inverse_dynamics(result.identified_machine, motion)).max() < 1e-9 * size
    # MuJoCo's inverse dynamics of the exported model, with the friction that stands in it
    model = mujoco.MjModel.from_xml_string(mjcf_text(reloaded))
    places = [model.joint(joint.name).dofadr[0] for joint in reloaded.actuated_joints]
    joints = joint_motion(reloaded, motion)
    rates = joints.velocities[:, reloaded.drive_columns]
    friction = model.dof_damping[places] * rates + model.dof_frictionloss[places] * np.sign(rates)
    theirs = mujoco_result(reloaded, joints.positions, motion).drive_forces + friction
    print(f'{truth.name}: largest difference {np.abs(ours - theirs).max() / size:.1e} of the largest force')
    assert np.abs(ours - theirs).max() < 1e-9 * size


def test_exports_say_what_they_drop(identified: tuple[Machine, IdentificationResult]) -> None:
    machine = identified[1].identified_machine
    assert machine is not None
    assert not any('rotor_inertia' in text for text in not_expressed(machine, 'mjcf'))
    assert any('rotor_inertia' in text for text in not_expressed(machine, 'sdf'))
