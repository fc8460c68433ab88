"""The node as a process: synthetic joint states in, services called, report and overlay out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from node_processes import call_service, ros_domain, wait_for, wait_for_node
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.ros.conversions import stamp
from pkm_description.ros.qos import LOSSLESS_QOS
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from synthetic import NOMINAL, recording
from warm_programs import WarmNode


class Helper:
    """A publisher, clients and a listener to diagnostics."""

    def __init__(self) -> None:
        self.node = rclpy.create_node('identification_tester')
        self.publisher = self.node.create_publisher(JointState, 'joint_states', LOSSLESS_QOS)
        self.diagnostics: list[str] = []
        self.figures: dict[str, int] = {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._listen, 10)

    def _listen(self, message: DiagnosticArray) -> None:
        self.diagnostics += [status.message for status in message.status]
        counts = ('samples', 'rejected messages')
        values = (item for status in message.status for item in status.values)
        self.figures = {item.key: int(item.value) for item in values if item.key in counts}

    def call(self, name: str) -> Trigger.Response:
        """Call a service and wait for its answer."""
        return call_service(self.node, Trigger, f'identification/{name}')

    def wait_for_count(self, what: str, count: int) -> None:
        """Wait until the node has taken what was sent: a service is answered before messages that wait."""
        wait_for(lambda: self.figures.get(what) == count, f'{count} {what}', spin=self.node)

    def send(self, machine: Machine, data: object, spoil: bool = False) -> None:
        """Publish a recording as joint states, faster than real time."""
        names = [joint.name for joint in machine.actuated_joints]
        for index in range(len(data.time)):
            message = JointState(name=names)
            message.header.stamp = stamp(data.start_stamp + round(data.time[index] * 1e9))
            message.position = data.drive_positions[index].tolist()
            message.effort = [float('nan')] * 6 if spoil else data.forces[index].tolist()
            self.publisher.publish(message)
            if index % 20 == 19:
                rclpy.spin_once(self.node, timeout_sec=0.01)


@pytest.fixture
def tester() -> Iterator[Helper]:
    """Return a tester in its own domain."""
    with ros_domain():
        helper = Helper()
        yield helper
        helper.node.destroy_node()


def test_records_identifies_and_survives(
    tester: Helper, srs: Machine, excitation: tuple, validation: tuple, tmp_path: Path
) -> None:
    """Commands in a wrong order and bad data are answered in words; good data end in report and overlay."""
    # of different lengths: the count of samples that is waited for must not be that of the recording before
    excitation, validation = (
        tuple(part[:count] for part in one) for one, count in ((excitation, 1000), (validation, 900))
    )
    arguments = ['--ros-args', '-p', 'machine:=srs', '-p', f'overlay:={NOMINAL / "nominal_srs.yaml"}']
    arguments += ['-p', f'output_directory:={tmp_path}', '-p', 'reliability:=reliable']
    with WarmNode('pkm_identification', 'identification', arguments) as process:
        wait_for_node(tester.node, 'identification', tester.publisher)
        for early in ('identify', 'stop_recording', 'save'):
            answer = tester.call(early)
            assert not answer.success
            assert 'call' in answer.message

        assert tester.call('start_recording').success
        tester.send(srs, recording(srs, validation, 1), spoil=True)
        tester.wait_for_count('rejected messages', len(validation[0].time))
        answer = tester.call('stop_recording')
        assert not answer.success
        assert 'leg6_prismatic is not a finite number' in answer.message
        told = tester.diagnostics
        wait_for(lambda: any('not a finite number' in text for text in told), 'a diagnostic warning', spin=tester.node)

        for signals, role in ((excitation, 'identification'), (validation, 'validation')):
            answer = tester.call('start_recording')
            assert answer.success
            assert role in answer.message
            tester.send(srs, recording(srs, signals, 5))
            tester.wait_for_count('samples', len(signals[0].time))
            answer = tester.call('stop_recording')
            assert answer.success, answer.message
            assert f'{len(signals[0].time)} samples' in answer.message
        answer = tester.call('identify')
        assert answer.success, answer.message
        assert str(tmp_path / 'report.html') in answer.message
        assert str(tmp_path / 'overlay.yaml') in answer.message
        assert tester.call('save').success
        assert (tmp_path / 'validation.npz').exists()
        machine = load_machine('srs', tmp_path / 'overlay.yaml')
        assert machine.platform.mass == pytest.approx(srs.platform.mass, rel=0.01)
        assert process.stop() == 0


def test_refuses_a_wrong_parameter() -> None:
    """One line that names the parameter, no traceback, exit code 1."""
    with WarmNode('pkm_identification', 'identification', ['--ros-args', '-p', 'columns.friction:=some']) as process:
        assert process.wait() == 1
        assert 'friction' in process.output
        assert 'Traceback' not in process.output
