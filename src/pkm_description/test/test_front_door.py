"""The names of the package: the notebook of the README, one way for every machine, single poses, clear errors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from other_machines import CLOSED, cart_with_pendulum, six_rus
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import joint_positions, leg_lengths, length_jacobian
from pkm_description.machine import Pose

from pkm_description import (
    Machine,
    PlatformMotion,
    check_motion,
    drive_positions,
    forward_kinematics,
    inverse_dynamics,
    joint_motion,
    load_machine,
    profile,
    rigid_body_parameters,
    rigid_body_regressor,
)


def motion_of(machine: Machine) -> PlatformMotion:
    """A short motion that the machine admits."""
    return profile('mp1' if machine.has_closed_form else 'drives', machine, duration=6.0, rate=20.0)


def test_the_notebook() -> None:
    srs = load_machine('srs')
    motion = profile('mp1', srs, duration=20, rate=100)
    q = drive_positions(srs, motion)
    pose = forward_kinematics(srs, q)
    tau, regressor = inverse_dynamics(srs, motion, friction=False), rigid_body_regressor(srs, motion)
    assert pose.trusted.all()
    np.testing.assert_allclose(pose.position, motion.position, atol=1e-9)
    np.testing.assert_allclose(regressor @ rigid_body_parameters(srs), tau, atol=1e-8 * np.abs(tau).max())
    assert check_motion(srs, motion) == []


@pytest.mark.parametrize('start', ['pose', 'result'])
@pytest.mark.parametrize('name', ['srs', 'hexaglide_6pus', 'valencia_3rps'])
def test_starts_are_poses_or_results(name: str, start: str) -> None:
    machine = load_machine(name)
    motion = motion_of(machine)
    q = drive_positions(machine, motion)
    near = forward_kinematics(machine, q[40]).require()
    initial = near if start == 'result' else Pose(near.position[0], near.rotation_base_platform[0])
    np.testing.assert_allclose(forward_kinematics(machine, q[41], initial).position[0], motion.position[41], atol=1e-9)


@pytest.mark.parametrize('machine', [load_machine('hexaglide_6pus'), six_rus(), CLOSED['planar 3-PRR']()])
def test_functions_of_struts_refuse_other_machines(machine: Machine) -> None:
    """They would be millimetres wrong, and marked as right."""
    position, rotation = machine.home.position[None], machine.home.rotation_base_platform[None]
    for refused in (leg_lengths, length_jacobian):
        with pytest.raises(KinematicsError, match=r'not the lengths of struts.*drive_jacobian'):
            refused(machine, position, rotation)


def test_open_chains_are_sent_to_their_own_functions() -> None:
    chain = cart_with_pendulum()
    motion = motion_of(load_machine('srs'))
    refusals: list[tuple[str, object]] = [
        ('open_chain_forces', lambda: inverse_dynamics(chain, motion)),
        ('open_chain_regressor', lambda: rigid_body_regressor(chain, motion)),
        ('open_chain', lambda: drive_positions(chain, motion)),
        ('open_chain', lambda: joint_motion(chain, motion)),
        ('open_chain', lambda: joint_positions(chain, np.zeros((1, 3)), np.eye(3)[None])),
        ('chain_pose', lambda: forward_kinematics(chain, np.zeros(1))),
    ]
    for named, call in refusals:
        with pytest.raises(KinematicsError, match=f'is an open chain.*{named}'):
            call()  # type: ignore[operator]


def test_the_package_imports_little() -> None:
    """Neither ROS nor MuJoCo, and arrays only when they are needed."""
    code = (
        'import sys, pkm_description; assert "numpy" not in sys.modules; '
        'pkm_description.load_machine; pkm_description.inverse_dynamics; pkm_description.mjcf_text; '
        'pkm_description.urdf_text; '
        'print(sorted({"rclpy", "xacro", "mujoco", "matplotlib", "rosbags"} & set(sys.modules)))'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '[]'
