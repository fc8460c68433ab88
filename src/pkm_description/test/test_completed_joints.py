"""The state publisher closes the loops of a machine whose drives alone are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy')

from pkm_description.kinematics import joint_motion
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion
from pkm_description.motion.profiles import profile
from pkm_description.ros.conversions import array3, stamp
from pkm_description.ros.qos import LOSSLESS_QOS
from pkm_description.viewing.coupled_pose import JointReader
from sensor_msgs.msg import JointState
from warm_programs import WarmNode

if TYPE_CHECKING:
    from description_listener import Listener

NAMES = ['delta', 'five_bar', 'srs', 'three_upu']
TIME = 123_456_789_012


def moving(name: str) -> tuple[PlatformMotion, np.ndarray, np.ndarray]:
    """Motion of the platform, and positions and velocities (N, J) of all joints."""
    machine = load_machine(name)
    motion = profile('drives', machine, duration=2.0, rate=50.0)
    joints = joint_motion(machine, motion)
    return motion, joints.positions, joints.velocities


@pytest.mark.parametrize('name', NAMES)
def test_all_joints_follow_from_the_drives(name: str) -> None:
    machine = load_machine(name)
    motion, positions, velocities = moving(name)
    completed, drives = JointReader(machine, machine.actuated_joint_names), machine.drive_columns
    names = machine.actuated_joint_names
    assert completed.lacks(names)
    assert not completed.lacks(machine.joint_names)
    assert not completed.lacks(names[1:])
    for k in range(0, len(motion), 5):
        # in another order, with a joint of something else
        given = *names[::-1], 'wheel'
        whole = completed.read(given, np.append(positions[k, drives][::-1], 1.0), [])
        rates = completed.rates(whole, given, np.append(velocities[k, drives][::-1], 2.0))
        np.testing.assert_allclose(whole.joint_positions, positions[k], rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(rates, velocities[k], rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(whole.position, motion.position[k], rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(whole.rotation_base_platform, motion.rotation_base_platform[k], rtol=0.0, atol=1e-8)
    assert completed.rates(completed.read(names, positions[0, drives], []), names, np.zeros(0)) is None


def test_the_node_publishes_them_and_their_frames(listener: Listener) -> None:
    machine = load_machine('delta')
    motion, positions, velocities = moving('delta')
    publisher = listener.create_publisher(JointState, 'joint_states', 10)
    heard: list[JointState] = []
    listener.create_subscription(JointState, 'joint_states_complete', heard.append, LOSSLESS_QOS)
    k, drives = 60, machine.drive_columns
    message = JointState(
        name=machine.actuated_joint_names,
        position=positions[k, drives].tolist(),
        velocity=velocities[k, drives].tolist(),
    )
    message.header.stamp, message.header.frame_id = stamp(TIME), 'driver'
    given = ['--ros-args', '-p', 'machine:=delta', '-p', 'platform_transform:=true', '-p', 'frame_prefix:=left/']
    with WarmNode('pkm_description', 'state_publisher', given) as node:

        def told() -> bool:
            frames = listener.frames('/tf')
            return bool(heard) and 'left/platform_link' in frames and len(frames) > len(machine.joint_names)

        listener.publish_until(publisher, message, told, 'the completed joint state and all frames')
        assert node.stop() == 0
    found, frames = heard[0], listener.frames('/tf')
    assert found.header == message.header
    assert tuple(found.name) == machine.joint_names
    np.testing.assert_allclose(found.position, positions[k], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(found.velocity, velocities[k], rtol=0.0, atol=1e-7)
    assert {frame.removeprefix('left/') for frame in frames} == {
        *(joint.body.name for joint in machine.joints), machine.platform.name,
    }  # fmt: skip
    platform = frames[f'left/{machine.platform.name}']
    assert platform.header.frame_id == 'left/base_link'
    assert platform.header.stamp == stamp(TIME)
    np.testing.assert_allclose(array3(platform.transform.translation), motion.position[k], rtol=0.0, atol=1e-9)
