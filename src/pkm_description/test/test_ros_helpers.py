"""The shared helpers of the nodes: stamps, conversions, parameters, diagnostics, transforms, machines."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy')

from node_processes import NodeProcess, ros_domain, wait_for
from pkm_description.errors import ConfigurationError, MachineFileError
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import machine_file
from pkm_description.ros import conversions
from pkm_description.ros.conversions import nanoseconds, stamp
from pkm_description.ros.diagnostics import Level, LostMessages, diagnostic_array
from pkm_description.ros.frames import StaticTransformBroadcaster, TransformBroadcaster
from pkm_description.ros.node_main import warn_of_unknown_parameters
from pkm_description.ros.parameters import ParameterError, current_settings, declare, declare_machine, declare_settings
from pkm_description.ros.qos import LATCHED_QOS, RELIABLE_STREAM_QOS, SENSOR_QOS, declare_stream_qos
from pkm_description.settings import Settings, setting
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSCompatibility, QoSProfile, ReliabilityPolicy, qos_check_compatible
from scipy.spatial.transform import Rotation
from tf2_msgs.msg import TFMessage


@dataclass(frozen=True)
class Loop(Settings):
    """Settings of a node."""

    rate: float = setting(10.0, 'how often [Hz]', 1.0, 100.0)
    law: str = setting('viscous', 'which law', choices=('viscous', 'dry'))
    names: tuple[str, ...] = setting([], 'which ones')


@pytest.fixture(scope='module')
def ros() -> Iterator[None]:
    with ros_domain():
        yield


@contextmanager
def _node(**overrides: Any) -> Iterator[Node]:
    parameters = [Parameter(name, value=value) for name, value in overrides.items()]
    node = Node('helped', parameter_overrides=parameters, start_parameter_services=False)
    try:
        yield node
    finally:
        node.destroy_node()


@pytest.mark.parametrize('time_ns', [0, 1, 999_999_999, 10**9, 1_795_000_000_123_456_789])
def test_stamps_keep_every_nanosecond(time_ns: int) -> None:
    assert nanoseconds(stamp(time_ns)) == time_ns
    assert 0 <= stamp(time_ns).nanosec < 10**9


def test_vectors_and_points_come_back() -> None:
    values = np.array([0.1, -2.0, 3e-17])
    assert conversions.array3(conversions.vector3(values)).tolist() == values.tolist()
    assert conversions.array3(conversions.point(values)).tolist() == values.tolist()


def test_quaternions_are_those_of_scipy_with_positive_scalar() -> None:
    for rotation in rotation_exp(np.random.default_rng(1).normal(size=(20, 3))):
        values = conversions.array4(conversions.quaternion_of_rotation(rotation))
        expected = Rotation.from_matrix(rotation).as_quat()
        assert values == pytest.approx(expected * np.sign(expected[3]), abs=1e-14)


def test_transform_has_all_parts() -> None:
    rotation = rotation_exp(np.array([0.1, -0.2, 0.3]))
    message = conversions.transform_stamped(1_500_000_000, 'base_link', 'platform_link', [1.0, 2.0, 3.0], rotation)
    assert (message.header.frame_id, message.child_frame_id) == ('base_link', 'platform_link')
    assert nanoseconds(message.header.stamp) == 1_500_000_000
    assert conversions.array3(message.transform.translation).tolist() == [1.0, 2.0, 3.0]
    turned = Rotation.from_quat(conversions.array4(message.transform.rotation)).as_matrix()
    assert turned == pytest.approx(rotation, abs=1e-14)


def test_streams_serve_reliable_and_best_effort_subscribers() -> None:
    for subscriber in (SENSOR_QOS, RELIABLE_STREAM_QOS):
        assert qos_check_compatible(RELIABLE_STREAM_QOS, subscriber)[0] != QoSCompatibility.ERROR
    # the test sees a difference: a best-effort publisher would not serve a reliable subscriber
    assert qos_check_compatible(SENSOR_QOS, RELIABLE_STREAM_QOS)[0] == QoSCompatibility.ERROR
    assert qos_check_compatible(LATCHED_QOS, LATCHED_QOS)[0] != QoSCompatibility.ERROR
    assert qos_check_compatible(RELIABLE_STREAM_QOS, LATCHED_QOS)[0] == QoSCompatibility.ERROR


def test_a_node_chooses_how_reliable_its_streams_are(ros: None) -> None:
    best_effort_publisher = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    for overrides, connects in (({}, True), ({'reliability': 'reliable'}, False)):
        with _node(**overrides) as node:
            chosen = declare_stream_qos(node)
            assert (qos_check_compatible(best_effort_publisher, chosen)[0] != QoSCompatibility.ERROR) is connects
            assert node.describe_parameter('reliability').read_only
    told = "reliability = 'mostly': choose one of best_effort, reliable"
    with _node(reliability='mostly') as node, pytest.raises(ParameterError, match=told):
        declare_stream_qos(node)


def test_diagnostics_name_node_part_and_values() -> None:
    statuses = {'filter': (Level.WARN, 'slow', {'rate [Hz]': 99.123456789, 'count': 3, 'leg': 'leg2'})}
    array = diagnostic_array('/left/estimator', statuses, 2_000_000_001)
    status = array.status[0]
    assert nanoseconds(array.header.stamp) == 2_000_000_001
    assert (status.name, status.message, status.hardware_id) == ('/left/estimator: filter', 'slow', '/left/estimator')
    assert status.level == type(status).WARN
    assert {pair.key: pair.value for pair in status.values} == {'rate [Hz]': '99.1235', 'count': '3', 'leg': 'leg2'}


def test_declared_parameters_are_described(ros: None) -> None:
    with _node(rate=25.0) as node:
        assert declare(node, 'rate', 10.0, 'how often, Hz', (1.0, 100.0), read_only=True) == 25.0
        assert declare(node, 'count', 3, 'how many', (1, 5)) == 3
        assert declare(node, 'law', 'viscous', 'which law', choices=['viscous', 'coulomb']) == 'viscous'
        rate, count, law = (node.describe_parameter(name) for name in ('rate', 'count', 'law'))
        assert isinstance(rate, ParameterDescriptor)
        assert (rate.description, rate.read_only) == ('how often, Hz', True)
        assert (rate.floating_point_range[0].from_value, rate.floating_point_range[0].to_value) == (1.0, 100.0)
        assert (count.integer_range[0].from_value, count.integer_range[0].to_value) == (1, 5)
        assert law.additional_constraints == 'one of: viscous, coulomb'


@pytest.mark.parametrize(
    ('value', 'default', 'limits', 'choices', 'words'),
    [
        (200.0, 10.0, (1.0, 100.0), None, 'parameter it (what it is) must be float in [1.0, 100.0]'),
        ('fast', 10.0, (1.0, 100.0), None, 'parameter it (what it is) must be float'),
        (7, 3, (1, 5), None, 'parameter it (what it is) must be int in [1, 5]'),
        (1.5, 'text', None, None, 'parameter it (what it is) must be str'),
        ('dry', 'viscous', None, ['viscous', 'coulomb'], "parameter it = 'dry': choose one of viscous, coulomb"),
    ],
)
def test_wrong_parameters_are_named(
    ros: None, value: Any, default: Any, limits: Any, choices: list[str] | None, words: str
) -> None:
    with _node(it=value) as node, pytest.raises(ParameterError, match=re.escape(words)):
        declare(node, 'it', default, 'what it is', limits, choices=choices)


def test_given_parameters_that_a_node_does_not_have_are_told_with_the_nearest_name(ros: None) -> None:
    with _node(rat=1.0, entirely_else='x', machine='palida', stiffness=2.0) as node:
        node.parameters_of_others = {'stiffness'}  # type: ignore[attr-defined]
        declare(node, 'rate', 10.0, 'how often, Hz')
        assert warn_of_unknown_parameters(node) == [
            "parameter entirely_else = 'x' is ignored: helped has none of this name",
            'parameter rat = 1.0 is ignored: helped has none of this name; did you mean rate?',
        ]


def test_settings_that_may_be_written_are_read_again(ros: None) -> None:
    with _node() as node:
        assert declare_settings(node, Loop, writable=('rate', 'names')) == Loop()
        set_ = [node.set_parameters([Parameter(name, value=value)])[0].successful for name, value in (
            ('rate', 5.0), ('rate', -1.0), ('law', 'dry'), ('names', ['a', 'b']))]  # fmt: skip
        assert set_ == [True, False, False, True]
        assert current_settings(node, Loop) == Loop(rate=5.0, names=('a', 'b'))
        assert current_settings(node, Loop, [Parameter('rate', value=6.0)]).rate == 6.0
        with pytest.raises(ConfigurationError, match='rate = 1000'):
            current_settings(node, Loop, [Parameter('rate', value=1000.0)])


def test_a_node_is_told_its_machine_by_name_file_and_overlay(ros: None, tmp_path: Path) -> None:
    overlay = tmp_path / 'overlay.yaml'
    overlay.write_text('overlay: {machine: palida}\nplatform: {body: {mass: 8.5}}\n')
    for given, name, mass in (
        ({}, 'srs', 3000.0),
        ({'machine': 'palida'}, 'palida', 8.0),
        ({'machine': 'srs', 'machine_file': str(machine_file('palida')), 'overlay': str(overlay)}, 'palida', 8.5),
    ):
        with _node(**given) as node:
            machine = declare_machine(node)
        assert (machine.name, machine.platform.mass) == (name, mass)
    with _node(machine='palida', overlay='/nowhere.yaml') as node, pytest.raises(MachineFileError, match='/nowhere'):
        declare_machine(node)


def test_transforms_reach_tf_and_static_ones_late_listeners(ros: None) -> None:
    frames = [
        conversions.transform_stamped(index, 'base_link', f'frame{index}', [0.0, 0.0, float(index)], np.eye(3))
        for index in range(4)
    ]
    heard: dict[str, list[TFMessage]] = {'/tf': [], '/tf_static': []}
    with _node() as node:
        static, moving = StaticTransformBroadcaster(node), TransformBroadcaster(node)
        static.sendTransform(frames[0])
        static.sendTransform([frames[1]])
        node.create_subscription(TFMessage, '/tf', heard['/tf'].append, 10)
        node.create_subscription(TFMessage, '/tf_static', heard['/tf_static'].append, LATCHED_QOS)

        def arrived() -> bool:
            moving.sendTransform(frames[2:])
            # the late listener gets what was kept one by one
            return bool(heard['/tf'] and heard['/tf_static']) and len(heard['/tf_static'][-1].transforms) == 2

        wait_for(arrived, 'transforms', spin=node)
    assert [one.child_frame_id for one in heard['/tf'][0].transforms] == ['frame2', 'frame3']
    assert [one.child_frame_id for one in heard['/tf_static'][-1].transforms] == ['frame0', 'frame1']


def test_waiting_ends_and_says_for_what() -> None:
    with pytest.raises(TimeoutError, match='the impossible did not come within'):
        wait_for(lambda: False, 'the impossible', timeout=0.05)


def test_a_process_that_ends_early_is_reported_with_its_output() -> None:
    with NodeProcess('pkm_description', 'inspect_machine', ['nothing']) as process:
        with pytest.raises(RuntimeError, match="no machine 'nothing' and no such file"):
            process.wait_for_output('base parameters')
        assert process.returncode == 1


class Stuck(NodeProcess):
    """A program that ignores SIGINT, for ever in one place."""

    def _start(self, words: Sequence[str], log: str) -> subprocess.Popen:
        lines = [
            'import signal, time',
            'def stands_here():',
            '    time.sleep(1000)',
            'signal.signal(signal.SIGINT, signal.SIG_IGN)',
            'print("ready")',
            'stands_here()',
        ]
        return super()._start([sys.executable, '-c', '\n'.join(lines)], log)


def test_a_node_that_does_not_end_says_where_it_hangs() -> None:
    with Stuck('pkm_description', 'state_publisher') as node:
        node.wait_for_output('ready')
        assert node.stop(0.2) == -signal.SIGABRT
        assert 'in stands_here' in node.output


def info(number, publisher=b'one'):
    return {'publication_sequence_number': number, 'publisher_gid': {'data': publisher}}


@pytest.mark.parametrize(
    ('told', 'lost'),
    [
        ([info(7), info(8), info(11), info(12)], [0, 0, 2, 0]),
        # each publisher by itself, and nobody knows what was before
        ([info(5), info(100, b'other'), info(7), info(101, b'other')], [0, 0, 1, 0]),
        ([info(5), info(4), info(5), info(6), info(8)], [0, 0, 0, 0, 1]),  # what comes again
        ([{}, info(None)], [0, 0]),  # without numbers
    ],
)
def test_what_is_missing_between_two_messages_of_a_publisher_is_lost(told, lost):
    numbers = LostMessages()
    assert [numbers.before(one) for one in told] == lost


def test_the_memory_of_publishers_is_bounded():
    numbers = LostMessages()
    for k in range(1000):
        assert numbers.before(info(1, str(k).encode())) == 0
    assert len(numbers._last) <= 64
