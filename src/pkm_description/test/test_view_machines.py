"""Machines of other kinds in view_pkm and its nodes: frames that close, joints of open chains, measured forces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy')

from description_listener import Listener, Sliders, viewing, wait_for_pose
from node_processes import wait_for_node
from pkm_description.dynamics import gravity_forces
from pkm_description.kinematics import drive_positions, forward_kinematics
from pkm_description.kinematics.rotation import matrix_from_quaternion
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.ros.conversions import array3, array4, nanoseconds, stamp
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker
from warm_programs import WarmNode


def _drives_and_rest(name: str) -> tuple[Machine, np.ndarray, np.ndarray]:
    machine = load_machine(name)
    home = machine.home
    return machine, home.position, home.rotation_base_platform


@pytest.mark.campaign  # palida: test_view_launch; frames of other machines without nodes: test_export_round_trip
@pytest.mark.parametrize(
    ('name', 'sliders'),
    [
        ('valencia_3rps', {'platform_z': 0.02, 'platform_roll': 0.05, 'platform_pitch': -0.04}),
        ('khalifa_3prr', {'platform_x': 0.02, 'platform_y': -0.03, 'platform_yaw': 0.1}),
        ('hexaglide_6pus', {'platform_x': 0.05, 'platform_pitch': 0.1}),
    ],
)
def test_other_machines_are_closed_in_every_frame(
    listener: Listener, tmp_path: Path, name: str, sliders: dict[str, float]
) -> None:
    """Along the frames every leg ends in the platform; the general solver, given the drives alone, finds the joints."""
    machine, home_position, home_rotation = _drives_and_rest(name)
    publisher = listener.create_publisher(JointState, 'platform/sliders', 10)
    with viewing(tmp_path / 'view.log', f'machine:={name}', 'gui:=false'):
        at_home = drive_positions(machine, home_position[None], home_rotation[None])[0]

        def moved() -> bool:
            publisher.publish(JointState(name=list(sliders), position=list(sliders.values())))
            heard = listener.heard['joint_states']
            return bool(heard) and np.abs(_drives(machine, heard[-1]) - at_home).max() > 1e-3

        listener.wait(moved, 'a moved platform')
        joints = np.array(listener.heard['joint_states'][-1].position)
        closed = forward_kinematics(machine, _drives(machine, listener.heard['joint_states'][-1])[None]).require()
        np.testing.assert_allclose(joints, closed.joint_positions[0], atol=1e-9)
        position = closed.position[0]
        wait_for_pose(listener, position, closed.rotation_base_platform[0])
        listener.wait(lambda: bool(listener.heard['leg_forces']), 'arrows')
        links = [(f'{leg.name}_tip', f'platform_anchor{n + 1}') for n, leg in enumerate(machine.legs)]

        def gap() -> float:
            frames = listener.frames('/tf_static') | listener.frames('/tf')
            if not {'leg1_tip', 'platform_link', machine.legs[-1].joints[-1].body.name} <= set(frames):
                return np.inf
            tips, anchors = (np.array([_origin(frames, pair[side]) for pair in links]) for side in (0, 1))
            if np.abs(_origin(frames, 'platform_link') - position).max() > 1e-9:
                return np.inf
            return float(np.abs(tips - anchors).max())

        listener.wait(lambda: gap() < 1e-9, 'legs that end in the platform, frame by frame')


def _origin(frames: dict[str, Any], name: str) -> np.ndarray:
    """Origin of a frame in base_link (3,) m, along its parents."""
    point = np.zeros(3)
    while name != 'base_link':
        transform = frames[name].transform
        point = array3(transform.translation) + matrix_from_quaternion(array4(transform.rotation)) @ point
        name = frames[name].header.frame_id
    return point


def _drives(machine: Machine, message: Any) -> np.ndarray:
    given = dict(zip(message.name, message.position, strict=True))
    return np.array([given[name] for name in machine.actuated_joint_names])


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
