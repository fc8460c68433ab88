"""The nodes simulator, leg_controller and motion_player as real processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from changed_machines import translation
from description_listener import Listener
from nav_msgs.msg import Odometry
from node_processes import call_service, ros_domain, wait_for_node
from pkm_bringup.ros.reference_message import KNOT_RATE, message_from_motion, motion_from_message
from pkm_bringup.simulation import simulate
from pkm_description.dynamics import gravity_forces
from pkm_description.kinematics import joint_motion
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion
from pkm_description.motion.profiles import profile
from pkm_description.motion.recorded_poses import QUATERNION_COLUMNS
from pkm_description.ros.conversions import nanoseconds, stamp
from pkm_description.ros.frames import Frames
from pkm_description.ros.qos import LATCHED_QOS, REFERENCE_QOS
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory
from warm_programs import started

MACHINE = load_machine('palida')
FRAMES = Frames(MACHINE)
NAMES = [f'leg{i}_prismatic' for i in range(1, 7)]
REST = PlatformMotion.at_rest(MACHINE.home.position, MACHINE.home.rotation_base_platform)
HOME = joint_motion(MACHINE, REST).positions[0, MACHINE.drive_columns]


@pytest.fixture
def listener() -> Iterator[Listener]:
    with ros_domain():
        node = Listener()
        yield node
        node.destroy_node()


_start = partial(started, 'pkm_bringup')


def _stamps(messages: list[Any]) -> np.ndarray:
    return np.array([nanoseconds(message.header.stamp) for message in messages])


def test_simulator_publishes_a_machines_topics_at_their_rates(listener: Listener) -> None:
    listener.hear(Imu, 'imu/data_raw')
    listener.hear(Odometry, 'ground_truth/odometry')
    listener.hear(Clock, '/clock')
    with _start('simulator') as simulator:
        for topic in ('joint_states', 'imu/data_raw', 'ground_truth/odometry', '/clock'):
            listener.wait_messages(topic, 60)
        listener.wait(
            lambda: listener.diagnosed('running') or listener.diagnosed('slower than asked: real-time factor'),
            'diagnostics',
        )
        assert simulator.stop() == 0
    for topic, rate in (('joint_states', MACHINE.leg_sensors.rate), ('imu/data_raw', MACHINE.imu.rate)):
        assert set(np.diff(_stamps(listener.heard[topic]))) == {round(1e9 / rate)}
    joints, imu = listener.heard['joint_states'][0], listener.heard['imu/data_raw'][0]
    assert list(joints.name) == NAMES
    assert len(joints.position) == len(joints.velocity) == len(joints.effort) == 6
    assert np.all(np.array(joints.effort) > 1.0)  # the drives carry the platform
    assert imu.header.frame_id == MACHINE.imu.frame
    assert imu.orientation_covariance[0] == -1.0
    assert imu.linear_acceleration_covariance[0] == pytest.approx(MACHINE.imu.accelerometer_noise[0] ** 2)
    truth = listener.heard['ground_truth/odometry'][0]
    assert (truth.header.frame_id, truth.child_frame_id) == ('base_link', 'platform_link')
    assert truth.pose.pose.position.z == pytest.approx(MACHINE.home.position[2], abs=1e-4)


def test_simulator_waits_for_start_pauses_and_repeats_the_pure_simulation_bit_for_bit(
    listener: Listener,
) -> None:
    message = message_from_motion(profile('fourier', MACHINE, 8.0, KNOT_RATE, seed=4), 10**9, FRAMES)
    reference = listener.create_publisher(MultiDOFJointTrajectory, 'platform/reference', REFERENCE_QOS)
    listener.hear(Imu, 'imu/data_raw')
    with _start('simulator', start_paused=True, seed=7, real_time_factor=3.0) as simulator:
        listener.wait(lambda: listener.diagnosed('paused'), 'diagnostics of the paused simulator')
        wait_for_node(listener, 'simulator', reference)
        reference.publish(message)
        simulator.wait_for_output('reference of ')
        assert listener.heard['joint_states'] == []
        assert call_service(listener, Trigger, 'simulator/start').success
        listener.wait_messages('joint_states', 100)
        assert call_service(listener, Trigger, 'simulator/pause').message == 'paused'
        listener.heard['/diagnostics'].clear()
        listener.wait(lambda: listener.diagnosed('paused'), 'diagnostics of the paused simulator')
        before = len(listener.heard['joint_states'])
        assert before < 400
        assert call_service(listener, Trigger, 'simulator/pause').message == 'was paused already'
        assert len(listener.heard['joint_states']) == before
        assert call_service(listener, Trigger, 'simulator/start').success
        heard = listener.wait_messages('joint_states', 400)[:400]
        imu = listener.wait_messages('imu/data_raw', 400)[:400]
        assert simulator.stop() == 0
    expected = simulate(MACHINE, motion_from_message(message, FRAMES), seed=7)
    assert _stamps(heard).tolist() == expected.joint_stamps[:400].tolist()
    for field, values in (
        ('position', expected.joint_positions),
        ('velocity', expected.joint_velocities),
        ('effort', expected.joint_efforts),
    ):  # fmt: skip
        assert np.array([getattr(joint, field) for joint in heard]).tobytes() == values[:400].tobytes()
    force = np.array([[m.linear_acceleration.x, m.linear_acceleration.y, m.linear_acceleration.z] for m in imu])
    assert force.tobytes() == expected.specific_force[:400].tobytes()
    assert np.ptp(expected.joint_positions[:400], axis=0).min() > 0.005  # it did move


def test_simulator_survives_unusable_references(listener: Listener) -> None:
    reference = listener.create_publisher(MultiDOFJointTrajectory, 'platform/reference', REFERENCE_QOS)
    good = message_from_motion(profile('hold', MACHINE, 1.0, KNOT_RATE), 0, FRAMES)
    wrong_name, not_finite, far_away = (
        message_from_motion(motion_from_message(good, FRAMES), 0, FRAMES) for _ in range(3)
    )
    wrong_name.joint_names = ['wheel']
    not_finite.points[3].transforms[0].translation.x = float('nan')
    for point in far_away.points:
        point.transforms[0].translation.z += 0.05
    with _start('simulator') as simulator:
        for message, text in (
            (wrong_name, "['wheel']"), (not_finite, 'point 3 of the reference'), (far_away, 'set-point would jump by')
        ):  # fmt: skip
            reference.publish(message)
            listener.wait(lambda text=text: listener.diagnosed(text), text)
        reference.publish(good)
        simulator.wait_for_output('reference of ')
        listener.wait_messages('joint_states', len(listener.heard['joint_states']) + 50)
        assert simulator.stop() == 0


def test_simulator_survives_unusable_commands(listener: Listener) -> None:
    commands = listener.create_publisher(Float64MultiArray, 'leg_effort_controller/commands', 10)
    with _start('simulator', controller='effort') as simulator:
        listener.wait(lambda: commands.get_subscription_count() > 0, 'the subscription to commands')
        for data, text in (
            ([1.0], 'has 1 forces, expected 6'),
            ([float('nan')] * 6, 'command for leg1_prismatic is nan'),
        ):
            commands.publish(Float64MultiArray(data=data))
            listener.wait(lambda text=text: listener.diagnosed(text), text)
        before = listener.wait_messages('joint_states', len(listener.heard['joint_states']) + 50)[-1]
        assert simulator.stop() == 0
    assert np.array(before.position) == pytest.approx(HOME, abs=1e-3)


def test_leg_controller_moves_the_simulated_machine_over_topics(listener: Listener) -> None:
    raised = MACHINE.home.position + np.array([0.0, 0.0, 0.01])
    listener.hear(Odometry, 'ground_truth/odometry')
    listener.hear(Float64MultiArray, 'leg_effort_controller/commands')
    reference = listener.create_publisher(MultiDOFJointTrajectory, 'platform/reference', REFERENCE_QOS)
    # slowly: on a busy computer the commands come late, and what is late moves less at this pace
    paced = {'controller': 'effort', 'real_time_factor': 0.2}
    # nor is a computer that stands still for a moment a sensor that fails
    patient = {'measurement_timeout': 2.0}
    with _start('simulator', **paced) as simulator, _start('leg_controller', **patient) as controller:
        listener.wait_messages('leg_effort_controller/commands', 20)
        reference.publish(message_from_motion(_straight_line(raised, 1.0), 0, FRAMES))
        controller.wait_for_output('reference of ')

        def there(count: int = 1) -> bool:
            last = listener.heard['ground_truth/odometry'][-count:]
            return len(last) == count and all(one.pose.pose.position.z > raised[2] - 0.004 for one in last)

        listener.wait(lambda: there(100), 'the platform to stay at its new height')
        assert controller.stop() == 0
        # without commands the simulator holds the pose
        listener.wait_messages('joint_states', len(listener.heard['joint_states']) + 100)
        assert there()
        assert simulator.stop() == 0


def test_leg_controller_answers_with_forces_and_survives_unusable_joint_states(listener: Listener) -> None:
    listener.hear(Float64MultiArray, 'leg_effort_controller/commands')
    joints = listener.create_publisher(JointState, 'joint_states', 10)
    good = JointState(name=NAMES[::-1], position=HOME[::-1].tolist(), velocity=[0.0] * 6)
    good.header.stamp = stamp(10**9)
    missing = JointState(name=NAMES[:5], position=HOME[:5].tolist(), velocity=[0.0] * 5)
    bad = JointState(name=NAMES, position=[float('nan')] * 6, velocity=[0.0] * 6)
    with _start('leg_controller') as controller:
        for message, text in (
            (missing, 'no position of leg6_prismatic'),
            (bad, 'leg6_prismatic is not a finite number'),
        ):
            listener.publish_until(joints, message, lambda text=text: listener.diagnosed(text), text)
        assert listener.heard['leg_effort_controller/commands'] == []
        commands = listener.heard['leg_effort_controller/commands']
        listener.publish_until(joints, good, lambda: len(commands) > 0, 'a command')
        assert controller.stop() == 0
    pose = MACHINE.home
    weight = gravity_forces(MACHINE, pose.position[None], pose.rotation_base_platform[None])[0]
    assert np.array(commands[0].data) == pytest.approx(weight, abs=1e-3)


def test_motion_player_sends_a_latched_reference(listener: Listener) -> None:
    with _start('motion_player', profile='fourier', duration=8.0, seed=4, start_time=2.5) as player:
        player.wait_for_output('reference sent')
        listener.hear(MultiDOFJointTrajectory, 'platform/reference', qos=REFERENCE_QOS)
        message = listener.wait_messages('platform/reference', 1)[0]
        assert player.stop() == 0
    assert nanoseconds(message.header.stamp) == 2_500_000_000
    read, expected = motion_from_message(message, FRAMES), profile('fourier', MACHINE, 8.0, KNOT_RATE, seed=4)
    assert read.position.tobytes() == expected.position.tobytes()
    assert read.twist.tobytes() == expected.twist.tobytes()


def test_motion_player_refuses_what_the_machine_cannot_do(tmp_path: Path) -> None:
    path = tmp_path / 'jump.csv'
    far = _straight_line(MACHINE.home.position + np.array([0.0, 0.0, 3.0]), 1.0)
    table = np.column_stack([far.time, far.position, np.tile([0.0, 0.0, 0.0, 1.0], (len(far), 1))])
    np.savetxt(path, table, delimiter=',', header=','.join(QUATERNION_COLUMNS), comments='')
    with ros_domain(), _start('motion_player', motion_file=path) as player:
        assert player.wait() == 1
        assert 'exceeds the upper limit' in player.output
        assert 'Traceback' not in player.output


@pytest.mark.parametrize('executable', ['simulator', 'leg_controller', 'motion_player'])
def test_unknown_machine_ends_with_one_clear_line(executable: str) -> None:
    with ros_domain(), _start(executable, machine='unknown_machine') as node:
        assert node.wait() == 1
        assert 'unknown_machine' in node.output
        assert 'Traceback' not in node.output


def _straight_line(target: np.ndarray, duration: float) -> PlatformMotion:
    """From home to a position with a quintic time law, 50 Hz."""
    time = np.arange(round(50 * duration) + 1) / 50
    s = (time / duration)[:, None]
    way = target - MACHINE.home.position
    place, rate = s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2 / duration
    return translation(time, MACHINE.home, way * place, way * rate, way * 60 * s * (1 - s) * (1 - 2 * s) / duration**2)


def test_leg_controller_is_armed_by_a_second_of_joint_states_without_a_gap(listener: Listener) -> None:
    """While a controller manager starts its controllers joint states pause: no trip. Later the same gap is one."""
    listener.hear(Bool, 'leg_controller/tripped', qos=LATCHED_QOS)
    listener.hear(Float64MultiArray, 'leg_effort_controller/commands')
    tripped, commands = listener.heard['leg_controller/tripped'], listener.heard['leg_effort_controller/commands']
    joints = listener.create_publisher(JointState, 'joint_states', 10)
    home, now = JointState(name=NAMES, position=HOME.tolist()), 10**9

    def fed(count: int, gap: int) -> None:
        """So many joint states 100 ms apart, the first after a gap [ns], each answered by a command."""
        nonlocal now
        now += gap
        for _ in range(count):
            now += 10**8
            home.header.stamp = stamp(now)
            commands.clear()
            listener.publish_until(joints, home, lambda: len(commands) > 0, 'a command')

    # the node's clock stands still: only gaps in the stamps count
    with _start('leg_controller', rate_source='positions', measurement_timeout=0.8, use_sim_time=True) as controller:
        wait_for_node(listener, 'leg_controller', joints)
        fed(4, 0)
        fed(2, 800 * 10**6)
        listener.wait(lambda: len(tripped) > 0, 'the latched state of the trip')
        assert not tripped[-1].data, controller.output
        fed(12, 0)
        fed(1, 800 * 10**6)
        listener.wait(lambda: tripped[-1].data, 'the trip signal')
        assert 'no usable joint states for 0.9' in controller.output


def test_leg_controller_stops_on_request_and_without_joint_states(listener: Listener) -> None:
    """R4-08 live: trip signal, diagnosis, refused references, reset; then the joint states stop coming."""
    listener.hear(Bool, 'leg_controller/tripped', qos=LATCHED_QOS)
    listener.hear(Float64MultiArray, 'leg_effort_controller/commands')
    tripped, commands = listener.heard['leg_controller/tripped'], listener.heard['leg_effort_controller/commands']
    reference = listener.create_publisher(MultiDOFJointTrajectory, 'platform/reference', REFERENCE_QOS)
    joints = listener.create_publisher(JointState, 'joint_states', 10)
    home = JointState(name=NAMES, position=HOME.tolist())
    stamps = iter(range(10**9, 10**12, 5 * 10**6))

    def fed(condition: Callable[[], bool], what: str) -> None:
        """Joint states at home, without velocities, until something is so."""

        def publish() -> bool:
            home.header.stamp = stamp(next(stamps))
            joints.publish(home)
            return condition()

        listener.wait(publish, what)

    with _start('leg_controller', rate_source='positions', measurement_timeout=2.0) as controller:
        wait_for_node(listener, 'leg_controller', joints)
        fed(lambda: len(commands) > 5, 'commands')

        def rejected() -> bool:
            late = JointState(name=NAMES, position=home.position)
            late.header.stamp = stamp(next(stamps) - 50 * 10**6)  # on its way for too long
            joints.publish(late)
            return 'before the one of the last message' in controller.output

        fed(rejected, 'the rejection')
        fed(lambda: len(tripped) > 0, 'the latched state of the trip')
        assert [message.data for message in tripped] == [False]
        assert _call(listener, 'leg_controller/stop', fed).success
        fed(lambda: tripped[-1].data, 'the trip signal')
        fed(lambda: listener.diagnosed('holding, stopped: the service ~/stop was called'), 'the diagnosis')
        reference.publish(message_from_motion(profile('hold', MACHINE, 1.0, KNOT_RATE), 0, FRAMES))
        fed(lambda: 'remove the cause, then reset' in controller.output, 'the refusal')
        assert 'holding the present pose' in _call(listener, 'leg_controller/reset_trip', fed).message
        fed(lambda: not tripped[-1].data, 'the end of the trip signal')
        # silence
        listener.wait(lambda: tripped[-1].data, 'the trip signal without joint states')
        listener.wait(lambda: listener.diagnosed('no usable joint states for'), 'the reason')
        pose = MACHINE.home
        weight = gravity_forces(MACHINE, pose.position[None], pose.rotation_base_platform[None])[0]
        commands.clear()
        listener.wait(
            lambda: bool(commands) and np.allclose(commands[-1].data, weight, rtol=0.0, atol=0.1),
            'commands that carry the weight',
        )
        assert 'there are no joint states yet' in _call(listener, 'leg_controller/reset_trip').message
        # joint states come again, then a gap in their stamps
        listener.heard['/diagnostics'].clear()
        told = listener.heard['/diagnostics']  # one may have been on its way
        fed(lambda: len(told) > 1 and 'holding, stopped:' in told[-1].status[0].message, 'rest')
        assert _call(listener, 'leg_controller/reset_trip', fed).success
        fed(lambda: not tripped[-1].data, 'the end of the trip signal')
        for _ in range(1000):
            next(stamps)
        fed(lambda: tripped[-1].data, 'the trip signal after a gap in the stamps')
        assert controller.stop() == 0


def _call(node: Listener, service: str, wait: Callable[[Callable[[], bool], str], None] | None = None) -> Any:
    """Answer of a trigger, while something else goes on."""
    return call_service(node, Trigger, service, wait=wait)
