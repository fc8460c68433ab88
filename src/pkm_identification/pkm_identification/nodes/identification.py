"""Node ``identification``: records joint states on demand and identifies the machine's parameters."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Sequence
from functools import partial

from nav_msgs.msg import Odometry
from pkm_description.errors import PkmError
from pkm_description.ros.conversions import nanoseconds
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.frames import FrameCheck, declare_frames
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import declare_stream_qos
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from pkm_identification.configuration import IdentificationConfig
from pkm_identification.nodes.node_settings import IdentificationNodeSettings, output_directory
from pkm_identification.session import IdentificationSession

#: s without a sample after which no more is expected
_SILENCE = 0.5

#: what to do about poses of something else; they would give wrong forces, so they are not used
FOREIGN_POSE = (
    "the pose is not used; give the estimator of this robot this node's frame_prefix, and reference_point [0, 0, 0]"
)


class IdentificationNode(Node):
    """Converts messages and services for one :class:`IdentificationSession`."""

    def __init__(self) -> None:
        super().__init__('identification')
        machine = declare_machine(self)
        config = declare_settings(self, IdentificationConfig)
        settings = declare_settings(self, IdentificationNodeSettings)
        self._frames = declare_frames(self, machine)
        self._frame_check = FrameCheck(self, self._frames)
        qos = declare_stream_qos(self)
        self._session = IdentificationSession(
            machine, config, output_directory(settings.output_directory), settings.longest_recording, settings.windows
        )

        self._heard_at = 0.0
        # a long identification must not hold up the recording of messages, nor the diagnostics
        streams, commands = MutuallyExclusiveCallbackGroup(), MutuallyExclusiveCallbackGroup()
        topic = machine.driver.joint_topic
        self.create_subscription(JointState, topic, self._take_joint_states, qos, callback_group=streams)
        if config.motion.source == 'estimator':
            self.create_subscription(Odometry, 'platform/odometry', self._take_odometry, qos, callback_group=streams)
        for name in ('start_recording', 'stop_recording', 'identify', 'save'):
            self.create_service(Trigger, f'~/{name}', self._answer(name), callback_group=commands)
        self._diagnostics = DiagnosticsPublisher(self)
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self._diagnose, callback_group=streams, clock=wall)
        self.get_logger().info(f'{machine.name}: ready; call {self.get_fully_qualified_name()}/start_recording')

    def _take_joint_states(self, message: JointState) -> None:
        self._heard_at = time.monotonic()
        self._session.add_joint_states(
            nanoseconds(message.header.stamp), message.name, message.position, message.effort
        )

    def _take_odometry(self, message: Odometry) -> None:
        ours = [
            self._frame_check.is_ours(f'{topic} of platform/odometry', frame, wanted, FOREIGN_POSE)
            for topic, frame, wanted in (
                ('frame', message.header.frame_id, self._frames.base),
                ('child frame', message.child_frame_id, self._frames.platform),
            )
        ]
        if not all(ours):
            return
        position, orientation = message.pose.pose.position, message.pose.pose.orientation
        self._session.add_pose(
            nanoseconds(message.header.stamp),
            (position.x, position.y, position.z),
            (orientation.x, orientation.y, orientation.z, orientation.w),
        )

    def _answer(self, name: str):  # type: ignore[no-untyped-def] # noqa: ANN202
        """Service callback that runs the session's method of that name."""

        def callback(_request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            try:
                if name == 'identify':
                    self._wait_for_samples()
                    response.message = self._session.identify(progress=self.get_logger().info)
                else:
                    response.message = getattr(self._session, name)()
                response.success = True
                self.get_logger().info(response.message)
            except (PkmError, OSError) as error:
                response.success, response.message = False, str(error)
                self.get_logger().warning(f'{name}: {error}')
            except Exception as error:
                # a flaw of ours must not cost the recordings: the node goes on and can save them
                response.success, response.message = False, f'unexpected {error!r}; the log has the place'
                self.get_logger().error(f'{name}: {traceback.format_exc()}')
            return response

        return callback

    def _wait_for_samples(self) -> None:
        """Let the other thread take the samples that were sent before the call, until none comes any more."""
        self._heard_at = time.monotonic()
        while self._session.may_lack_samples and time.monotonic() - self._heard_at < _SILENCE:
            time.sleep(0.02)

    def _diagnose(self) -> None:
        session = self._session
        level = Level.WARN if session.trouble else Level.OK
        text = session.trouble or session.state
        values: dict[str, object] = {'state': session.state, 'threads': threading.active_count()}
        told = {'identification': (level, text, values | session.figures())}
        if session.result is not None:
            told['parameters'] = (Level.OK, session.result.summary, session.parameter_texts())
        self._diagnostics.publish(told | self._frame_check.statuses())


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    # one thread for the streams, one for the long work, one to spare for parameters
    return run_node(IdentificationNode, args, partial(MultiThreadedExecutor, num_threads=3))


if __name__ == '__main__':
    sys.exit(main())
