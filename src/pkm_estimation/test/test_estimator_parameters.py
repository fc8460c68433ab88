"""Settings from a ROS parameter file: lists that are empty, full, or of something else."""

from __future__ import annotations

import pytest

rclpy = pytest.importorskip('rclpy')

from node_processes import ros_domain  # noqa: E402
from pkm_description.errors import PkmError  # noqa: E402
from pkm_description.ros.parameters import declare_settings  # noqa: E402
from pkm_estimation.stream import EstimatorConfig  # noqa: E402
from rclpy.node import Node  # noqa: E402


@pytest.fixture(scope='module', autouse=True)
def ros():
    with ros_domain():
        yield


def config_from(tmp_path, line):
    """Settings of a node that is given a parameter file with one line."""
    file = tmp_path / 'estimator.yaml'
    file.write_text(f'/**:\n  ros__parameters:\n    view_rate: 10.0\n    {line}\n')
    node = Node('estimator', cli_args=['--ros-args', '--params-file', str(file)])
    try:
        config = declare_settings(node, EstimatorConfig)
        assert node.describe_parameter('estimate').read_only
        assert node.get_parameter('estimate').value == list(config.estimate)
        return config
    finally:
        node.destroy_node()


@pytest.mark.parametrize(
    ('line', 'estimate'),
    [
        ('estimate: []', ()),
        ('q_scale: 1.0', ()),
        ('estimate: [imu_delay]', ('imu_delay',)),
        ("estimate: ['leg_offsets', 'imu_delay']", ('leg_offsets', 'imu_delay')),
    ],
)
def test_list_of_constants_to_estimate(tmp_path, line, estimate):
    """An empty list has no type of its own in ROS; it means the same as none."""
    assert config_from(tmp_path, line) == EstimatorConfig(estimate=estimate)


@pytest.mark.parametrize('value', ['imu_delay', '[1]', '[true]', "''"])
def test_what_is_no_list_of_names_is_refused_by_name(tmp_path, value):
    with pytest.raises(PkmError, match=r'parameter estimate \(constants to estimate.*STRING_ARRAY'):
        config_from(tmp_path, f'estimate: {value}')


def test_unknown_constant_is_refused_by_name(tmp_path):
    words = "parameter estimate = .*'imu_dely'.*: choose one of leg_offsets, imu_delay, imu_rotation, imu_position"
    with pytest.raises(PkmError, match=words):
        config_from(tmp_path, 'estimate: [imu_dely]')
