"""Simulator, leg controller and bridge under one driver's settings; a player that converts."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from foreign_driver import DRIVER, foreign_machine, write_clean_bag, write_foreign_bag
from node_processes import ros_domain, wait_for
from pkm_description.joint_states import JointStateReader
from pkm_estimation.bags import read_bag
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray
from test_recorder_player import parameters
from warm_programs import WarmNode

QOS = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)


def test_the_loop_closes_in_the_drivers_own_terms() -> None:
    """The controller reads mm and commands amperes, the simulated drives take them; the bridge says the same in SI."""
    machine = foreign_machine()
    heard: dict[str, list] = defaultdict(list)
    with ros_domain():
        node = Node('test_driver_nodes')
        for topic, kind in (
            ('drives/state', JointState), ('/xsens/imu', Imu), ('joint_states', JointState), ('imu/data_raw', Imu),
            ('leg_effort_controller/commands', Float64MultiArray),
        ):  # fmt: skip
            node.create_subscription(kind, topic, heard[topic].append, QOS)
        given = parameters(machine='srs', driver=DRIVER)
        with (
            WarmNode('pkm_bringup', 'leg_controller', given) as controller,
            WarmNode('pkm_description', 'driver_bridge', given) as bridge,
        ):
            controller.wait_for_output('per drive')
            bridge.wait_for_output('drives/state and /xsens/imu')
            # slowly: on a busy computer the commands come late, and what is late moves less at this pace
            simulated = parameters(
                machine='srs', driver=DRIVER, controller='effort', noise='false', real_time_factor=0.4
            )
            with WarmNode('pkm_bringup', 'simulator', simulated):
                wait_for(lambda: len(heard['leg_effort_controller/commands']) > 100, 'commands', spin=node)
                # each subscription finds its publisher in its own time: wait for every topic that is read below
                topics = ('imu/data_raw', 'joint_states', 'drives/state', '/xsens/imu')
                wait_for(lambda: all(heard[topic] for topic in topics), 'both forms of both streams', spin=node)
        node.destroy_node()
    told = heard['drives/state'][-1]
    assert list(told.name) == [machine.driver.joint_names[drive] for drive in machine.driver.order]
    home = machine.home_positions[machine.drive_columns]
    read = JointStateReader.of_drives(machine).order(told.name)
    # it stands where it began: the controller holds it by the currents that it commands
    np.testing.assert_allclose(read.complete(told.position), home, atol=5e-3)
    amperes = np.array(heard['leg_effort_controller/commands'][-1].data)
    assert 5.0 < np.abs(amperes).min() < np.abs(amperes).max() < 12.0 and amperes.max() < 0.0  # 5 to 7 kN each
    converted = heard['joint_states'][-1]
    assert tuple(converted.name) == machine.actuated_joint_names
    np.testing.assert_allclose(converted.position, home, atol=5e-3)
    assert min(converted.effort) > 4000.0
    force = heard['imu/data_raw'][-1].linear_acceleration
    assert abs(force.z - 9.80665) < 0.5 and heard['/xsens/imu'][-1].linear_acceleration.z < -0.9


def test_a_player_that_converts_publishes_the_clean_streams(tmp_path: Path) -> None:
    machine = foreign_machine()
    foreign = write_foreign_bag(machine, tmp_path / 'foreign')
    clean = write_clean_bag(machine, foreign, tmp_path / 'clean')
    recording = parameters(output=tmp_path / 'copy', topics='[joint_states, imu/data_raw]')
    with ros_domain(), WarmNode('pkm_bringup', 'recorder', recording) as recorder:
        recorder.wait_for_output('recording to')
        played = parameters(
            machine='srs', driver=DRIVER, bag=foreign, convert='true', rate=4.0, wait_for_subscribers=100.0
        )
        with WarmNode('pkm_bringup', 'player', played) as player:
            assert player.wait() == 0, player.output
        assert recorder.stop() == 0, recorder.output
    ours, expected = read_bag(tmp_path / 'copy'), read_bag(clean)
    assert set(ours.topics) == {'/imu/data_raw', '/joint_states'}
    for stream in ('joint_states', 'imu_data_raw'):
        for name, values in vars(getattr(expected, stream)).items():
            if isinstance(values, np.ndarray) and name != 'recorded_at':
                assert getattr(getattr(ours, stream), name).tobytes() == values.tobytes(), (stream, name)


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        ({}, 'there is nothing to convert; name a settings file'),
        ({'driver': DRIVER, 'joint_topic': 'joint_states'}, "give the parameter output_prefix, e.g. 'standard/'"),
    ],
)
def test_a_bridge_without_work_ends_with_one_line(given: dict, words: str) -> None:
    with WarmNode('pkm_description', 'driver_bridge', parameters(machine='srs', **given)) as bridge:
        assert bridge.wait() == 1
        assert words in bridge.output and 'Traceback' not in bridge.output
