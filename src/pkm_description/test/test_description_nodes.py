"""The nodes state_publisher and platform_poser, as real processes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from description_listener import Listener
from geometry_msgs.msg import PoseStamped
from node_processes import ros_domain
from pkm_description.export.urdf import urdf_text
from pkm_description.export.urdf_loops import link_poses, urdf_joints
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.rotation import matrix_from_quaternion, matrix_from_rpy
from pkm_description.loading import load_machine, machine_file, write_overlay
from pkm_description.machine import PlatformMotion
from pkm_description.ros.conversions import array3, array4, nanoseconds, quaternion_of_rotation, stamp
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from warm_programs import started

MACHINE = load_machine('palida')
MECHANISM = MACHINE


_start = partial(started, 'pkm_description')


def _joints(excursion: list[float]) -> np.ndarray:
    """Positions of all joints (18,) at an excursion from home, x y z [m] roll pitch yaw [rad]."""
    home = MACHINE.home
    rotation = home.rotation_base_platform @ matrix_from_rpy(np.array(excursion[3:]))
    pose = PlatformMotion.at_rest(home.position + excursion[:3], rotation)
    return joint_motion(MECHANISM, pose).positions[0]


def _pose(transform: Any) -> tuple[np.ndarray, np.ndarray]:
    return array3(transform.transform.translation), matrix_from_quaternion(array4(transform.transform.rotation))


def test_state_publisher_publishes_the_description_and_its_frames(listener: Listener) -> None:
    publisher = listener.create_publisher(JointState, 'joint_states', 10)
    positions = _joints([0.05, -0.03, 0.02, 0.1, -0.1, 0.2])
    message = JointState(name=[*MACHINE.joint_names, 'wheel'], position=[*positions.tolist(), 1.0])
    message.header.stamp = stamp(123_456_789_012)
    short = JointState(name=['leg1_prismatic'], position=[])
    broken = JointState(name=['leg3_prismatic'], position=[float('nan')])
    with _start('state_publisher', frame_prefix='left/') as node:
        for sent, words in (
            (short, '1 joint names but 0 positions'),
            (broken, 'position of leg3_prismatic is not a finite number'),
        ):
            listener.publish_until(publisher, sent, partial(listener.diagnosed, 'ignored', words), f'{words!r}')
        assert listener.heard['/tf'] == []
        listener.publish_until(publisher, message, lambda: bool(listener.heard['/tf']), '/tf')
        listener.wait(lambda: bool(listener.heard['/tf_static']), '/tf_static')
        listener.wait(lambda: bool(listener.heard['robot_description']), 'robot_description')
        assert node.stop() == 0
    text = listener.heard['robot_description'][0].data
    assert text == urdf_text(MACHINE)
    moving, fixed = listener.frames('/tf'), listener.frames('/tf_static')
    assert set(moving) == {f'left/{joint.body.name}' for leg in MACHINE.legs for joint in leg.joints}
    assert {nanoseconds(one.header.stamp) for one in moving.values()} == {123_456_789_012}
    # who follows the frames gets to the legs' ends
    joints = urdf_joints(text)
    poses = link_poses(joints, dict(zip(MACHINE.joint_names, positions, strict=True)), 'base_link')
    frames = fixed | moving
    assert set(frames) == {f'left/{joint.second}' for joint in joints if joint.kind != 'free'}
    for leg in MACHINE.legs:
        frame, point = f'left/{leg.name}_tip', np.zeros(3)
        while frame != 'left/base_link':
            translation, rotation = _pose(frames[frame])
            frame, point = frames[frame].header.frame_id, translation + rotation @ point
        assert point == pytest.approx(poses[f'{leg.name}_tip'][0], abs=1e-12)


def test_state_publisher_shows_an_overlay(listener: Listener, tmp_path: Path) -> None:
    values = {'platform.body.mass': 8.25}
    overlay = write_overlay(tmp_path / 'o.yaml', 'palida', values, date='today', data='none', method='by hand')
    with _start('state_publisher', machine='srs', machine_file=machine_file('palida'), overlay=overlay) as node:
        listener.wait(lambda: bool(listener.heard['robot_description']), 'robot_description')
        assert node.stop() == 0
    root = ElementTree.fromstring(listener.heard['robot_description'][0].data)
    assert root.find("link[@name='platform_link']/inertial/mass").get('value') == '8.25'


def test_platform_poser_publishes_at_its_rate_by_its_clock(listener: Listener) -> None:
    """On simulated time that this test makes, so that stamps are exact whatever the machine's load."""
    clock = listener.create_publisher(Clock, '/clock', 10)
    with _start('platform_poser', use_sim_time=True, rate=10.0, x=0.05, yaw=0.2) as node:
        listener.wait(lambda: clock.get_subscription_count() > 0, 'the node on /clock')
        now = 10**9

        states = listener.heard['joint_states']

        def tick(step: int) -> None:
            nonlocal now
            now += step
            clock.publish(Clock(clock=stamp(now)))

        def started() -> bool:
            tick(10**8)
            return bool(states)

        def newest_is_of_now() -> bool:
            tick(0)  # nodes listen to the clock with best effort: what is lost is said again
            return nanoseconds(states[-1].header.stamp) == now

        listener.wait(started, 'joint_states')
        listener.wait(newest_is_of_now, f'the state of t = {now} ns')
        states.clear()
        for count in range(1, 11):
            tick(5 * 10**7)
            rclpy.spin_once(listener, timeout_sec=0.02)
            tick(5 * 10**7)
            listener.wait(lambda: states and newest_is_of_now(), 'the next state')
            assert len(states) == count
        assert set(np.diff([nanoseconds(one.header.stamp) for one in states])) == {10**8}
        listener.wait(lambda: 'platform_link' in listener.frames('/tf'), 'the platform frame')
        assert node.stop() == 0
    message = listener.heard['joint_states'][-1]
    assert tuple(message.name) == MACHINE.joint_names
    assert np.array(message.position) == pytest.approx(_joints([0.05, 0, 0, 0, 0, 0.2]), abs=1e-12)
    frame = listener.frames('/tf')['platform_link']
    assert frame.header.frame_id == 'base_link'
    position, rotation = _pose(frame)
    assert position == pytest.approx(MACHINE.home.position + np.array([0.05, 0.0, 0.0]), abs=1e-12)
    assert rotation == pytest.approx(matrix_from_rpy(np.array([0.0, 0.0, 0.2])), abs=1e-12)


def test_platform_poser_follows_parameters_and_poses_and_refuses_what_it_cannot_reach(listener: Listener) -> None:
    poses = listener.create_publisher(PoseStamped, 'platform/reference_pose', 10)

    def at(excursion: list[float]) -> bool:
        heard = listener.heard['joint_states']
        return bool(heard) and np.allclose(heard[-1].position, _joints(excursion), rtol=0.0, atol=1e-9)

    def pose(height: float, turn: float = 0.0, frame: str = 'base_link') -> PoseStamped:
        message = PoseStamped()
        message.header.frame_id = frame
        message.pose.position.z = MACHINE.home.position[2] + height
        message.pose.orientation = quaternion_of_rotation(matrix_from_rpy(np.array([0.0, 0.0, turn])))
        return message

    with _start('platform_poser') as node:
        listener.wait(lambda: at([0.0] * 6), 'home')
        listener.wait(lambda: listener.diagnosed('pose reachable'), 'good diagnostics')
        assert listener.set_parameters('platform_poser', z=0.1, roll=0.1)[1].successful
        listener.wait(lambda: at([0, 0, 0.1, 0.1, 0, 0]), 'the pose of the parameters')
        refused = listener.set_parameters('platform_poser', z=0.6)[0]
        assert not refused.successful
        assert 'leg1_prismatic: position' in refused.reason
        assert 'exceeds the upper limit 0.5500 m' in refused.reason
        listener.wait(lambda: listener.diagnosed('refused', 'leg1_prismatic'), 'diagnostics of the refusal')
        listener.wait(lambda: poses.get_subscription_count() > 0, 'the subscription')
        poses.publish(pose(-0.1, 0.2))
        listener.wait(lambda: at([0, 0, -0.1, 0, 0, 0.2]), 'the pose of the topic')
        # a parameter that has nothing to do with it does not bring the old pose back
        assert listener.set_parameters('platform_poser', use_sim_time=False)[0].successful
        zero = pose(0.0)
        zero.pose.orientation.w = 0.0
        for message, words in (
            (pose(2.0), 'leg1_prismatic: position'),
            (pose(float('nan')), 'not finite'),
            (zero, 'not a unit quaternion'),
            (pose(0.0, frame='map'), "frame_id 'map' is not 'base_link'"),
        ):
            poses.publish(message)
            listener.wait(lambda words=words: listener.diagnosed('refused', words), f'a refusal with {words!r}')
        listener.heard['joint_states'].clear()
        listener.wait(lambda: at([0, 0, -0.1, 0, 0, 0.2]), 'the last good pose')
        assert node.stop() == 0


@pytest.mark.parametrize(
    ('executable', 'parameters', 'words'),
    [
        ('state_publisher', {'machine': 'unknown_machine'}, 'unknown_machine'),
        ('state_publisher', {'robot_description': '"<robot"'}, 'is not XML'),
        ('platform_poser', {'machine': 'unknown_machine'}, 'unknown_machine'),
        ('platform_poser', {'rate': -1.0}, 'rate'),
    ],
)
def test_wrong_parameters_end_a_node_with_one_line(executable: str, parameters: dict[str, Any], words: str) -> None:
    with ros_domain(), _start(executable, **parameters) as node:
        assert node.wait() == 1
        assert words in node.output
        assert 'Traceback' not in node.output
