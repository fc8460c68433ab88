"""A foreign driver works by a settings file alone, live and from a bag, with the bits of the clean stream."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from pkm_description.machine import Machine
from pkm_estimation.bags import read_bag
from pkm_estimation.bags.messages import open_bag
from pkm_estimation.nodes import estimate as estimate_program
from pkm_estimation.offline.comparison import compare_with_live
from pkm_estimation.offline.estimate import estimate_recording
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.tuning.streams import SensorStreams
from pkm_identification.recording.bag_recordings import read_recording
from pkm_identification.recording.recording import Recording

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from foreign_driver import DRIVER, foreign_machine, write_clean_bag, write_foreign_bag
from nav_msgs.msg import Odometry
from node_processes import call_service, ros_domain, wait_for
from pkm_description.ros.conversions import nanoseconds
from pkm_description.ros.qos import RELIABLE_STREAM_QOS
from rclpy.node import Node
from std_srvs.srv import Trigger
from test_recorder_player import parameters
from warm_programs import WarmNode


class Recorded:
    """The driver's bag, the clean one, and what estimator and identification make of the clean one."""

    def __init__(self, folder: Path) -> None:
        self.machine: Machine = foreign_machine()
        self.foreign = write_foreign_bag(self.machine, folder / 'foreign')
        self.clean = write_clean_bag(self.machine, self.foreign, folder / 'clean')
        self.estimate: EstimationResult = estimate_recording(
            self.machine.as_converted, read_bag(self.clean, as_recorded=True)
        )
        self.recording: Recording = read_recording(self.machine.as_converted, self.clean)


@pytest.fixture(scope='module')
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp('foreign'))


def test_the_bag_is_foreign_in_all(recorded: Recorded) -> None:
    with open_bag(recorded.foreign) as bag:
        assert sorted(bag.topics) == ['/drives/state', '/xsens/imu']
    data = read_bag(recorded.foreign, driver=recorded.machine.driver)
    joints, imu = data.joint_states, data.imu_data_raw
    assert joints is not None and imu is not None
    actuators = [f'actuator_{number}' for number in (3, 2, 1, 6, 5, 4)]
    assert joints.names == ('gripper_left', *actuators, 'gripper_right')
    assert joints.positions[:, 1:-1].min() > 2000.0  # mm between the joints of a leg
    assert np.diff(joints.stamps).tolist() == [10_000_000] * (len(joints) - 1)
    assert imu.specific_force[:, 2].max() < 0.0  # gravity, in g


def test_from_a_bag_with_the_bits_of_the_clean_stream(recorded: Recorded) -> None:
    data = read_bag(recorded.foreign, as_recorded=True, driver=recorded.machine.driver)
    result = estimate_recording(recorded.machine, data)
    assert result.health.counters.get('unknown_joint', 0) == 0
    for name in ('stamps', 'position', 'orientation', 'pose_covariance', 'twist_covariance'):
        ours, clean = getattr(result.motion, name), getattr(recorded.estimate.motion, name)
        assert ours.tobytes() == clean.tobytes(), name
    recording = read_recording(recorded.machine, recorded.foreign)
    assert recording.drive_positions.tobytes() == recorded.recording.drive_positions.tobytes()
    assert recording.forces.tobytes() == recorded.recording.forces.tobytes()
    ours = SensorStreams.from_recording(recorded.machine, data)
    clean = SensorStreams.from_recording(recorded.machine.as_converted, read_bag(recorded.clean))
    assert ours.imu.tobytes() == clean.imu.tobytes()
    assert ours.drive_positions.tobytes() == clean.drive_positions.tobytes()


def test_without_the_settings_file_the_error_says_what_to_give(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    assert estimate_program.main([str(recorded.foreign)]) == 1
    assert '--joint-topic' in (told := capsys.readouterr().err) and '/drives/state' in told
    topics = ['--joint-topic', 'drives/state', '--imu-topic', '/xsens/imu']
    assert estimate_program.main([str(recorded.foreign), *topics]) == 1
    assert 'missing_joint' in capsys.readouterr().err


def test_settings_that_the_recorder_kept_are_found(
    recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = shutil.copytree(recorded.foreign, tmp_path / 'bag')
    shutil.copy(DRIVER, bag / 'driver.yaml')
    assert estimate_program.main([str(bag)]) == 0
    assert 'driver.yaml, kept with the recording' in capsys.readouterr().out
    assert estimate_program.main([str(bag), '--driver', 'standard']) == 1
    assert estimate_program.main([str(bag), '--machine', 'palida']) == 1
    assert 'this driver is for another machine' in capsys.readouterr().err


@pytest.mark.campaign
def test_live_with_the_bits_of_the_clean_stream(recorded: Recorded, tmp_path: Path) -> None:
    """Player, estimator, identification and recorder get one settings file; nothing else is said of the driver."""
    driver = {'driver': DRIVER, 'machine': 'srs'}
    live, results = tmp_path / 'live', tmp_path / 'identification'
    nodes = {
        'recorder': ('pkm_bringup', {'output': live, 'topics': '[joint_states, platform/odometry]'}),
        'estimator': ('pkm_estimation', {'reliability': 'reliable', 'baseline': 'false'}),
        'identification': ('pkm_identification', {'reliability': 'reliable', 'output_directory': results}),
    }
    with ros_domain():
        node = Node('test_foreign_driver')
        estimated: list[int] = []
        node.create_subscription(
            Odometry, 'platform/odometry', lambda one: estimated.append(nanoseconds(one.header.stamp)),
            RELIABLE_STREAM_QOS,
        )  # fmt: skip
        figures: dict[str, str] = {}
        node.create_subscription(
            DiagnosticArray, '/diagnostics',
            lambda one: figures.update({item.key: item.value for status in one.status for item in status.values}), 10,
        )  # fmt: skip
        started = {
            name: WarmNode(package, name, parameters(**driver, **values))
            for name, (package, values) in nodes.items()
        }
        with started['recorder'] as recorder, started['estimator'], started['identification'] as identification:
            assert 'recording for' in _call(node, 'identification/start_recording')
            played = {
                'bag': recorded.foreign, 'wait_for_subscribers': 100.0, 'wait_for_topics': '[joint_states]',
                'wait_for_nodes': [f'joint_states {name}' for name in nodes],
            }  # fmt: skip
            with WarmNode('pkm_bringup', 'player', parameters(**driver, **played)) as player:
                assert player.wait() == 0, player.output
                assert 'no subscriber' not in player.output
            # what the player has sent may still wait in the nodes
            last, count = recorded.estimate.motion.stamps[-1], len(recorded.recording.time)
            wait_for(lambda: estimated and estimated[-1] == last, 'the last estimate', spin=node)
            wait_for(lambda: figures.get('samples') == str(count), 'all samples', spin=node)
            told = _call(node, 'identification/stop_recording')
            assert f'{count} samples' in told and 'rejected' not in told, told
            _call(node, 'identification/identify')
            _call(node, 'identification/save')
            assert recorder.stop() == 0, recorder.output
            assert identification.returncode is None
        node.destroy_node()
    odometry = read_bag(live).require(read_bag(live).platform_odometry, 'platform/odometry')
    comparison = compare_with_live(recorded.estimate.motion, odometry)
    assert comparison.identical and comparison.recorded > 0.9 * len(recorded.estimate), comparison
    saved = np.load(next(results.rglob('identification.npz')))
    assert saved['drive_positions'].tobytes() == recorded.recording.drive_positions.tobytes()
    assert saved['forces'].tobytes() == recorded.recording.forces.tobytes()
    # the recorder keeps what the driver said, and the settings to read it by
    with open_bag(live) as bag, open_bag(recorded.foreign) as source:
        ours = [data for _, _, data in bag.read(['/drives/state'])]
        assert ours == [data for _, _, data in source.read(['/drives/state'])]
    assert (live / 'driver.yaml').read_text() == DRIVER.read_text()


def _call(node: Node, service: str) -> str:
    result = call_service(node, Trigger, service)
    assert result.success, (service, result)
    text: str = result.message
    return text
