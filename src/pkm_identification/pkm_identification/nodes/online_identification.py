"""Lifecycle node ``online_identification``: parameters, residuals and payload while the machine runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import yaml
from geometry_msgs.msg import InertiaStamped
from pkm_description.errors import PkmError, UnwritableError
from pkm_description.ros.conversions import nanoseconds, stamp
from pkm_description.ros.diagnostics import LEVELS, DiagnosticsPublisher, Level
from pkm_description.ros.frames import declare_frames
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import LATCHED_QOS, RELIABLE_STREAM_QOS, declare_stream_qos
from pkm_description.writing import make_folder, write_text
from pkm_estimation.stream.backlog import allowed_lag
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, String
from std_srvs.srv import SetBool, Trigger

from pkm_identification.nodes.node_settings import OnlineNodeSettings, output_directory
from pkm_identification.online.identifier import OnlineSample
from pkm_identification.online.payload import Payload
from pkm_identification.online.settings import OnlineSettings
from pkm_identification.online.stream import OnlineBacklog, OnlineStream, write_overlay

#: ns between two messages of the parameters and of the payload
_PARAMETER_PERIOD = 100_000_000


class _Waiting(NamedTuple):
    """A message that waits, and its stamp [ns]."""

    stamp: int
    message: JointState


class OnlineIdentificationNode(LifecycleNode):
    """Converts messages for one :class:`OnlineStream`. Topics without subscribers are not computed."""

    def __init__(self) -> None:
        super().__init__('online_identification')
        self._machine = declare_machine(self)
        self._settings = declare_settings(self, OnlineSettings)
        of_node = declare_settings(self, OnlineNodeSettings)
        self._directory = output_directory(of_node.output_directory)
        self._frames = declare_frames(self, self._machine)
        self._qos = declare_stream_qos(self)
        self._stream: OnlineStream | None = None
        self._is_active = self.is_worked_off = False
        is_lossless = self._qos.reliability == ReliabilityPolicy.RELIABLE
        self._backlog = OnlineBacklog[_Waiting](allowed_lag(of_node.maximum_lag, is_lossless))
        self._next_parameters = 0
        self._predicted_publisher = self.create_publisher(JointState, '~/predicted', RELIABLE_STREAM_QOS)
        self._residual_publisher = self.create_publisher(JointState, '~/residual', RELIABLE_STREAM_QOS)
        self._values_publisher = self.create_publisher(Float64MultiArray, '~/parameters', RELIABLE_STREAM_QOS)
        self._names_publisher = self.create_publisher(String, '~/parameter_names', LATCHED_QOS)
        self._payload_publisher = self.create_publisher(InertiaStamped, '~/payload', LATCHED_QOS)
        self.create_service(Trigger, '~/reset', self._reset)
        self.create_service(SetBool, '~/freeze', self._freeze)
        self.create_service(Trigger, '~/save', self._save)
        self._diagnostics = DiagnosticsPublisher(self)
        self.create_timer(1.0, self._diagnose, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.create_subscription(JointState, self._machine.driver.joint_topic, self._take, self._qos)
        if of_node.autostart:
            self.trigger_configure()
            self.trigger_activate()

    # -- life cycle ----------------------------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make the identifier."""
        self._stream = OnlineStream(self._machine, self._settings)
        self._names_publisher.publish(String(data='\n'.join(self._stream.identifier.observation.base.names)))
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start with the next joint states."""
        self._is_active = True
        self.get_logger().info(f'{self._machine.name}: listening to {self._machine.driver.joint_topic}')
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Ignore joint states, those that wait among them; what was learned stays."""
        self._is_active = False
        self._backlog.clear()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget everything."""
        self._is_active, self._stream = False, None
        return TransitionCallbackReturn.SUCCESS

    # -- stream --------------------------------------------------------------------------------------------------------

    def _take(self, message: JointState) -> None:
        if not self._is_active:
            return
        self._backlog.add(_Waiting(nanoseconds(message.header.stamp), message))
        if not self.is_worked_off:
            while self.work_off():
                pass

    def work_off(self) -> bool:
        """Process some of the joint states that wait; whether there are more."""
        if self._stream is not None:
            for time, message in self._backlog.turn():
                self._process(self._stream, time, message)
        return len(self._backlog) > 0

    def _process(self, stream: OnlineStream, time: int, message: JointState) -> None:
        sample = stream.add(time, message.name, message.position, message.effort)
        if sample is None:
            return
        for news in stream.news():
            self.get_logger().warning(news)
        self._publish_forces(sample)
        if sample.stamp >= self._next_parameters or sample.stamp < self._next_parameters - _PARAMETER_PERIOD:
            self._next_parameters = sample.stamp + _PARAMETER_PERIOD
            self._publish_parameters(stream, sample.stamp)

    def _publish_forces(self, sample: OnlineSample) -> None:
        publishers = self._predicted_publisher, self._residual_publisher
        for publisher, efforts in zip(publishers, (sample.predicted, sample.residual), strict=True):
            if publisher.get_subscription_count() == 0:
                continue
            message = JointState(
                name=list(self._machine.actuated_joint_names), position=sample.positions.tolist(),
                velocity=sample.velocities.tolist(), effort=efforts.tolist(),
            )  # fmt: skip
            message.header.stamp = stamp(sample.stamp)
            publisher.publish(message)

    def _publish_parameters(self, stream: OnlineStream, time: int) -> None:
        identifier = stream.identifier
        if self._values_publisher.get_subscription_count():
            std = identifier.std if identifier.is_certain else np.full(len(identifier.std), np.inf)
            values = np.stack([identifier.parameters, std])
            message = Float64MultiArray(data=values.ravel().tolist())
            message.layout.dim = [
                MultiArrayDimension(label='value, std', size=2, stride=values.size),
                MultiArrayDimension(label='parameter', size=values.shape[1], stride=values.shape[1]),
            ]
            self._values_publisher.publish(message)
        if identifier.payload is not None:
            self._payload_publisher.publish(_inertia(identifier.payload, time, self._frames.platform))

    # -- services ------------------------------------------------------------------------------------------------------

    def _reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._stream is not None:
            self._stream.identifier.reset()
        response.success, response.message = self._stream is not None, 'starts anew from the machine file'
        return response

    def _freeze(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self._stream is not None:
            self._stream.identifier.is_frozen = request.data
        response.success = self._stream is not None
        response.message = 'parameters are held' if request.data else 'parameters are learned'
        return response

    def _save(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._stream is None:
            response.message = 'not configured: there is nothing to save'
            return response
        path = self._directory / 'online_parameters.yaml'
        try:
            make_folder(path.parent)
            write_text(path, yaml.safe_dump(self._stream.content(), sort_keys=False))
        except UnwritableError as error:
            response.message = f'{error} (parameter output_directory)'
            return response
        response.success, response.message = True, f'wrote {path}{self._save_overlay(self._stream)}'
        return response

    def _save_overlay(self, stream: OnlineStream) -> str:
        """Write the overlay beside the numbers; what became of it."""
        path = self._directory / 'online_overlay.yaml'
        try:
            write_overlay(stream.identifier, path, datetime.now(UTC).date().isoformat())
        except (PkmError, OSError) as error:
            return f'; no overlay: {error}'
        return f' and {path}'

    def _diagnose(self) -> None:
        if self._stream is None or not self._is_active:
            self._diagnostics.publish({'identification': (Level.STALE, 'not active', {})})
            return
        is_healthy, sentence, values = self._stream.report()
        load, told, figures = self._backlog.report()
        self._diagnostics.publish({
            'identification': (Level.OK if is_healthy else Level.WARN, sentence, values),
            'parameters': (Level.OK, 'base parameters', self._stream.parameter_texts()),
            'load': (LEVELS[load], told, figures),
        })


def _inertia(payload: Payload, time: int, frame: str) -> InertiaStamped:
    """Message of a payload: centre of mass, and inertia about it, in the platform's axes."""
    message = InertiaStamped()
    message.header.stamp, message.header.frame_id = stamp(time), frame
    inertia, (x, y, z) = message.inertia, payload.center.tolist()
    inertia.m = payload.mass
    inertia.com.x, inertia.com.y, inertia.com.z = x, y, z
    about = payload.inertia_about_center
    inertia.ixx, inertia.ixy, inertia.ixz = about[0].tolist()
    inertia.iyy, inertia.iyz, inertia.izz = float(about[1, 1]), float(about[1, 2]), float(about[2, 2])
    return message


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run_node(OnlineIdentificationNode, args)


if __name__ == '__main__':
    sys.exit(main())
