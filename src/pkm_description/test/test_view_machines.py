"""Machines of other kinds in view_pkm and its nodes: frames that close, joints of open chains, measured forces."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from description_listener import Listener, Sliders
from node_processes import wait_for_node
from pkm_description.dynamics import gravity_forces
from pkm_description.kinematics import drive_positions
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.ros.conversions import array3, nanoseconds, stamp
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker
from warm_programs import WarmNode


def _drives_and_rest(name: str) -> tuple[Machine, np.ndarray, np.ndarray]:
    machine = load_machine(name)
    home = machine.home
    return machine, home.position, home.rotation_base_platform


def test_an_open_chain_is_moved_by_its_joints(listener: Listener) -> None:
    machine = load_machine('double_pendulum')
    names = list(machine.joint_names)
    with WarmNode('pkm_description', 'platform_poser', ['--ros-args', '-p', 'machine:=double_pendulum']) as node:
        sliders = Sliders(listener)
        wanted = np.array([joint.home for leg in machine.legs for joint in leg.joints])
        wanted[1] += 0.3
        sliders.drag(wanted, **{names[1]: wanted[1]})
        assert not listener.heard['platform/odometry'] and not listener.heard['/tf']
        # by parameter, too; a pose is refused, as there is no platform
        assert listener.set_parameters('platform_poser', **{names[2]: 0.1})[0].successful
        refused = listener.set_parameters('platform_poser', yaw=0.1)[0]
        assert not refused.successful and "cannot be moved by 'yaw' but by" in refused.reason
        assert node.stop() == 0


def test_measured_efforts_are_shown_as_they_are(listener: Listener) -> None:
    """A joint state as a simulator or driver gives it, at 100 Hz of its own time, and broken ones between."""
    machine, position, rotation = _drives_and_rest('palida')
    drives = drive_positions(machine, position[None], rotation[None])[0]
    names = list(machine.actuated_joint_names)
    efforts = [120.0, -80.0, 60.5, float('nan'), 1e-3, 100.0]
    held = gravity_forces(machine, position[None], rotation[None])[0]
    publisher = listener.create_publisher(JointState, 'joint_states', 100)
    with WarmNode('pkm_description', 'force_markers', ['--ros-args', '-p', 'machine:=palida']) as node:
        missing = JointState(name=[*names[:2], *names[3:]], position=[*drives[:2], *drives[3:]])
        missing.header.stamp = stamp(10**9)
        words = 'no leg forces shown', 'no position of leg3_prismatic'
        wait_for_node(listener, 'force_markers', publisher)

        def told() -> bool:
            publisher.publish(missing)
            return listener.diagnosed(*words)

        listener.wait(told, f'diagnostics with {words}')
        message = JointState(name=names, position=drives.tolist(), effort=efforts)
        for step in range(21):
            message.header.stamp = stamp(2 * 10**9 + step * 10**7)
            publisher.publish(message)
        listener.wait(lambda: len(listener.heard['leg_forces']) >= 3, 'three arrays of markers')
        listener.wait(lambda: listener.diagnosed('measured and static forces'), 'diagnostics of the source')
        assert node.stop() == 0
    arrays = listener.heard['leg_forces']
    # ten a second at most, by the stamps
    assert [nanoseconds(one.markers[0].header.stamp) for one in arrays] == [2 * 10**9, 21 * 10**8, 22 * 10**8]
    arrows, labels = arrays[0].markers[::2], arrays[0].markers[1::2]
    shown = [120.0, -80.0, 60.5, held[3], 1e-3, 100.0]
    assert [one.text for one in labels] == [f'{force:.4g} N' for force in shown]
    assert [one.type for one in arrows] == [Marker.ARROW] * 6
    assert [one.color.r > one.color.b for one in arrows] == [force > 0.0 for force in shown]
    # longer for more force, along the legs
    lengths = [np.linalg.norm(array3(one.points[1]) - array3(one.points[0])) for one in arrows]
    assert np.array(lengths) / np.abs(shown) == pytest.approx(lengths[0] / 120.0)
