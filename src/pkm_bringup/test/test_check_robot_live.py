"""check_robot as a process beside a driver that publishes this and that."""

from __future__ import annotations

import json
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from pkm_description import load_machine

pytest.importorskip('rclpy')

import rclpy
from node_processes import ros_domain
from pkm_bringup.ros import robot_listener
from pkm_description.ros.conversions import stamp
from pkm_description.ros.qos import RELIABLE_STREAM_QOS, SENSOR_QOS
from rclpy.node import Node
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String
from warm_programs import WarmNode

DURATION = 1.5


class Driver:
    """Publishes srs at rest at home from a thread of its own: joints best effort on /drives, two IMUs, a wrong type."""

    def __init__(self) -> None:
        self.node = Node('driver')
        srs = load_machine('srs')
        self.names = list(srs.actuated_joint_names)
        self.random = np.random.default_rng(3)
        self.joints = self.node.create_publisher(JointState, '/drives', SENSOR_QOS)
        self.imus = [self.node.create_publisher(Imu, '/imu/data_raw', RELIABLE_STREAM_QOS) for _ in range(2)]
        self.texts = self.node.create_publisher(String, '/joint_states', RELIABLE_STREAM_QOS)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(0.01):
            joints = JointState(name=self.names, position=(0.625 + 1e-5 * self.random.normal(size=6)).tolist())
            joints.header.stamp = stamp(time.time_ns())
            self.joints.publish(joints)
            for imu in self.imus:
                message = Imu()
                message.header.frame_id, message.header.stamp = 'imu_link', stamp(time.time_ns())
                message.linear_acceleration.z = 9.8 + 1e-3 * self.random.normal()
                message.angular_velocity.x = 1e-3 * self.random.normal()
                imu.publish(message)

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()
        self.node.destroy_node()


@pytest.fixture(scope='module')
def driver():
    with ros_domain():
        driver = Driver()
        yield driver
        driver.stop()
        assert rclpy.ok()


def checked(tmp_path, *options: str) -> tuple[int, dict, str]:
    path = tmp_path / 'report.json'
    with WarmNode(
        'pkm_bringup', 'check_robot', ['srs', '--duration', str(DURATION), '--json', str(path), *options]
    ) as run:
        code = run.wait()
        output = run.output
    assert path.exists(), output
    return code, json.loads(path.read_text()), output


def by_code(report: dict) -> dict[str, dict]:
    return {finding['code']: finding for finding in report['findings']}


def test_topics_of_other_names_and_types_are_named(driver, tmp_path):
    code, report, output = checked(tmp_path)
    found = by_code(report)
    assert code == report['exit_code'] == 1
    assert found['joint_topic_type']['state'] == 'wrong'
    assert 'std_msgs/msg/String' in found['joint_topic_type']['sentence']
    assert '--joint-topic /drives' in found['joint_topic_type']['remedy']
    assert found['imu_two_publishers']['state'] == 'wrong'
    assert 'joint_topic: /drives' in output


def test_a_best_effort_driver_and_a_reliable_subscription_do_not_fit(driver, tmp_path):
    code, report, _ = checked(tmp_path, '--joint-topic', '/drives', '--reliability', 'reliable')
    assert code == 1
    assert by_code(report)['joint_qos']['evidence'] == {'offered': 'best_effort', 'requested': 'reliable'}


def test_joints_alone_are_judged_as_far_as_they_go(driver, tmp_path):
    code, report, _ = checked(tmp_path, '--joint-topic', '/drives', '--imu-topic', '/no_imu')
    found = by_code(report)
    assert code == 1
    assert found['imu_topic_missing']['state'] == 'wrong'
    assert '/imu/data_raw' in found['imu_topic_missing']['sentence']
    assert found['pose']['state'] == 'ok'
    assert found['effort_missing']['state'] == 'wrong'
    assert found['leg_order']['state'] == 'cannot tell'


def test_an_interrupt_ends_it_with_a_report_of_what_came(driver, tmp_path):
    path = tmp_path / 'report.json'
    with WarmNode(
        'pkm_bringup', 'check_robot', ['srs', '--joint-topic', '/drives', '--duration', '600', '--json', str(path)]
    ) as run:
        run.wait_for_output('listening to')
        run.process.send_signal(signal.SIGINT)
        assert run.wait() in (1, 2)
        assert 'Traceback' not in run.output
        assert json.loads(path.read_text())['machine'] == 'srs'


@pytest.mark.parametrize('interrupted', [True, False])
def test_an_interrupt_that_comes_as_another_error_gives_the_report_too(interrupted, monkeypatch):
    """In a callback of C++ code a KeyboardInterrupt becomes another error: it ended with 0 and without a report."""

    def look():
        raise RuntimeError('of C++ code')

    monkeypatch.setattr(robot_listener, 'was_interrupted', lambda: interrupted)
    monkeypatch.setattr(robot_listener, 'StreamExecutor', lambda: SimpleNamespace(add_node=lambda node: None))
    monkeypatch.setattr(robot_listener, 'check_robot', lambda machine, seen: seen)
    monkeypatch.setattr(robot_listener, 'tell', lambda findings, *files: 1 if findings == 'seen' else 0)
    node = SimpleNamespace(
        _topics=('/drives', '/imu'), _settings=SimpleNamespace(duration=1.0), context=SimpleNamespace(ok=lambda: True),
        _has_enough=lambda: False, _look=look, _observation=lambda: 'seen', machine=None, _json=None, _driver_file=None,
    )  # fmt: skip
    with pytest.raises(SystemExit if interrupted else RuntimeError) as ended:
        robot_listener.RobotListener.run(node)
    if interrupted:
        assert ended.value.code == 1


def test_nothing_at_all_is_said_so(driver, tmp_path):
    code, report, output = checked(tmp_path, '--joint-topic', '/nothing', '--imu-topic', '/nothing_either')
    assert code == report['exit_code'] == 2
    assert '/drives' in output and '/imu/data_raw' in output
