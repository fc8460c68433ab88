"""Two simulated robots side by side, estimated and identified live; then a bag of both, each replayed by itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from launched_system import LaunchedSystem
from nav_msgs.msg import Odometry
from node_processes import call_service, ros_domain, wait_for
from pkm_description.loading import load_machine
from pkm_description.ros.conversions import nanoseconds
from pkm_description.ros.qos import LATCHED_QOS
from pkm_estimation.bags import RecordedData, read_bag
from pkm_estimation.offline.comparison import compare_with_live
from pkm_estimation.offline.estimate import estimate_recording
from pkm_estimation.stream import EstimatorConfig
from rclpy.node import Node
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

#: names, namespaces and frames of one robot that is one of several: test_launch_files
pytestmark = pytest.mark.campaign

ROBOTS = {'left': 'srs', 'right': 'palida'}

#: s of the recordings, at least: the campaign, which identifies the robots too, needs longer ones
LENGTH, LONGER = 3.0, 5.0


class Observer(Node):
    """Hears what all robots share, and how far each of them is."""

    def __init__(self, identifies: bool) -> None:
        super().__init__('observer')
        self.identifies = identifies
        self.parents: dict[str, set[str]] = {}
        self.diagnosed: dict[str, set[str]] = {}
        self.estimated: dict[str, list[float]] = {name: [] for name in ROBOTS}
        self.create_subscription(TFMessage, '/tf', self._take_frames, 100)
        self.create_subscription(TFMessage, '/tf_static', self._take_frames, LATCHED_QOS)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._take_diagnostics, 100)
        for name, stamps in self.estimated.items():
            self.create_subscription(
                Odometry,
                f'/{name}/platform/odometry',
                lambda one, stamps=stamps: stamps.append(nanoseconds(one.header.stamp) * 1e-9),
                100,
            )

    def _take_frames(self, message: TFMessage) -> None:
        for one in message.transforms:
            self.parents.setdefault(one.child_frame_id, set()).add(one.header.frame_id)

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.diagnosed.setdefault(status.name, set()).add(status.hardware_id)

    def wait_for_listeners(self) -> None:
        """Wait until nothing that is sent is lost."""
        listeners = {
            'joint_states': {'estimator', 'recorder'} | ({'identification'} if self.identifies else set()),
            'imu/data_raw': {'estimator', 'recorder'},
            'platform/odometry': {'recorder'},
            'ground_truth/odometry': {'recorder'},
        }
        for topic, nodes in ((f'/{name}/{topic}', nodes) for name in ROBOTS for topic, nodes in listeners.items()):
            wait_for(
                lambda topic=topic, nodes=nodes: nodes
                <= {item.node_name for item in self.get_subscriptions_info_by_topic(topic)},
                f'{nodes} on {topic}', spin=self,
            )  # fmt: skip

    @property
    def parts(self) -> tuple[str, ...]:
        """What every robot has diagnostics of."""
        identification = ('identification: identification',) if self.identifies else ()
        return ('estimator: filter', 'simulator: physics', *identification)

    def lacks(self) -> set[str]:
        """Frames and diagnostics that the tests below look at and that have not been heard yet."""
        frames = ('platform_link', 'base_link', 'leg1_rod', 'imu_link')
        wanted = {f'{name}/{frame}' for name in ROBOTS for frame in frames}
        diagnosed = {f'/{name}/{part}' for name in ROBOTS for part in self.parts}
        return wanted - set(self.parents) | diagnosed - set(self.diagnosed)

    def call(self, service: str) -> Trigger.Response:
        return call_service(self, Trigger, service)


def switch_off(system: LaunchedSystem, count: int) -> None:
    """End so many simulators; the other nodes run on."""
    simulators = [pid for pid, command in system.survivors(0.0).items() if '/pkm_bringup/simulator' in command]
    assert len(simulators) == count
    for pid in simulators:
        os.kill(pid, signal.SIGINT)
    wait_for(lambda: not set(simulators) & set(system.survivors(0.0)), 'the end of the simulators')


@pytest.fixture(scope='module')
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Observer]]:
    """Folder with a bag of both robots, and what was heard meanwhile; parameter: whether they are identified, too."""
    folder, identifies = tmp_path_factory.mktemp('several'), getattr(request, 'param', False)
    length = LONGER if identifies else LENGTH
    arguments = [
        'robots:=' + ' '.join(f'{name}:{machine}' for name, machine in ROBOTS.items()), 'motion:=fourier',
        'motion_duration:=8.0', 'real_time_factor:=0.8', 'reliability:=reliable',
        f'identification:={str(identifies).lower()}',
        f'output:={folder / "results"}',
        f'bag:={folder / "bag"}', 'start_paused:=true',
    ]  # fmt: skip
    with ros_domain():
        observer = Observer(identifies)
        with LaunchedSystem(folder / 'launch.log', 'several_robots.launch.py', *arguments) as system:
            observer.wait_for_listeners()
            for name in ROBOTS if identifies else ():
                assert observer.call(f'/{name}/identification/start_recording').success
            for name in ROBOTS:
                assert observer.call(f'/{name}/simulator/start').success

            def long_enough() -> bool:
                assert system.process.poll() is None, system.output
                return all(stamps and stamps[-1] - stamps[0] > length for stamps in observer.estimated.values())

            wait_for(long_enough, f'{length} s of estimates of both robots', spin=observer)
            wait_for(lambda: not observer.lacks(), 'frames and diagnostics of both robots', spin=observer)
            switch_off(system, len(ROBOTS))  # or the bag would grow while the robots are identified
            for name in ROBOTS if identifies else ():
                answer = observer.call(f'/{name}/identification/identify')
                assert answer.success, answer.message
            system.interrupt()
            assert system.wait() == 0, system.output
            assert 'Traceback' not in system.output, system.output
        yield folder, observer
        observer.destroy_node()


def test_frames_of_both_robots_are_in_one_tree(run: tuple[Path, Observer]) -> None:
    _, observer = run
    assert all(len(parents) == 1 for parents in observer.parents.values()), observer.parents
    for name in ROBOTS:
        assert observer.parents[f'{name}/platform_link'] == {f'{name}/base_link'}
        assert observer.parents[f'{name}/base_link'] == {'world'}
        assert f'{name}/leg1_rod' in observer.parents and f'{name}/imu_link' in observer.parents
    assert {frame.partition('/')[0] for frame in observer.parents} == set(ROBOTS)


def test_diagnostics_of_both_robots_are_told_apart(run: tuple[Path, Observer]) -> None:
    _, observer = run
    for name in ROBOTS:
        for part in observer.parts:
            assert observer.diagnosed[f'/{name}/{part}'] == {f'/{name}/{part.partition(":")[0]}'}
    owners = {status.partition(':')[0] for status in observer.diagnosed}
    assert owners - {'/recorder'} == {owner for owner in owners if owner.split('/')[1] in ROBOTS}
    # one clock, and only frames of their own
    assert not [status for status in observer.diagnosed if status.endswith((': clock', ': frames'))]


@pytest.fixture(scope='module')
def recorded(run: tuple[Path, Observer]) -> dict[str, RecordedData]:
    """What the one bag holds of each robot."""
    needed = ('joint_states', 'imu/data_raw', 'platform/odometry', 'ground_truth/odometry')
    return {name: read_bag(run[0] / 'bag', name, needed) for name in ROBOTS}


def until_a_sample_is_lost(data: RecordedData) -> int:
    """Last stamp [ns] up to which every sample is there."""
    ends = []
    for stream in (data.joint_states, data.imu_data_raw):
        assert stream is not None
        steps = np.diff(stream.stamps)
        whole = np.append(steps == steps.min(), False)
        ends.append(int(stream.stamps[np.argmin(whole)]))
    return min(ends)


@pytest.mark.parametrize('name', ROBOTS)
def test_each_is_estimated_as_if_it_were_alone(recorded: dict[str, RecordedData], name: str) -> None:
    """Bit for bit what the estimator makes of this robot's samples without ROS and without the other robot."""
    data = recorded[name]
    live, truth = data.platform_odometry, data.ground_truth
    assert live is not None and truth is not None and data.imu_data_raw is not None
    assert (live.frame, live.child_frame) == (f'{name}/base_link', f'{name}/platform_link')
    assert (truth.frame, data.imu_data_raw.frame) == (f'{name}/base_link', f'{name}/imu_link')
    machine = load_machine(ROBOTS[name])
    alone = estimate_recording(machine, data, EstimatorConfig(), int(live.stamps[0]))
    comparison = compare_with_live(alone.motion, live)
    # a computer that is busy with other things may lose samples of the recording, and estimates after that
    assert comparison.identical or live.stamps[comparison.reproduced] > until_a_sample_is_lost(data), comparison
    assert comparison.reproduced > 0.8 * LENGTH * machine.leg_sensors.rate, comparison
    _, ours, theirs = np.intersect1d(live.stamps, truth.stamps, return_indices=True)
    assert len(ours) > 0.9 * len(live)
    assert np.ptp(truth.position, axis=0).max() > 0.02  # it did move
    whole = live.stamps[ours] <= until_a_sample_is_lost(data)
    assert np.abs(live.position[ours] - truth.position[theirs])[whole].max() < 1e-3


def test_both_machines_have_the_same_time(recorded: dict[str, RecordedData]) -> None:
    both = [data.joint_states for data in recorded.values()]
    stamps = [states.stamps for states in both if states is not None]
    assert len(np.intersect1d(*stamps)) > 100
    assert stamps[1][0] < LENGTH * 1e9  # the second one began when the first one did


@pytest.mark.parametrize('run', [True], indirect=True)
@pytest.mark.parametrize('name', ROBOTS)
def test_each_is_identified_by_itself(run: tuple[Path, Observer], name: str) -> None:
    results = run[0] / 'results' / name
    assert yaml.safe_load((results / 'overlay.yaml').read_text())['overlay']['machine'] == ROBOTS[name]


def test_a_bag_of_both_is_replayed_robot_by_robot(
    run: tuple[Path, Observer], recorded: dict[str, RecordedData], tmp_path: Path
) -> None:
    """At the same time: one sets the clock; what comes out is what the bag gives without ROS."""
    systems = {}
    try:
        for number, (name, machine) in enumerate(ROBOTS.items()):
            arguments = [
                f'bag:={run[0] / "bag"}', f'machine:={machine}', f'namespace:={name}', f'frame_prefix:={name}/',
                f'record:={tmp_path / name}', f'publish_clock:={str(number == 0).lower()}',
                'state_publisher:=false',
            ]  # fmt: skip
            systems[name] = LaunchedSystem(tmp_path / f'{name}.log', 'replay.launch.py', *arguments)
        for system in systems.values():
            assert system.wait() == 0, system.output
            assert 'no subscriber' not in system.output and 'Traceback' not in system.output, system.output
    finally:
        for system in systems.values():
            system.__exit__(None, None, None)
    for name, machine in ROBOTS.items():
        replayed = read_bag(tmp_path / name, name, ('platform/odometry',)).platform_odometry
        expected = estimate_recording(load_machine(machine), recorded[name], EstimatorConfig()).motion
        assert replayed is not None
        # a computer that is busy with other things may lose samples, but not in the first seconds
        count = min(len(replayed), len(expected))
        same = np.append(replayed.stamps[:count] == expected.stamps[:count], False)
        until = int(np.argmin(same))
        assert until > 0.5 * LENGTH * load_machine(machine).leg_sensors.rate
        np.testing.assert_array_equal(replayed.position[:until], expected.position[:until])
