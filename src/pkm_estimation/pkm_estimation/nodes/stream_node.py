"""Base class of the nodes of this package: life cycle, inputs, reset, and diagnostics by stamps."""

from __future__ import annotations

import gc
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError, PkmError
from pkm_description.ros.conversions import transform_stamped
from pkm_description.ros.diagnostics import LEVELS, DiagnosticsPublisher, Level, LostMessages
from pkm_description.ros.frames import FrameCheck, StaticTransformBroadcaster, declare_frames
from pkm_description.ros.parameters import current_settings, declare_machine, declare_settings, file_with
from pkm_description.ros.qos import RELIABLE_STREAM_QOS, declare_stream_qos, with_few_held
from pkm_description.ros.serialized import UNREADABLE, OdometryWriter, TooLongError
from pkm_description.settings import settings_of
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from std_srvs.srv import Trigger

from pkm_estimation.baseline import BaselineEstimate
from pkm_estimation.exchange.health import HealthMonitor, HealthReport
from pkm_estimation.filtering.point_motion import PointMotion
from pkm_estimation.nodes.node_settings import EstimatorNodeSettings, StreamNodeSettings
from pkm_estimation.stream import BaselinePipeline, EstimatorConfig, EstimatorPipeline

if TYPE_CHECKING:
    from rclpy.subscription import MessageInfo  # not in the rclpy of Jazzy

#: ticks after a message that was too long for which few messages are held
_NARROW = 5
_DIAGNOSTIC_PERIOD = 1_000_000_000

Pipeline = EstimatorPipeline | BaselinePipeline

#: settings that frames and topics depend on: they are fixed at start
FIXED = {'reference_point', 'baseline'}


class StreamNode(LifecycleNode):
    """Lifecycle node around one pipeline that stamped samples drive; with ``autostart`` it activates itself.

    Parameters
    ----------
    name : of the node
    settings : names of the settings that it takes as parameters; default all
    """

    def __init__(self, name: str, settings: tuple[str, ...] | None = None) -> None:
        super().__init__(name)
        # a file for one node of this package may be given to the others
        self.parameters_of_others = {*settings_of(EstimatorConfig), *settings_of(EstimatorNodeSettings)}
        self.machine = declare_machine(self)
        writable = set(settings_of(EstimatorConfig)) - FIXED
        self.config = declare_settings(self, EstimatorConfig, settings, writable)
        of_node = declare_settings(self, StreamNodeSettings)
        self.frames = declare_frames(self, self.machine)
        self.frame_check = FrameCheck(self, self.frames)
        self.child_frame = self._child_frame(of_node.child_frame)
        self._write_odometry = OdometryWriter(self.frames.base, self.child_frame)
        self.autostart = of_node.autostart
        self._input_qos = declare_stream_qos(self)
        self.is_active = self.is_worked_off = False
        self._pipeline: Pipeline | None = None
        self._streams: list[SensorStream] = []
        self._owned: list[tuple[Callable[[Any], object], Any]] = []
        self._refused: Exception | None = None
        self._last_stamp = 0
        self._diagnostics = DiagnosticsPublisher(self)
        self._diagnosed_since_tick = self._heard_since_tick = False
        self._silent_ticks = 0
        self._is_outdated = False
        self.add_on_set_parameters_callback(self._judge_parameters)

    def start(self) -> None:
        """Configure and activate, if ``autostart`` says so: the last line of a constructor.

        Raises
        ------
        PkmError
            The settings, which are fixed, do not suit the machine.
        """
        if self.autostart:
            self.trigger_configure()
            if self._refused is not None:
                raise self._refused
            self.trigger_activate()
        # the many objects that importing has made stay for good: a collection that looked at them all would hold up
        # the samples for tens of milliseconds
        gc.collect()
        gc.freeze()

    def _child_frame(self, frame: str) -> str:
        point: Array = np.array(self.config.reference_point)
        platform = self.machine.platform.name
        if point.any() and frame == platform:
            raise PkmError(
                f'child_frame = {frame!r} is the frame of the platform origin, but reference_point = {point.tolist()}: '
                'give the point a frame of its own'
            )
        return self.frames.id_of(frame or ('reference_point' if point.any() else platform))

    # -- for the nodes -------------------------------------------------------------------------------------------------

    @abstractmethod
    def make_pipeline(self) -> Pipeline:
        """Make the pipeline, with the present settings."""

    @abstractmethod
    def make_topics(self) -> None:
        """Make publishers and subscriptions (``own_publisher``, ``subscribe``), after the first pipeline."""

    def read_settings(self) -> None:
        """Read the settings again that can be set while the node is not active."""
        config = current_settings(self, EstimatorConfig)
        try:
            config.require_fitting(self.machine)
        except ConfigurationError as error:
            raise ConfigurationError(f'{file_with(self, str(error).split()[:1])}{error}') from None
        self.config = config

    @abstractmethod
    def statuses(self, report: HealthReport) -> tuple[str, str, str, dict[str, object]]:
        """Name of the part, level, sentence and values for diagnostics."""

    def further_statuses(self) -> dict[str, tuple[Level, str, dict[str, object]]]:
        """Level, sentence and values of further parts."""
        return {}

    def own_publisher(self, kind: type, topic: str) -> Any:
        """Publisher that lives until the node is cleaned up."""
        publisher: Any = self.create_publisher(kind, topic, RELIABLE_STREAM_QOS)
        self._owned.append((self.destroy_publisher, publisher))
        return publisher

    def publish_odometry(
        self, publisher: Any, time: int, motion: PointMotion | BaselineEstimate, twist_covariance: Array
    ) -> None:
        """Publish a motion at ``time`` [ns]: pose in ``base_link``, twist in the platform's axes."""
        data = self._write_odometry(
            time, motion.position, motion.orientation, motion.pose_covariance, motion.velocity, motion.angular_velocity,
            twist_covariance,
        )  # fmt: skip
        publisher.publish(data)

    def subscribe(
        self, name: str, kind: type, topic: str, read: Callable[[bytes], Any], callback: Callable[[Any], None]
    ) -> None:
        """Subscription to a sensor stream that lives until the node is cleaned up.

        ``callback`` takes what ``read`` makes of the serialised message, while the node is active; it has a ``stamp``.
        Counters of the stream begin with ``name``.
        """

        def take(sample: Any) -> None:
            callback(sample)
            if sample.stamp > 0:
                self._last_stamp = sample.stamp
            if not self.is_worked_off:
                while self.work_off():
                    pass

        self._streams.append(SensorStream(self, name, kind, topic, read, self._input_qos, self._hear, take))

    def _hear(self) -> HealthMonitor | None:
        """Note that a message has come; where it is counted, ``None`` if the node is not active."""
        if not self.is_active or self._pipeline is None:
            return None
        self._heard_since_tick = True
        return self._pipeline.health

    def process(self) -> bool:
        """Process some of what the callbacks have queued; whether there is more."""
        return False

    def work_off(self) -> bool:
        """Do what the messages ask for that have come; whether there is more to do. For a :class:`StreamExecutor`."""
        if not self.is_active or self._pipeline is None:
            return False
        is_more = self.process()
        if self._pipeline.health.span >= _DIAGNOSTIC_PERIOD:
            self._diagnose()
        return is_more

    def broadcast_reference_point(self) -> None:
        """Say on ``/tf_static`` where the reference point lies, if it has a frame of its own."""
        if self.child_frame != self.frames.platform:
            self._static = StaticTransformBroadcaster(self)
            point = np.array(self.config.reference_point)
            self._static.sendTransform(transform_stamped(0, self.frames.platform, self.child_frame, point, np.eye(3)))

    # -- life cycle ----------------------------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make the pipeline, publishers, subscriptions and services."""
        try:
            self.read_settings()
            self._pipeline, self._is_outdated = self.make_pipeline(), False
            self.make_topics()
        except Exception as error:  # rclpy would not say a word
            self._refused = error
            self._release()
            self.get_logger().error(f'cannot be configured: {error}')
            return TransitionCallbackReturn.FAILURE
        self._owned.append((self.destroy_service, self.create_service(Trigger, '~/reset', self._reset)))
        # for silence only: while samples come, their stamps decide when to report
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._owned.append((self.destroy_timer, self.create_timer(1.0, self._report_silence, clock=steady)))
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start with the next samples, with the settings as they are now."""
        if self._is_outdated:  # topics and services stay
            try:
                self.read_settings()
                self._pipeline, self._is_outdated = self.make_pipeline(), False
            except PkmError as error:
                self.get_logger().error(f'cannot be activated: {error}')
                return TransitionCallbackReturn.FAILURE
        self.is_active = True
        return super().on_activate(state)

    def _judge_parameters(self, parameters: list[Parameter[Any]]) -> SetParametersResult:
        """Whether parameters may be set: the settings while the node is not active, if they fit together."""
        ours = [one for one in parameters if one.name in settings_of(EstimatorConfig)]
        if not ours and not any(one.name in settings_of(EstimatorNodeSettings) for one in parameters):
            return SetParametersResult(successful=True)
        names = ', '.join(one.name for one in parameters)
        if self.is_active:
            reason = f'{names}: can be set while {self.get_name()} is not active; deactivate it first'
            return SetParametersResult(successful=False, reason=reason)
        try:
            config = current_settings(self, EstimatorConfig, ours)
            if ours:
                config.require_fitting(self.machine)
        except PkmError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._is_outdated = True
        return SetParametersResult(successful=True)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Ignore samples; the pipeline restarts when the node is activated again."""
        self.is_active = False
        if self._pipeline is not None:
            self._pipeline.reset(self._last_stamp)
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release what on_configure made."""
        self._release()
        return TransitionCallbackReturn.SUCCESS

    on_shutdown = on_cleanup

    def _release(self) -> None:
        self.is_active = False
        self._pipeline = None
        for stream in self._streams:
            stream.close()
        self._streams.clear()
        for destroy, entity in self._owned:
            destroy(entity)
        self._owned.clear()

    def _reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        assert self._pipeline is not None
        self._pipeline.reset(self._last_stamp)
        response.success = True
        response.message = f'{self.get_name()} restarts with the next leg measurement'
        return response

    # -- diagnostics ---------------------------------------------------------------------------------------------------

    def _report_silence(self) -> None:
        for stream in self._streams:
            stream.tick()
        self._silent_ticks = 0 if self._heard_since_tick else self._silent_ticks + 1
        # one tick is no proof: after a pause of the process the timer comes first, before the samples that wait
        if not self._diagnosed_since_tick and self._silent_ticks != 1:
            self._diagnose()
        self._diagnosed_since_tick = self._heard_since_tick = False

    def _diagnose(self) -> None:
        self._diagnosed_since_tick = True
        if self._pipeline is None or not self.is_active:
            self._diagnostics.publish({self.get_name(): (Level.STALE, 'not active', {})}, self._last_stamp)
            return
        report = self._pipeline.health.report()
        part, level, sentence, values = self.statuses(report)
        told = {part: (LEVELS[level], sentence, values)} | self.further_statuses() | self.frame_check.statuses()
        self._diagnostics.publish(told, self._last_stamp)
        details = {event.name: event.detail for event in report.events}
        for name, count in report.event_counts.items():
            detail = details.get(name, 'not among the last events')
            text = f'{name}: {detail}' if count == 1 else f'{name} ({count} times): {detail}'
            if name in ('started', 'reset', 'foreign_joints'):
                self.get_logger().info(text)
            else:  # a call of its own: rclpy ties the severity to the line of the call
                self.get_logger().warning(text)


class SensorStream:
    """Subscription that holds few messages while some are too long to be read.

    For each message that it holds the middleware keeps as much memory as the largest ever had: with the usual depth
    gigabytes. How many are held is fixed when a subscription is made, so it is replaced, with its memory.

    Parameters
    ----------
    node : that subscribes
    name, kind, topic : counters begin with the name; type of the messages, and their topic
    read : makes a sample with a ``stamp`` of a serialised message
    qos : profile of the subscription
    hear : is called at each message; where it is counted, ``None``: the node is not active, it is ignored
    take : takes a sample
    """

    def __init__(
        self, node: Node, name: str, kind: type, topic: str, read: Callable[[bytes], Any], qos: QoSProfile,
        hear: Callable[[], HealthMonitor | None], take: Callable[[Any], object],
    ) -> None:  # fmt: skip
        self._node, self._name, self._kind, self._topic, self._qos = node, name, kind, topic, qos
        self._read, self._hear, self._take = read, hear, take
        self._numbers = LostMessages()
        self._ticks, self._last_stamp = 0, 0
        self._subscription: Subscription[Any] | None = None
        self._listen(qos)

    def close(self) -> None:
        """Subscribe no longer."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def tick(self) -> None:
        """Hold as many messages as before some ticks after the last one that was too long."""
        if self._ticks:
            self._ticks -= 1
            if not self._ticks:
                self._listen(self._qos)

    def _listen(self, qos: QoSProfile) -> None:
        """Subscribe, in place of the subscription that there is."""

        def receive(data: Any, info: MessageInfo) -> None:
            # one that was replaced is alive to the end of the executor's turn: its successor hears the same messages
            if self._subscription is subscription:
                self._receive(data, info)

        self.close()
        subscription: Subscription[Any] = self._node.create_subscription(
            self._kind, self._topic, receive, qos, raw=True
        )
        self._subscription = subscription

    def _receive(self, data: bytes, info: MessageInfo) -> None:
        health, lost = self._hear(), self._numbers.before(info)
        if health is None:
            return
        health.count(f'{self._name}_lost', lost)
        try:
            sample = self._read(data)
        except UNREADABLE as error:
            if isinstance(error, TooLongError):
                if not self._ticks:
                    self._listen(with_few_held(self._qos))
                self._ticks = _NARROW
            detail = f'{self._topic}: {len(data)} bytes that are no {self._kind.__name__}: {error}'
            health.event(self._last_stamp, 'unreadable_message', detail)
            health.count(f'{self._name}_unreadable')
            return
        if sample.stamp > 0:
            self._last_stamp = sample.stamp
        self._take(sample)
