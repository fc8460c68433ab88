"""The running estimator under load: it says how far it is behind, and loses nothing without a word."""

from __future__ import annotations

import signal

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')

from node_processes import ros_domain, wait_for  # noqa: E402
from pkm_description.motion.profiles import mp1  # noqa: E402
from pkm_description.ros.conversions import array3, nanoseconds, stamp, vector3  # noqa: E402
from pkm_estimation.sensors import measure  # noqa: E402
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline  # noqa: E402
from sensor_msgs.msg import Imu, JointState  # noqa: E402
from test_estimator_node import NAMES, RELIABLE, SRS, Sensors  # noqa: E402
from warm_programs import WarmNode  # noqa: E402

from verification.soak.balance import imu_balance, leg_balance, node_balance  # noqa: E402

DATA = measure(SRS, mp1(SRS, duration=30.0, rate=1000.0)[slice(12000, 13000)], seed=4)


@pytest.fixture
def sensors():
    with ros_domain():
        node = Sensors()
        yield node
        node.destroy_node()


def send(sensors, places):
    for k in places:
        message = Imu(
            linear_acceleration=vector3(DATA.specific_force[k]), angular_velocity=vector3(DATA.angular_rate[k])
        )
        message.header.stamp = stamp(int(DATA.stamps[k]))
        sensors.imu.publish(message)
        sensors.send_legs(message.header.stamp, NAMES, DATA.drive_positions[k])


def told(sensors):
    return [status for array in sensors.heard['/diagnostics'] for status in array.status]


def counters(sensors):
    pairs = [value for status in told(sensors) for value in status.values if value.key.startswith('count ')]
    return {value.key.removeprefix('count '): int(value.value) for value in pairs}


def test_a_node_that_stood_still_says_so_and_gives_the_bits_of_all_samples(sensors):
    """Half a second of samples waits for a process that is stopped; what is published afterwards is that of offline."""
    with WarmNode('pkm_estimation', 'estimator', [*RELIABLE, '-p', 'maximum_lag:=0.3']) as node:
        sensors.wait_for_estimator()
        send(sensors, range(50))
        sensors.wait_for_estimates(50)
        node.process.send_signal(signal.SIGSTOP)
        send(sensors, range(50, 550))
        node.process.send_signal(signal.SIGCONT)
        wait_for(lambda: counters(sensors).get('legs_received') == 550, 'all samples', spin=sensors)
        wait_for(lambda: any('behind by stamps' in status.message for status in told(sensors)), 'the lag', spin=sensors)

        def given():
            return len(sensors.heard['platform/odometry']) + counters(sensors).get('estimates_not_published', 0)

        wait_for(lambda: given() == 550, 'all estimates, or their count', spin=sensors)
        assert node.stop() == 0
    known, heard = counters(sensors), sensors.heard['platform/odometry']
    assert node_balance(known, 'imu', 550) == node_balance(known, 'legs', 550) == 0
    assert imu_balance(known) == leg_balance(known) == 0
    assert known['estimates'] == 550 == len(heard) + known.get('estimates_not_published', 0)
    pipeline, expected = EstimatorPipeline(SRS, EstimatorConfig(baseline=False)), {}
    for k in range(550):
        pipeline.add_imu(int(DATA.stamps[k]), DATA.specific_force[k], DATA.angular_rate[k])
        for output in pipeline.add_joint_positions(int(DATA.stamps[k]), NAMES, DATA.drive_positions[k]):
            expected[output.stamp] = output.motion
    for message in heard:
        motion = expected[nanoseconds(message.header.stamp)]
        assert array3(message.pose.pose.position).tobytes() == motion.position.tobytes()
        assert np.array(message.twist.covariance).tobytes() == motion.twist_covariance.tobytes()


def test_joint_states_of_a_megabyte_are_counted_and_estimates_go_on(sensors):
    names = [f'joint_{k}' for k in range(100_000)]
    large = [
        JointState(name=[name + 170_000 * 'x' for name in NAMES], position=[0.0] * 6),
        JointState(name=names, position=[0.0] * len(names)),
    ]
    with WarmNode('pkm_estimation', 'estimator', RELIABLE) as node:
        sensors.wait_for_estimator()
        send(sensors, range(20))
        for _ in range(5):
            for message in large:
                sensors.legs.publish(message)
        wait_for(lambda: counters(sensors).get('legs_unreadable', 0) > 0, 'the count', spin=sensors)
        # the subscription with few messages held is a new one
        sensors.wait_for_estimator()
        before = len(sensors.heard['platform/odometry'])

        def goes_on():
            send(sensors, [goes_on.place])
            goes_on.place += 1
            return len(sensors.heard['platform/odometry']) > before + 20

        goes_on.place = 20
        wait_for(goes_on, 'further estimates', spin=sensors)
        assert node.stop() == 0
        assert max(map(len, node.output.splitlines())) < 500
