"""Node ``estimator``: IMU and leg lengths in, motion of the platform out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import AccelWithCovarianceStamped
from nav_msgs.msg import Odometry
from pkm_description.ros.conversions import transform_stamped
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.machine_parameters import declare_machine
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare
from pkm_description.ros.qos import RELIABLE_STREAM_QOS, declare_stream_qos
from pkm_description.ros.stamps import nanoseconds, stamp
from pkm_description.ros.transforms import TransformBroadcaster
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import Trigger

from pkm_estimation.nodes import estimator_messages as messages
from pkm_estimation.nodes.estimator_parameters import declare_config
from pkm_estimation.pipeline import EstimatorOutput, EstimatorPipeline
from pkm_estimation.pipeline.verdict import summarise, values

_DIAGNOSTIC_PERIOD = 1_000_000_000
_LEVELS = {'ok': Level.OK, 'warn': Level.WARN, 'error': Level.ERROR}


class EstimatorNode(LifecycleNode):
    """Lifecycle node around one :class:`EstimatorPipeline`; with ``autostart`` it activates itself."""

    def __init__(self) -> None:
        super().__init__('estimator')
        self._machine = declare_machine(self)
        self._config = declare_config(self)
        self._publish_tf = declare(
            self, 'publish_tf', True, 'publish base_link -> platform_link on /tf', read_only=True
        )
        autostart = declare(self, 'autostart', True, 'configure and activate at start', read_only=True)
        self._input_qos = declare_stream_qos(self)
        self._pipeline: EstimatorPipeline | None = None
        self._is_active = False
        self._owned: list[tuple[Callable[[Any], object], Any]] = []
        self._last_stamp = 0
        self._diagnosed_at = 0
        self._diagnosed_since_tick = False
        if autostart:
            self.trigger_configure()
            self.trigger_activate()

    # -- life cycle ------------------------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make the pipeline, publishers, subscriptions and services."""
        self._pipeline = EstimatorPipeline(self._machine, self._config)
        self._odometry = self._own_publisher(Odometry, 'platform/odometry')
        self._acceleration = self._own_publisher(AccelWithCovarianceStamped, 'platform/accel')
        self._imu = self._own_publisher(Imu, 'imu/data')
        self._joint_states = self._own_publisher(JointState, 'platform/joint_states')
        self._baseline = self._own_publisher(Odometry, 'baseline/odometry')
        self._transforms = TransformBroadcaster(self) if self._publish_tf else None
        self._diagnostics = DiagnosticsPublisher(self)
        for kind, topic, callback in (
            (Imu, 'imu/data_raw', self._take_imu),
            (JointState, 'joint_states', self._take_joint_state),
        ):
            self._owned.append(
                (self.destroy_subscription, self.create_subscription(kind, topic, callback, self._input_qos))
            )
        self._owned.append((self.destroy_service, self.create_service(Trigger, '~/reset', self._reset)))
        # for silence only: while samples come, their stamps decide when to report
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._owned.append((self.destroy_timer, self.create_timer(1.0, self._report_silence, clock=steady)))
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start with the next samples."""
        self._is_active = True
        self.get_logger().info(
            f'estimating {self._machine.name}: {self._config.integrator}, start {self._config.start}, '
            f'q_scale {self._config.q_scale:g}'
        )
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Ignore samples; activated again, the estimator starts anew."""
        self._is_active = False
        if self._pipeline is not None:
            self._pipeline.reset(self._last_stamp)
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release what on_configure made."""
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release what on_configure made."""
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def _own_publisher(self, kind: type, topic: str) -> Any:
        publisher: Any = self.create_publisher(kind, topic, RELIABLE_STREAM_QOS)
        self._owned.append((self.destroy_publisher, publisher))
        return publisher

    def _release(self) -> None:
        self._is_active = False
        self._pipeline = None
        for destroy, entity in self._owned:
            destroy(entity)
        self._owned.clear()

    # -- samples ---------------------------------------------------------------------------------------------------

    def _take_imu(self, message: Imu) -> None:
        if self._pipeline is None or not self._is_active:
            return
        time, force, rate = nanoseconds(message.header.stamp), message.linear_acceleration, message.angular_velocity
        self._publish(
            self._pipeline.add_imu(time, (force.x, force.y, force.z), (rate.x, rate.y, rate.z)),
        )
        self._note(time)

    def _take_joint_state(self, message: JointState) -> None:
        if self._pipeline is None or not self._is_active:
            return
        time = nanoseconds(message.header.stamp)
        self._publish(self._pipeline.add_joint_positions(time, message.name, message.position, message.effort))
        self._note(time)

    def _publish(self, outputs: list[EstimatorOutput]) -> None:
        assert self._pipeline is not None
        frame = self._machine.imu.frame
        for output in outputs:
            time, motion = stamp(output.stamp), output.motion
            self._odometry.publish(
                messages.odometry(
                    time, motion.position, motion.orientation, motion.velocity, motion.angular_velocity,
                    motion.pose_covariance, motion.twist_covariance,
                )
            )  # fmt: skip
            if self._transforms is not None:
                self._transforms.sendTransform(
                    transform_stamped(
                        output.stamp, messages.BASE_FRAME, messages.PLATFORM_FRAME, motion.position,
                        motion.rotation_base_platform,
                    )
                )  # fmt: skip
            self._imu.publish(messages.imu(time, frame, output))
            self._acceleration.publish(messages.acceleration(time, frame, output))
            joints = messages.joint_states(time, self._pipeline.mechanism, output)
            if joints is None:
                self._pipeline.health.event(
                    output.stamp, 'joint_angles_undefined', 'no passive joint angles at this pose'
                )
            else:
                self._joint_states.publish(joints)
            if output.baseline is not None:
                base = output.baseline
                self._baseline.publish(
                    messages.odometry(
                        time, base.position, base.orientation, base.velocity, base.angular_velocity,
                        base.pose_covariance, None,
                    )
                )  # fmt: skip

    def _reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        assert self._pipeline is not None
        self._pipeline.reset(self._last_stamp)
        response.success = True
        response.message = 'the estimator starts anew with the next leg measurement'
        return response

    # -- diagnostics -----------------------------------------------------------------------------------------------

    def _note(self, time: int) -> None:
        """Report once a second of stamps; a stamp that jumps backwards begins a new second."""
        if time <= 0:
            return  # no time; rejected and counted by the pipeline
        self._last_stamp = time
        if not 0 <= time - self._diagnosed_at < _DIAGNOSTIC_PERIOD:
            self._diagnosed_at = time
            self._diagnose()

    def _report_silence(self) -> None:
        if not self._diagnosed_since_tick:
            self._diagnose()
        self._diagnosed_since_tick = False

    def _diagnose(self) -> None:
        self._diagnosed_since_tick = True
        if self._pipeline is None or not self._is_active:
            self._diagnostics.publish({'filter': (Level.STALE, 'not active', {})}, self._last_stamp)
            return
        report = self._pipeline.health.report()
        level, sentence = summarise(report, self._pipeline.mechanism.leg_count)
        details = values(report) | {'sigma points outside the unit sphere': self._pipeline.filter.outside_unit_sphere}
        self._diagnostics.publish({'filter': (_LEVELS[level], sentence, details)}, self._last_stamp)
        for name, count in Counter(event.name for event in report.events).items():
            detail = next(event.detail for event in reversed(report.events) if event.name == name)
            text = f'{name}: {detail}' if count == 1 else f'{name} ({count} times): {detail}'
            if name in ('started', 'reset'):
                self.get_logger().info(text)
            else:  # a call of its own: rclpy ties the severity to the line of the call
                self.get_logger().warning(text)


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT."""
    return run_node(EstimatorNode, args)


if __name__ == '__main__':
    raise SystemExit(main())
