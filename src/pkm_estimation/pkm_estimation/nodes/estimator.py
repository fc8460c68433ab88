"""Node ``estimator``: IMU and leg lengths in, motion of the platform out."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import AccelWithCovarianceStamped
from nav_msgs.msg import Odometry
from pkm_description.arrays import Array
from pkm_description.driver import ImuReading
from pkm_description.errors import KinematicsError
from pkm_description.joint_states import JointReading
from pkm_description.kinematics import joint_rates
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine
from pkm_description.ros.conversions import stamp, transform_stamped, vector3
from pkm_description.ros.diagnostics import LEVELS, Level
from pkm_description.ros.frames import TransformBroadcaster
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import current_settings, declare_settings
from pkm_description.ros.serialized import read_imu, read_joint_state
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import Imu, JointState

from pkm_estimation.exchange.health import HealthReport
from pkm_estimation.models import POSITION
from pkm_estimation.nodes.node_settings import EstimatorNodeSettings
from pkm_estimation.nodes.stream_node import StreamNode
from pkm_estimation.stream import EstimatorOutput, EstimatorPipeline
from pkm_estimation.stream.backlog import Backlog, allowed_lag
from pkm_estimation.stream.stretch import LivePipeline
from pkm_estimation.stream.verdict import innovation_names, innovation_row, summarise, values

#: covariance (6, 6) that says nothing
UNKNOWN = np.zeros((6, 6))
#: what to do about an IMU in another frame; a name alone does not make its numbers wrong, so they are used
FOREIGN_IMU = (
    "it is used as this machine's IMU; make sure that it is, and set frame_id in its driver or sensors.imu.link in the "
    'machine file'
)


class RateLimit:
    """Lets stamps pass at no more than a rate [Hz]; 0 means all of them."""

    def __init__(self, rate: float) -> None:
        # a little early: the stamps of a stream at just that rate jitter
        self._interval = round(0.9e9 / rate) if rate > 0.0 else 0
        self._last: int | None = None

    def is_due(self, stamp: int) -> bool:
        """Whether something is to be published at ``stamp`` [ns]; restarts if the clock was set back."""
        if self._last is not None and 0 <= stamp - self._last < self._interval:
            return False
        self._last = stamp
        return True


class EstimatorNode(StreamNode):
    """Lifecycle node around one :class:`EstimatorPipeline`."""

    def __init__(self) -> None:
        super().__init__('estimator')
        settings = declare_settings(self, EstimatorNodeSettings, writable=('view_rate', 'maximum_lag'))
        self._publish_tf = settings.publish_tf
        self._point = np.array(self.config.reference_point)
        self._transforms: TransformBroadcaster | None = None
        self.start()

    def make_topics(self) -> None:
        """Make its topics."""
        self._odometry = self.own_publisher(Odometry, 'platform/odometry')
        self._acceleration = self.own_publisher(AccelWithCovarianceStamped, 'platform/accel')
        self._imu = self.own_publisher(Imu, 'imu/data')
        self._joint_states = self.own_publisher(JointState, 'platform/joint_states')
        self._innovations = self.own_publisher(JointState, 'platform/innovations')
        self._innovation_names = innovation_names(self.machine.actuated_joint_names)
        if self.config.baseline:
            self._baseline = self.own_publisher(Odometry, 'baseline/odometry')
        if self._publish_tf and self._transforms is None:  # it stays when the node is cleaned up
            self._transforms = TransformBroadcaster(self)
            self.broadcast_reference_point()
        self.subscribe('imu', Imu, self.machine.driver.imu_topic, read_imu, self._take_imu)
        self.subscribe('legs', JointState, self.machine.driver.joint_topic, read_joint_state, self._take_joint_state)

    def make_pipeline(self) -> EstimatorPipeline:
        """Make the pipeline."""
        settings = current_settings(self, EstimatorNodeSettings)
        self._viewing = RateLimit(settings.view_rate)
        self.pipeline = LivePipeline(self.machine, self.config)
        is_lossless = self._input_qos.reliability == ReliabilityPolicy.RELIABLE
        self._backlog = Backlog(self.pipeline, allowed_lag(settings.maximum_lag, is_lossless))
        return self.pipeline

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start with the next samples."""
        result = super().on_activate(state)
        if result != TransitionCallbackReturn.SUCCESS:
            return result
        config = self.config
        also = f', also {", ".join(config.estimate)}' if config.estimate else ''
        self.get_logger().info(
            f'estimating {self.machine.name}: filter {config.filter}, {config.integrator}, start {config.start}, '
            f'q_scale {config.q_scale:g}{also}'
        )
        self.get_logger().info(f'covariances claim {config.claim}; tolerances: {self.machine.tolerances}')
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Ignore samples, those that wait among them."""
        self._backlog.clear()
        return super().on_deactivate(state)

    def _take_imu(self, sample: ImuReading) -> None:
        self.frame_check.is_ours('imu/data_raw', sample.frame, self.frames.imu, FOREIGN_IMU)
        self._backlog.add_imu(sample)

    def _take_joint_state(self, sample: JointReading) -> None:
        self._backlog.add_legs(sample)

    def process(self) -> bool:
        """Process some of the samples that wait; whether there are more."""
        if self.config.baseline:  # half as much work as the filter; only while it has a subscriber
            self._backlog.baseline_wanted = self._baseline.get_subscription_count() > 0
        self._publish(self._backlog.work())
        return len(self._backlog) > 0

    def _publish(self, outputs: list[EstimatorOutput]) -> None:
        for output in outputs:
            # first what controllers wait for
            motion = output.motion
            self.publish_odometry(self._odometry, output.stamp, motion, motion.twist_covariance)
            # then topics with subscribers: a message costs more time than the filter's step
            if self._imu.get_subscription_count():
                self._imu.publish(imu(stamp(output.stamp), self.frames.imu, output))
            if self._acceleration.get_subscription_count():
                self._acceleration.publish(acceleration(stamp(output.stamp), self.frames.imu, output))
            if self._innovations.get_subscription_count():
                self._innovations.publish(innovations(stamp(output.stamp), self._innovation_names, output))
            if output.baseline is not None:
                self.publish_odometry(self._baseline, output.stamp, output.baseline, UNKNOWN)
            if self._viewing.is_due(output.stamp):
                self._publish_view(output)

    def _publish_view(self, output: EstimatorOutput) -> None:
        """Publish what viewers need: the platform's frame, and the angles of all joints."""
        rotation = output.motion.rotation_base_platform
        if self._transforms is not None:
            origin = output.motion.position - rotation @ self._point
            self._transforms.sendTransform(
                transform_stamped(output.stamp, self.frames.base, self.frames.platform, origin, rotation)
            )
        if not self._joint_states.get_subscription_count():
            return
        joints = joint_states(stamp(output.stamp), self.pipeline.machine, output, self._point)
        if joints is None:
            self.pipeline.health.event(
                output.stamp, 'joint_angles_undefined', 'no passive joint angles at this pose'
            )
        else:
            self._joint_states.publish(joints)

    def statuses(self, report: HealthReport) -> tuple[str, str, str, dict[str, object]]:
        """Statistics of the filter."""
        machine = self.pipeline.machine
        level, sentence = summarise(report, machine.actuated_count)
        ukf = self.pipeline.filter.ukf
        repeatability, accuracy = (np.sqrt(np.trace(one[POSITION, POSITION])) for one in (ukf.covariance, ukf.claimed))
        details = values(report, machine.drive_labels, machine.position_units) | {
            'angular acceleration lag [s]': self.pipeline.angular_acceleration.lag,
            'tolerances of the machine': str(machine.tolerances),
            'claimed': self.config.claim,
            'position, repeatability [mm]': 1e3 * float(repeatability),
            'position, accuracy [mm]': 1e3 * float(accuracy),
            'sigma points outside the unit sphere': self.pipeline.filter.outside_unit_sphere,
        }
        return 'filter', level, sentence, details

    def further_statuses(self) -> dict[str, tuple[Level, str, dict[str, object]]]:
        """How far the node was behind."""
        load = self._backlog.report()
        level, sentence = load.summary()
        return {'load': (LEVELS[level], sentence, load.values())}


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT."""
    return run_node(EstimatorNode, args)


def imu(time: Time, frame: str, output: EstimatorOutput) -> Imu:
    """``sensor_msgs/Imu`` without biases, IMU axes; no orientation (REP 145: its covariance starts with -1)."""
    message = Imu()
    message.header.stamp = time
    message.header.frame_id = frame
    message.linear_acceleration = vector3(output.inertial.specific_force)
    message.angular_velocity = vector3(output.inertial.angular_rate)
    message.linear_acceleration_covariance = output.inertial.imu_covariance[:3, :3].ravel()
    message.angular_velocity_covariance = output.inertial.imu_covariance[3:, 3:].ravel()
    message.orientation_covariance[0] = -1.0
    return message


def acceleration(time: Time, frame: str, output: EstimatorOutput) -> AccelWithCovarianceStamped:
    """Acceleration of the IMU's point, gravity removed, and angular acceleration, both in IMU axes.

    The angular acceleration lags by the differentiator's lag; while that settles it is zero with variance -1.
    """
    message = AccelWithCovarianceStamped()
    message.header.stamp = time
    message.header.frame_id = frame
    message.accel.accel.linear = vector3(output.inertial.linear_acceleration)
    covariance = np.zeros((6, 6))
    covariance[:3, :3] = output.inertial.imu_covariance[:3, :3]
    if output.angular_acceleration is None:
        covariance[3, 3] = covariance[4, 4] = covariance[5, 5] = -1.0
    else:
        value, covariance[3:, 3:] = output.angular_acceleration
        message.accel.accel.angular = vector3(value)
    message.accel.covariance = covariance.ravel()
    return message


def innovations(time: Time, names: list[str], output: EstimatorOutput) -> JointState:
    """Innovation, standard deviation and NIS of each leg, and the NIS of all, as positions of those names."""
    message = JointState()
    message.header.stamp = time
    message.name = names
    message.position = innovation_row(output).tolist()
    return message


def joint_states(time: Time, machine: Machine, output: EstimatorOutput, point: Array) -> JointState | None:
    """All joints of the legs, passive ones too; ``None`` at a pose where their angles are not defined.

    The estimate is that of the reference point (3,) of the platform.
    Efforts of the actuated joints are those of the measurement, the others NaN (not measured).
    """
    motion, rotation = output.motion, output.motion.rotation_base_platform
    position = motion.position - rotation @ point
    velocity = rotation @ (motion.velocity - cross(motion.angular_velocity, point))
    turning = rotation @ motion.angular_velocity
    try:
        positions, velocities = joint_rates(
            machine, position, rotation, velocity, turning
        )
    except KinematicsError:
        return None
    message = JointState()
    message.header.stamp = time
    message.name = list(machine.joint_names)
    message.position = positions.tolist()
    message.velocity = velocities.tolist()
    efforts = np.full(len(machine.joints), np.nan)
    efforts[machine.drive_columns] = output.efforts
    message.effort = efforts.tolist()
    return message


if __name__ == '__main__':
    raise SystemExit(main())
