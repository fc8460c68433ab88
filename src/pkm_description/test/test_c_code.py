"""The exported C code against the library, on machines with general frames and bodies; skipped without a compiler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot, hexapod, polar, turned_link_frames
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion, Pose
from pkm_description.nodes.export_machine import c_text, main

from verification.heimann_abdellatif.c_export import build, compiler, run

COMPILER = compiler()
needs_compiler = pytest.mark.skipif(COMPILER is None, reason='no C compiler')


@needs_compiler
@pytest.mark.parametrize('machine', [turned_link_frames(), load_machine('srs')], ids=['turned', 'srs'])
@pytest.mark.parametrize('friction', [False, True])
def test_forces_are_those_of_the_library(machine, friction: bool, tmp_path: Path) -> None:
    motion = random_states(machine, 100, seed=5)
    forces, _ = run(build(machine, COMPILER, tmp_path), motion, friction)
    expected = inverse_dynamics(machine, motion, friction=friction)
    np.testing.assert_allclose(forces, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


@needs_compiler
def test_poses_without_an_answer_are_told(tmp_path: Path) -> None:
    # similar hexagons at equal angles: the platform can turn about z without any leg noticing
    angles = [0.0, 60.0, 120.0, 180.0, 240.0, 300.0]
    home = Pose(np.array([0.0, 0.0, 0.7]), np.eye(3))
    singular = hexapod(polar(0.6, angles), polar(0.2, angles), home, np.array([0.0, 0.0, -9.81]))
    still = PlatformMotion.at_rest(home.position, home.rotation_base_platform)
    with pytest.raises(RuntimeError, match='returns -2'):
        run(build(singular, COMPILER, tmp_path), still, False)


@needs_compiler
def test_a_leg_on_its_first_axis_is_told(tmp_path: Path) -> None:
    machine = heimann_check_robot()
    # the first axes are tangential: put the platform joint of leg 1 beside its base joint
    tangent = np.cross([0.0, 0.0, 1.0], machine.base_points[0])
    tangent /= np.linalg.norm(tangent)
    rotation = rotation_exp(np.array([0.0, 0.0, 0.1]))
    position = machine.base_points[0] + 0.5 * tangent - rotation @ machine.platform_points[0]
    with pytest.raises(RuntimeError, match='returns -1'):
        run(build(machine, COMPILER, tmp_path), PlatformMotion.at_rest(position, rotation), False)


def test_other_machines_are_refused_by_name() -> None:
    with pytest.raises(KinematicsError, match='valencia_3rps: C code is written for six legs'):
        c_text(load_machine('valencia_3rps'))


def test_five_struts_are_no_hexapod() -> None:
    machine = load_machine('srs')
    with pytest.raises(KinematicsError, match='this machine has 5 of'):
        c_text(replace(machine, legs=machine.legs[:5]))


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['palida', 'c']) == 0
    text = capsys.readouterr().out
    assert 'int palida_inverse_dynamics(const double position[3]' in text
    assert '@' not in text
