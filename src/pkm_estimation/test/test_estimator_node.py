"""The estimator as a running node: topics, types, rate, bad input, reset, life cycle, end."""

from __future__ import annotations

from time import monotonic

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from geometry_msgs.msg import AccelWithCovarianceStamped  # noqa: E402
from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from node_processes import call_service, ros_domain, wait_for, wait_for_node  # noqa: E402
from pkm_description.loading import load_machine  # noqa: E402
from pkm_description.motion.profiles import mp1  # noqa: E402
from pkm_description.ros.conversions import array3, array4, nanoseconds, stamp, vector3  # noqa: E402
from pkm_description.ros.qos import RELIABLE_STREAM_QOS  # noqa: E402
from pkm_estimation.offline.result import collect  # noqa: E402
from pkm_estimation.sensors import measure  # noqa: E402
from pkm_estimation.stream import BaselinePipeline, EstimatorPipeline  # noqa: E402
from pkm_estimation.stream.verdict import innovation_names, innovation_rows  # noqa: E402
from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from sensor_msgs.msg import Imu, JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from warm_programs import WarmNode  # noqa: E402

SRS = load_machine('srs')
NAMES = SRS.actuated_joint_names
MOTION = mp1(SRS, duration=30.0)[slice(1200, 1500)]
DATA = measure(SRS, MOTION, seed=4)
RELIABLE = ['--ros-args', '-p', 'reliability:=reliable']

LISTENED = {
    'platform/odometry': Odometry,
    'platform/accel': AccelWithCovarianceStamped,
    'imu/data': Imu,
    'platform/joint_states': JointState,
    'platform/innovations': JointState,
    'baseline/odometry': Odometry,
    'platform/baseline/odometry': Odometry,
    '/tf': TFMessage,
    '/diagnostics': DiagnosticArray,
}


OUTPUTS = [topic for topic in LISTENED if topic != 'platform/baseline/odometry']


class Sensors(Node):
    """Plays the sensors and keeps what the estimator says."""

    def __init__(self):
        super().__init__('test_sensors')
        self.imu = self.create_publisher(Imu, 'imu/data_raw', RELIABLE_STREAM_QOS)
        self.legs = self.create_publisher(JointState, 'joint_states', RELIABLE_STREAM_QOS)
        self.heard = {topic: [] for topic in LISTENED}
        self.subscriptions_of = {}
        for topic in LISTENED:
            self.listen(topic)

    def listen(self, topic):
        take = self.heard[topic].append
        self.subscriptions_of[topic] = self.create_subscription(LISTENED[topic], topic, take, RELIABLE_STREAM_QOS)

    def wait_for_estimator(self):
        wait_for_node(self, 'estimator', self.imu, self.legs)

    def send(self, samples):
        for k in samples:
            time = stamp(int(DATA.stamps[k]))
            message = Imu(
                linear_acceleration=vector3(DATA.specific_force[k]), angular_velocity=vector3(DATA.angular_rate[k])
            )
            message.header.stamp = time
            self.imu.publish(message)
            self.send_legs(time, NAMES, DATA.drive_positions[k])
            if k % 20 == 19:  # let the estimator drain its queue: reliable, but of bounded depth
                self.wait_for_estimates(k + 1 - samples[0], at_least=True)

    def send_legs(self, time, names, positions):
        message = JointState(
            name=list(names), position=list(positions), effort=[100.0 + i for i in range(len(positions))]
        )
        message.header.stamp = time
        self.legs.publish(message)

    def diagnosed(self):
        """Key-value pairs of the last diagnostics; none before the first."""
        last = self.heard['/diagnostics'][-1:]
        return {value.key: value.value for message in last for value in message.status[0].values}

    def wait_for_diagnosis(self, *keys):
        wait_for(lambda: set(keys) <= set(self.diagnosed()), f'diagnostics with {keys}', spin=self)

    def wait_for_estimates(self, count, topic='platform/odometry', at_least=False):
        heard = self.heard[topic]
        wait_for(lambda: len(heard) >= count, f'{count} messages of {topic}', spin=self)
        assert at_least or len(heard) == count


@pytest.fixture
def sensors():
    with ros_domain():
        node = Sensors()
        yield node
        node.destroy_node()


def expected_outputs(samples):
    pipeline, outputs = EstimatorPipeline(SRS), []
    for k in samples:
        pipeline.add_imu(int(DATA.stamps[k]), DATA.specific_force[k], DATA.angular_rate[k])
        positions = DATA.drive_positions[k]
        outputs += pipeline.add_joint_positions(int(DATA.stamps[k]), NAMES, positions)
    return outputs


def test_every_sample_gives_every_output(sensors):
    with WarmNode('pkm_estimation', 'estimator', RELIABLE) as node:
        sensors.wait_for_estimator()
        sensors.send(range(300))
        for topic in (
            'platform/odometry',
            'platform/accel',
            'imu/data',
            'platform/joint_states',
            'platform/innovations',
            'baseline/odometry',
            '/tf',
        ):
            sensors.wait_for_estimates(300, topic)
        wait_for(lambda: len(sensors.heard['/diagnostics']) >= 3, 'diagnostics', spin=sensors)
        assert node.stop() == 0
    expected = expected_outputs(range(300))
    for message, output in zip(sensors.heard['platform/odometry'], expected, strict=True):
        assert nanoseconds(message.header.stamp) == output.stamp
        assert (message.header.frame_id, message.child_frame_id) == ('base_link', 'platform_link')
        assert array3(message.pose.pose.position).tobytes() == output.motion.position.tobytes()
        assert array4(message.pose.pose.orientation).tobytes() == output.motion.orientation.tobytes()
        assert array3(message.twist.twist.linear).tobytes() == output.motion.velocity.tobytes()
        assert np.array(message.pose.covariance).tobytes() == output.motion.pose_covariance.tobytes()
        assert np.array(message.twist.covariance).tobytes() == output.motion.twist_covariance.tobytes()
    offline = collect(expected, EstimatorPipeline(SRS).health.report())
    rows = innovation_rows(offline.innovation, offline.innovation_std, offline.nis)
    for message, row, time in zip(sensors.heard['platform/innovations'], rows, offline.motion.stamps, strict=True):
        assert (nanoseconds(message.header.stamp), list(message.name)) == (time, innovation_names(NAMES))
        assert np.array(message.position).tobytes() == row.tobytes()
    assert np.isnan(rows[0]).all() and np.isfinite(rows[1:]).all()
    last, output = {topic: sensors.heard[topic][-1] for topic in OUTPUTS}, expected[-1]
    assert last['imu/data'].header.frame_id == last['platform/accel'].header.frame_id == SRS.imu.frame
    assert array3(last['imu/data'].linear_acceleration) == pytest.approx(output.inertial.specific_force)
    assert last['imu/data'].orientation_covariance[0] == -1.0
    assert array3(last['platform/accel'].accel.accel.linear) == pytest.approx(output.inertial.linear_acceleration)
    assert np.abs(array3(last['platform/accel'].accel.accel.linear)).max() < 1.5  # without gravity
    joints = last['platform/joint_states']
    assert tuple(joints.name) == SRS.joint_names
    measured = DATA.drive_positions[299]
    assert np.array(joints.position)[2::3] == pytest.approx(measured, abs=1e-4)
    assert np.array(joints.effort)[2::3].tolist() == [100.0, 101.0, 102.0, 103.0, 104.0, 105.0]
    assert np.isfinite(joints.velocity).all()
    (transform,) = last['/tf'].transforms
    assert array3(transform.transform.translation).tobytes() == output.motion.position.tobytes()
    base = last['baseline/odometry']
    assert array3(base.twist.twist.linear) == pytest.approx(output.baseline.velocity)
    turning = last['platform/accel'].accel
    assert array3(turning.accel.angular) == pytest.approx(output.angular_acceleration[0])
    covariance = np.array(turning.covariance).reshape(6, 6)[3:, 3:]
    assert covariance == pytest.approx(output.angular_acceleration[1])
    windows = [{pair.key: pair.value for pair in one.status[0].values} for one in sensors.heard['/diagnostics']]
    values = max(windows, key=lambda one: float(one.get('leg rate [Hz]', 0.0)))  # the last one may have a sample alone
    assert float(values['leg rate [Hz]']) == pytest.approx(100.0)
    assert float(values['mean NIS']) < 12.0


def test_bad_input_is_survived_and_reported_and_reset_works(sensors):
    with WarmNode('pkm_estimation', 'estimator', RELIABLE) as node:
        sensors.wait_for_estimator()
        sensors.send(range(20))
        now = stamp(int(DATA.stamps[20]))
        sensors.send_legs(stamp(0), NAMES, [0.1] * 6)
        sensors.send_legs(now, ['elbow'], [0.1])
        sensors.send_legs(now, NAMES, [0.1] * 3)
        sensors.send_legs(now, NAMES, [float('nan')] * 6)
        sensors.imu.publish(Imu(linear_acceleration=vector3([np.nan, 0.0, 0.0])))
        sensors.legs.publish(bytes(serialize_message(JointState(name=NAMES)))[:40])  # cut off
        assert call_service(sensors, Trigger, 'estimator/reset').success

        def counters():
            pairs = [v for m in sensors.heard['/diagnostics'] for s in m.status for v in s.values]
            return {value.key: int(value.value) for value in pairs if value.key.startswith('count ')}

        reasons = (
            'unknown_joint', 'wrong_number_of_positions', 'position_not_finite', 'imu_not_finite', 'unreadable_message',
            'reset', 'legs_zero_stamp',
        )  # fmt: skip
        wait_for(
            lambda: all(counters().get(f'count {r}') == 1 for r in reasons), f'counts, have {counters()}', spin=sensors
        )
        sensors.heard['platform/odometry'].clear()
        sensors.send(range(21, 60))
        sensors.wait_for_estimates(39)
        node.wait_for_output('wrong_number_of_positions')
        assert node.stop() == 0


def test_machine_that_cannot_be_estimated_is_one_clear_line():
    for given, code in (([], 1), (['-p', 'autostart:=false'], 0)):
        arguments = ['--ros-args', '-p', 'machine:=double_pendulum', *given]
        with ros_domain(), WarmNode('pkm_estimation', 'estimator', arguments) as node:
            if given:  # refuses to be configured, and says why
                client = rclpy.create_node('test_client')
                assert not change_state(client, Transition.TRANSITION_CONFIGURE)
                client.destroy_node()
                node.stop()
            assert node.wait() == code
            assert 'double_pendulum is an open chain' in node.output
            assert 'Traceback' not in node.output


def change_state(node, transition):
    """Ask the estimator for a transition; whether it succeeded."""
    request = ChangeState.Request(transition=Transition(id=transition))
    return call_service(node, ChangeState, 'estimator/change_state', request).success


def set_parameters(node, **values):
    """Why the estimator refuses the first of the values; empty where it takes all."""
    request = SetParameters.Request()
    request.parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
    results = call_service(node, SetParameters, 'estimator/set_parameters', request).results
    return next((result.reason for result in results if not result.successful), '')


def test_without_autostart_it_waits_for_activation_and_takes_settings_until_then(sensors):
    given = [*RELIABLE, '-p', 'autostart:=false', '-p', 'q_scal:=2.0']
    with WarmNode('pkm_estimation', 'estimator', given) as node:
        node.wait_for_output('q_scal = 2.0 is ignored: estimator has none of this name; did you mean q_scale?')
        assert change_state(sensors, Transition.TRANSITION_CONFIGURE)
        assert set_parameters(sensors, view_rate=10.0, filter='ekf') == ''
        assert 'choose one of manifold' in set_parameters(sensors, filter='newton')
        assert set_parameters(sensors, leg_gate=-1.0) and set_parameters(sensors, reference_point=[1.0, 0.0, 0.0])
        assert change_state(sensors, Transition.TRANSITION_ACTIVATE)
        node.wait_for_output('filter ekf')
        assert 'deactivate it first' in set_parameters(sensors, leg_gate=5.0)
        sensors.wait_for_estimator()
        sensors.send(range(20))
        sensors.wait_for_estimates(20)
        sensors.wait_for_estimates(3, '/tf')  # at 0, 90 and 180 ms
        for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
            assert change_state(sensors, transition)
        assert set_parameters(sensors, view_rate=0.0) == ''
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            assert change_state(sensors, transition)
        sensors.wait_for_estimator()
        sensors.send(range(20, 40))
        sensors.wait_for_estimates(23, '/tf')
        for transition in (
            Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP, Transition.TRANSITION_CONFIGURE
        ):  # fmt: skip
            assert change_state(sensors, transition)
        sensors.wait_for_estimator()

        def counts():  # none is left behind
            return [sensors.count_publishers(topic) for topic in OUTPUTS]

        wait_for(lambda: set(counts()) == {1}, 'one publisher per topic', spin=sensors)
        assert node.stop() == 0


def test_imu_of_another_time_base_is_reported_once_a_second(sensors):
    begun = monotonic()
    with WarmNode('pkm_estimation', 'estimator', RELIABLE) as node:
        sensors.wait_for_estimator()
        for k in range(120):
            message = Imu(linear_acceleration=vector3(DATA.specific_force[k]))
            message.header.stamp = stamp(int(DATA.stamps[k]) + 10**11)
            sensors.imu.publish(message)
            sensors.send_legs(stamp(int(DATA.stamps[k])), NAMES, DATA.drive_positions[k])
        said = sensors.heard['/diagnostics']
        wait_for(lambda: any('do not overlap' in message.status[0].message for message in said), 'words', spin=sensors)
        # not with each of the 120 samples: by their stamps, and by the steady clock while none is usable
        assert len(said) <= 4 + (monotonic() - begun)
        assert node.stop() == 0


def test_estimates_of_a_reference_point_and_of_further_constants(sensors):
    """Settings that are lists; a frame of the point's own beside that of the platform."""
    point = [0.4, -0.2, 1.1]
    given = ['-p', f'reference_point:={point}', '-p', "estimate:=['imu_position','leg_offsets']"]
    with WarmNode('pkm_estimation', 'estimator', [*RELIABLE, *given, '-p', 'child_frame:=eye']) as node:
        sensors.wait_for_estimator()
        sensors.send(range(200))
        sensors.wait_for_estimates(200, '/tf')
        sensors.wait_for_diagnosis('estimated imu_position [m]', 'estimated leg_offsets [m]')
        assert node.stop() == 0
    odometry, (transform,) = sensors.heard['platform/odometry'][-1], sensors.heard['/tf'][-1].transforms
    assert (odometry.child_frame_id, transform.child_frame_id) == ('eye', 'platform_link')
    arm = array3(odometry.pose.pose.position) - array3(transform.transform.translation)
    assert np.linalg.norm(arm) == pytest.approx(np.linalg.norm(point), rel=1e-12)
    rotation = MOTION.rotation_base_platform[199]
    assert array3(odometry.pose.pose.position) == pytest.approx(MOTION.position[199] + rotation @ point, abs=1e-2)
    values = sensors.diagnosed()
    value, std = values['estimated imu_position [m]'].split(', ')[0].split(' +- ')
    assert abs(float(value)) < 6.0 * float(std)
    assert len(values['estimated leg_offsets [m]'].split(', ')) == 6


def test_wrong_parameters_are_one_clear_line():
    for wrong, word in (
        (['alpha:=7.0'], 'alpha'),
        (["estimate:=['gravity']"], 'gravity'),
        (['reference_point:=[1.0, 2.0]'], 'reference_point'),
        (['reference_point:=[1.0, 2.0, 3.0]', '-p', 'child_frame:=platform_link'], 'child_frame'),
    ):
        with ros_domain(), WarmNode('pkm_estimation', 'estimator', ['--ros-args', '-p', *wrong]) as node:
            assert node.wait() == 1
            assert word in node.output
            assert 'Traceback' not in node.output


def test_baseline_node_needs_no_imu(sensors):
    with WarmNode('pkm_estimation', 'baseline', RELIABLE) as node:
        wait_for_node(sensors, 'baseline', sensors.legs)
        for k in range(150):
            sensors.send_legs(stamp(int(DATA.stamps[k])), NAMES, DATA.drive_positions[k])
            if k % 20 == 19:
                sensors.wait_for_estimates(k + 1, 'platform/baseline/odometry')
        sensors.send_legs(stamp(int(DATA.stamps[150])), NAMES[:4], [0.1] * 4)
        assert call_service(sensors, Trigger, 'baseline/reset').success
        sensors.wait_for_diagnosis('count reset', 'count too_few_legs')
        assert node.stop() == 0
    pipeline = BaselinePipeline(SRS)
    for k, message in enumerate(sensors.heard['platform/baseline/odometry']):
        time = int(DATA.stamps[k])
        expected = pipeline.add_joint_positions(time, NAMES, DATA.drive_positions[k]).estimate
        assert nanoseconds(message.header.stamp) == time
        assert array3(message.pose.pose.position).tobytes() == expected.position.tobytes()
        assert array3(message.twist.twist.linear).tobytes() == expected.velocity.tobytes()
    assert k == 149
    assert sensors.diagnosed()['count too_few_legs'] == '1'


def test_baseline_runs_while_somebody_listens(sensors):
    """The first to listen gets a baseline that starts at the sample from which on somebody listened."""
    sensors.destroy_subscription(sensors.subscriptions_of['baseline/odometry'])
    heard = sensors.heard['baseline/odometry']
    with WarmNode('pkm_estimation', 'estimator', RELIABLE) as node:
        sensors.wait_for_estimator()
        sensors.send(range(100))
        sensors.listen('baseline/odometry')
        sensors.wait_for_estimator()
        sensors.send(range(100, 200))
        wait_for(lambda: heard and nanoseconds(heard[-1].header.stamp) == DATA.stamps[199], 'the last', spin=sensors)
        assert node.stop() == 0
    pipeline, expected = EstimatorPipeline(SRS), []
    for k in range(200):
        time = int(DATA.stamps[k])
        pipeline.baseline_wanted = time >= nanoseconds(heard[0].header.stamp)
        pipeline.add_imu(time, DATA.specific_force[k], DATA.angular_rate[k])
        outputs = pipeline.add_joint_positions(time, NAMES, DATA.drive_positions[k])
        expected += [output.baseline for output in outputs if output.baseline is not None]
    for message, estimate in zip(heard, expected, strict=True):
        assert array3(message.pose.pose.position).tobytes() == estimate.position.tobytes()
        assert array3(message.twist.twist.linear).tobytes() == estimate.velocity.tobytes()
        assert not np.any(message.twist.covariance)  # not known


def test_nothing_is_lost_at_1_khz(sensors):
    """A second of IMU and legs at 1 kHz at once, as fast as they can be sent; how late they come out is a benchmark.

    By stamps that is a second behind: without ``maximum_lag`` nothing is left out.
    """
    motion = mp1(SRS, duration=30.0, rate=1000.0)[slice(12000, 13000)]
    data = measure(SRS, motion, seed=4)
    with WarmNode('pkm_estimation', 'estimator', [*RELIABLE, '-p', 'maximum_lag:=0.0']) as node:
        sensors.wait_for_estimator()
        for k, time in enumerate(data.stamps):
            message = Imu(
                linear_acceleration=vector3(data.specific_force[k]), angular_velocity=vector3(data.angular_rate[k])
            )
            message.header.stamp = stamp(int(time))
            sensors.imu.publish(message)
            sensors.send_legs(message.header.stamp, NAMES, data.drive_positions[k])
        sensors.wait_for_estimates(1000, at_least=True)
        assert node.stop() == 0
    assert [nanoseconds(m.header.stamp) for m in sensors.heard['platform/odometry']] == data.stamps.tolist()
