"""Launch files: every one can be read and evaluated; a recorded run is replayed through the estimator."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from pkm_estimation.bags import read_bag

pytest.importorskip('rclpy')

from launched_system import LaunchedSystem, has_real_launch, run_launch
from node_processes import ros_environment
from pkm_bringup.simulation import simulate
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_estimation.bags import BagWriter
from pkm_identification.pipeline import identify
from pkm_identification.recording.bag_recordings import read_recordings

DRY_RUN = '--print-description' if has_real_launch() else '--dry-run'
STARTED = {
    'simulation.launch.py': ['simulator'],
    'estimation.launch.py': ['estimator', 'state_publisher'],
    'identification.launch.py': ['identification'],
    'online_identification.launch.py': ['online_identification'],
    'replay.launch.py': ['estimator', 'player'],
    'demo.launch.py': ['simulator', 'estimator', 'identification', 'recorder', 'demo'],
}


def dry_run(file: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_launch(ros_environment(), file, *arguments, DRY_RUN)


@pytest.mark.parametrize('file', STARTED)
def test_every_launch_file_can_be_evaluated(file: str, tmp_path: Path) -> None:
    needed = {'replay.launch.py': ['bag:=/nowhere'], 'demo.launch.py': [f'output:={tmp_path / "new"}']}
    finished = dry_run(file, 'machine:=palida', 'namespace:=left', 'frame_prefix:=left/', *needed.get(file, []))
    assert finished.returncode == 0, finished.stdout + finished.stderr
    if not has_real_launch():  # the real one describes the actions without evaluating them
        for node in STARTED[file]:
            assert f'__node:={node}' in finished.stdout, finished.stdout
        commands = [line for line in finished.stdout.splitlines() if '__node:=' in line]
        assert all('__ns:=/left' in line for line in commands)
        # every node that is told its machine is told the names of its frames
        assert finished.stdout.count(' frame_prefix: left/') == finished.stdout.count(' machine: palida') > 0
    assert not (tmp_path / 'new').exists()


@pytest.mark.skipif(has_real_launch(), reason='ros2 launch cannot evaluate conditions without starting')
def test_several_robots_get_what_keeps_them_apart() -> None:
    printed = dry_run('several_robots.launch.py', 'robots:=a:srs b:palida c:srs', 'bag:=/nowhere', 'spacing:=4').stdout
    owners = [line.split()[-1] for line in printed.splitlines() if ' publish_clock: ' in line]
    assert owners == ['true', 'false', 'false']
    for name, place in (('a', '0 4 0 0 0 0'), ('b', '0 0 0 0 0 0'), ('c', '0 -4 0 0 0 0')):
        assert f'frame_prefix: {name}/' in printed and f'base_pose: {place}' in printed
        for node in ('simulator', 'estimator', 'state_publisher'):
            assert f'__node:={node} -r __ns:=/{name}' in printed
    assert printed.count('__node:=recorder') == 1
    refused = dry_run('several_robots.launch.py', 'robots:=a:srs a:palida')
    assert refused.returncode != 0 and 'expected name:machine' in refused.stdout + refused.stderr


@pytest.mark.skipif(has_real_launch(), reason='ros2 launch cannot evaluate conditions without starting')
def test_arguments_choose_what_is_started() -> None:
    plain = dry_run('simulation.launch.py').stdout
    assert (
        '__node:=leg_controller' not in plain
        and '__node:=recorder' not in plain
        and '__node:=motion_player' not in plain
    )
    chosen = dry_run('simulation.launch.py', 'controller:=effort', 'bag:=/tmp/nowhere', 'motion:=mp1').stdout
    for node in ('leg_controller', 'recorder', 'motion_player'):
        assert f'__node:={node}' in chosen
    assert 'state_publisher' not in dry_run('estimation.launch.py', 'state_publisher:=false').stdout
    assert 'force_markers' not in dry_run('estimation.launch.py').stdout
    assert 'joint_states:=platform/joint_states' in next(
        line for line in dry_run('estimation.launch.py', 'rviz:=true').stdout.splitlines() if 'force_markers' in line
    )


@pytest.mark.skipif(has_real_launch(), reason='ros2 launch prints no parameters without starting')
def test_simulator_and_listeners_are_told_one_driver() -> None:
    """The simulator plays the driver that the others read; who moves the platform has none."""
    printed = dry_run(
        'simulation.launch.py', 'driver:=/my/driver.yaml', 'joint_topic:=drives', 'imu_topic:=box/imu',
        'controller:=effort', 'bag:=/tmp/nowhere', 'motion:=mp1',
    ).stdout  # fmt: skip
    for node in ('simulator', 'leg_controller', 'recorder'):
        for text in ('driver: /my/driver.yaml', 'joint_topic: drives', 'imu_topic: box/imu'):
            assert re.search(rf'^\[{node}-\d+\] +{text}$', printed, re.MULTILINE), printed
    assert re.search(r'^\[motion_player-\d+\] +driver: standard$', printed, re.MULTILINE)


@pytest.mark.skipif(has_real_launch(), reason='ros2 launch prints no parameters without starting')
def test_replay_begins_when_the_recorder_hears_what_it_shall_record() -> None:
    printed = dry_run('replay.launch.py', 'bag:=/nowhere', 'record:=/tmp/nowhere', 'baseline:=true').stdout
    for topic in ('joint_states', 'imu/data_raw', 'platform/odometry', 'platform/baseline/odometry'):
        assert f'- {topic} recorder\n' in printed, printed


@pytest.mark.skipif(has_real_launch(), reason='ros2 launch prints no parameters without starting')
def test_servo_settings_are_passed_on() -> None:
    servo = dry_run('simulation.launch.py', 'feedforward:=rigid_body', 'force_limits:=100', 'trip_delay:=0').stdout
    assert all(text in servo for text in ('feedforward: rigid_body', "force_limits: '100'", 'trip_delay: 0.0'))
    assert 'stiffness' not in servo


@pytest.mark.parametrize(
    ('file', 'arguments', 'text'),
    [
        ('simulation.launch.py', ['storage:=tape'], 'tape'),
        ('simulation.launch.py', ['stiffness:=stiff'], 'stiffness:=stiff: must be a number'),
        ('simulation.launch.py', ['feedforward:=much'], 'much'),
        ('estimation.launch.py', ['rviz:=perhaps'], 'perhaps'),
        ('replay.launch.py', [], 'bag'),
    ],
)
def test_bad_arguments_are_refused(file: str, arguments: list[str], text: str) -> None:
    if has_real_launch():
        pytest.skip('ros2 launch checks arguments only when it starts')
    finished = dry_run(file, *arguments)
    assert finished.returncode != 0
    assert text in finished.stdout + finished.stderr


def test_an_output_that_exists_is_refused(tmp_path: Path) -> None:
    with LaunchedSystem(tmp_path / 'demo.log', 'demo.launch.py', f'output:={tmp_path}') as system:
        assert system.wait() != 0
        assert 'exists already' in system.output
        assert not system.survivors()


def test_a_launch_says_so_when_the_estimator_has_died_and_ends_when_the_simulator_has(tmp_path: Path) -> None:
    settings = tmp_path / 'estimator.yaml'
    settings.write_text('/**: {ros__parameters: {imu_delay: 1000.0}}\n', encoding='utf-8')
    told = 'machine:=srs', f'estimator_settings:={settings}'
    with LaunchedSystem(tmp_path / 'estimation.log', 'estimation.launch.py', *told) as system:
        system.wait_for_output('ERROR: the estimator has died: no estimate is published any more')
        assert system.process.poll() is None
    with LaunchedSystem(tmp_path / 'simulation.log', 'simulation.launch.py', 'machine:=srs', 'seed:=-1') as system:
        assert system.wait() != 0
        assert 'the simulator has died: there is no machine any more' in system.output


def simulated_bag(path: Path) -> Path:
    """Record a short simulated motion without any node, of a robot that is one of several."""
    machine = load_machine('srs')
    run = simulate(machine, profile('fourier', machine, 6.0, 50.0, 3), seed=1, pause=0.2)
    names = [joint.name for joint in machine.actuated_joints]
    with BagWriter(path, namespace='left') as bag:
        bag.write_joint_states(run.joint_stamps, names, run.joint_positions, run.joint_velocities, run.joint_efforts)
        bag.write_imu(run.imu_stamps, run.specific_force, run.angular_rate)
        truth = run.truth
        to_platform = truth.rotation_base_platform
        bag.write_odometry(
            run.truth_stamps,
            truth.position,
            quaternion_from_matrix(to_platform),
            np.einsum('nji,nj->ni', to_platform, truth.linear_velocity),
            np.einsum('nji,nj->ni', to_platform, truth.angular_velocity),
        )
    return path


def test_replay_estimates_and_identifies_a_recorded_run(tmp_path: Path) -> None:
    """In another namespace than recorded; the numbers are those of the same code without ROS."""
    source = simulated_bag(tmp_path / 'run')
    results = tmp_path / 'results'
    arguments = [
        f'bag:={source}', 'bag_namespace:=left', 'namespace:=cell/one', 'frame_prefix:=one/', 'rate:=2',
        'state_publisher:=false', 'baseline:=true', f'record:={tmp_path / "again"}',
        'check_robot:=true', 'identification:=true', 'excitation:=0.5 3.6', 'validation:=3.6 6.0', f'output:={results}',
    ]  # fmt: skip
    with LaunchedSystem(tmp_path / 'replay.log', 'replay.launch.py', *arguments) as system:
        assert system.wait(180.0) == 0, system.output
        assert 'end of the bag' in system.output
        assert 'all is well' in system.output, system.output
        assert 'Traceback' not in system.output, system.output
        assert 'no subscriber' not in system.output, system.output
        assert not system.survivors()
    required = ('joint_states', 'imu/data_raw', 'platform/odometry', 'baseline/odometry')
    again = read_bag(tmp_path / 'again', 'cell/one', required)
    assert again.warnings == ()
    assert again.topics['/cell/one/platform/baseline/odometry'] > 0.9 * again.topics['/cell/one/joint_states']
    before = read_bag(source, 'left')
    np.testing.assert_array_equal(again.streams['joint_states'].positions, before.streams['joint_states'].positions)
    estimate, truth = again.platform_odometry, before.ground_truth
    assert estimate is not None and truth is not None
    assert (estimate.frame, estimate.child_frame) == ('one/base_link', 'one/platform_link')
    _, ours, theirs = np.intersect1d(estimate.stamps, truth.stamps, return_indices=True)
    assert len(ours) > 0.9 * len(truth)
    assert np.abs(estimate.position[ours] - truth.position[theirs]).max() < 1e-3

    machine = load_machine('srs')
    expected = identify(machine, *read_recordings(machine, source, [(0.5, 3.6), (3.6, 6.0)], 'left'))
    found = yaml.safe_load((results / 'parameters.yaml').read_text())['base_parameters']
    assert [row['value'] for row in found] == expected.estimate.parameters.tolist()
    assert [row['std'] for row in found] == expected.estimate.std.tolist()
    for file in ('report.html', 'overlay.yaml', 'validation.npz'):
        assert (results / file).exists()
