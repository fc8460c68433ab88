"""Node ``demo``: runs the demo on the whole system, prints progress, and checks the results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.machine import PlatformMotion
from pkm_description.motion.profiles import profile
from pkm_description.ros.frames import declare_frames
from pkm_description.ros.node_main import StreamExecutor, run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import LOSSLESS_QOS, REFERENCE_QOS
from pkm_description.settings import Settings, setting
from pkm_description.writing import write_text
from pkm_estimation.stream import EstimatorConfig
from rcl_interfaces.srv import SetParameters
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory

from pkm_bringup.demo.aftermath import assess
from pkm_bringup.demo.criteria import DemoError, payload_of
from pkm_bringup.demo.live_errors import LIVE_TOPICS, LiveErrors
from pkm_bringup.demo.report import Journal, last_page, verdict_json
from pkm_bringup.demo.run import DemoRun, Phase, plan
from pkm_bringup.recording import message_class
from pkm_bringup.ros.fault_parameter import PAYLOAD_PARAMETER as PAYLOAD
from pkm_bringup.ros.reference_message import KNOT_RATE, message_from_motion
from pkm_bringup.ros.service_calls import answer_of

#: services that must be there, and topics with the nodes that must listen before the simulation starts
SERVICES = (
    'simulator/start',
    'simulator/pause',
    'estimator/reset',
    'identification/start_recording',
    'identification/identify',
    'online_identification/save',
    'recorder/stop',
)
LISTENERS = {
    'platform/reference': ('simulator',),
    'joint_states': ('estimator', 'identification', 'online_identification', 'recorder'),
    'imu/data_raw': ('estimator', 'recorder'),
    'ground_truth/odometry': ('recorder',),
    'platform/odometry': ('recorder',),
    'baseline/odometry': ('recorder',),
    'imu/data': ('recorder',),
}

#: topics that only one node may publish
SINGLE_PUBLISHER = ('/clock', 'joint_states', 'imu/data_raw', 'platform/odometry')


@dataclass(frozen=True)
class DemoSettings(Settings):
    """Lengths of the demo's parts, and where its results go."""

    output: str = setting('', 'directory of this run: log, bag, identification')
    tracking_duration: float = setting(70.0, 'tracking motion [s]', 4.0, 3600.0)
    excitation_duration: float = setting(25.0, 'excitation motion [s]', 5.0, 3600.0)
    validation_duration: float = setting(20.0, 'validation motion [s]', 5.0, 3600.0)
    payload_duration: float = setting(20.0, 'motion on which a payload is dropped [s]', 4.0, 3600.0)
    seed: int = setting(0, 'of the Fourier motions', 0, 2**31 - 1)
    progress_period: float = setting(5.0, 'simulated time between progress lines [s]', 0.1, 3600.0)
    patience: float = setting(60.0, 'longest wait for nodes and services [s]', 1.0, 3600.0)


class DemoNode(Node):
    """The demo's view of the other nodes; see :class:`pkm_bringup.demo.run.DemoSystem`."""

    def __init__(self) -> None:
        super().__init__('demo')
        self._machine = declare_machine(self)
        self._settings = settings = declare_settings(self, DemoSettings)
        self._frames = declare_frames(self, self._machine)
        if not settings.output:
            raise DemoError("parameter 'output' is empty: name the directory of this run")
        self._output = Path(settings.output)
        self._timeline = plan(
            settings.tracking_duration, settings.excitation_duration, settings.validation_duration,
            settings.payload_duration,
        )  # fmt: skip
        self._named = ''
        self._simulator: Any = self.create_client(SetParameters, 'simulator/set_parameters')
        self._journal = Journal(self._output / 'demo.log')
        self._live = LiveErrors(self._machine)
        self._references = self.create_publisher(MultiDOFJointTrajectory, 'platform/reference', REFERENCE_QOS)
        for topic, (kind, _) in LIVE_TOPICS.items():
            take = partial(self._live.add, topic)
            self.create_subscription(message_class(kind), topic, take, LOSSLESS_QOS, raw=True)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._take_diagnostics, 10)
        self._service_clients: dict[str, Client] = {
            name: self.create_client(Trigger, name) for name in (*SERVICES, 'identification/stop_recording')
        }
        self._executor = StreamExecutor()
        self._executor.add_node(self)
        self._finished = False

    def run(self) -> None:
        """Lead through the demo; ends with SystemExit, code 0 only if every limit holds."""
        say, patience = self._journal.say, self._settings.patience
        say(f'=== demo: {self._machine.name}, {self._machine.description}; results in {self._output}')
        run = DemoRun(self, self._timeline, self._motion, self._journal, self._settings.progress_period, patience,
                      payload_of(self._machine))  # fmt: skip
        try:
            run.wait_for_nodes()
            run.play()
            say('  closing the bag ...')
            say(f'  recorder: {self.call("recorder/stop", patience)}')
            say('  identification from the two recordings ...')
            say(f'  identification: {self.call("identification/identify", 2 * patience)}')
            say(f'  identification while it runs: {self.call("online_identification/save", patience)}')
            machine_file = str(self.get_parameter('machine_file').value)
            # the live estimator runs with its default settings in the demo
            outcome = assess(
                self._output,
                self._machine,
                self._timeline,
                EstimatorConfig(),
                self.get_namespace(),
                machine_file,
                say,
            )
        except PkmError as error:
            self._finished = True
            say(f'FAILED: {error}')
            raise SystemExit(1) from None
        self._finished = True
        say(last_page(outcome))
        write_text(self._output / 'verdict.json', verdict_json(outcome))
        raise SystemExit(1 if outcome.failed else 0)

    def missing(self) -> list[str]:
        """Say who is not there yet."""
        missing = {
            name.split('/')[0]: f'the node {name.split("/")[0]}'
            for name in SERVICES
            if not self._service_clients[name].service_is_ready()
        }
        for topic, listeners in LISTENERS.items():
            names = {
                item.node_name
                for item in self.get_subscriptions_info_by_topic(self.resolve_topic_name(topic))
            }
            for listener in listeners:
                if listener not in names:
                    missing.setdefault(listener, f'subscriber {listener} on {topic}')
        return list(missing.values())

    def conflicts(self) -> list[str]:
        """Say which topics have more than one publisher: another demo, simulator or driver."""
        counts = {topic: self.count_publishers(self.resolve_topic_name(topic)) for topic in SINGLE_PUBLISHER}
        return [f'{count} publishers of {topic}' for topic, count in counts.items() if count > 1]

    def wait(self, seconds: float) -> None:
        """Serve what comes in."""
        self._executor.serve(seconds)

    def simulated_time(self) -> float:
        """Time on ``/clock``, s."""
        return self.get_clock().now().nanoseconds * 1e-9

    def estimated_time(self) -> float:
        """Stamp of the last estimate, s."""
        return self._live.latest_estimate

    def send_reference(self, motion: PlatformMotion, start: float) -> None:
        """Publish a reference with an absolute stamp."""
        self._references.publish(message_from_motion(motion, round(start * 1e9), self._frames))

    def call(self, service: str, patience: float) -> str:
        """Call a Trigger service and serve everything else meanwhile."""
        result = answer_of(self._service_clients[service], Trigger.Request(), service, self.wait, patience)
        if not result.success:
            raise DemoError(f'{service} failed: {result.message}')
        return str(result.message)

    def put_payload(self, mass: float, center: Array) -> None:
        """Set the parameter of the simulator; an answer that refuses it ends the demo."""
        value = Parameter(PAYLOAD, value=[mass, *np.asarray(center).tolist()])
        request = SetParameters.Request(parameters=[value.to_parameter_msg()])
        answer = answer_of(
            self._simulator, request, 'simulator/set_parameters', self.wait, self._settings.patience
        )
        if not answer.results[0].successful:
            raise DemoError(f'the simulator takes no payload: {answer.results[0].reason}')

    def payload_named(self) -> str:
        """What the last diagnostics say of a change of the load."""
        return self._named

    def live_line(self, time: float, motion: str) -> str:
        """Errors since the last line."""
        return self._live.line(time, motion)

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith('estimator: filter'):
                self._live.take_estimator_values({item.key: item.value for item in status.values})
            elif status.name.endswith('online_identification: identification'):
                self._named = next((item.value for item in status.values if item.key == 'payload'), '')

    def _motion(self, phase: Phase) -> PlatformMotion:
        return profile(phase.profile, self._machine, phase.duration, KNOT_RATE, self._settings.seed)

    def destroy_node(self) -> None:
        """Say that the run was interrupted, if it was."""
        if hasattr(self, '_journal') and not self._finished:
            bag = self._output / 'bag'
            self._journal.say(f'interrupted: nothing was judged; what was recorded so far is in {bag}')
        super().destroy_node()


def main(args: list[str] | None = None) -> int:
    """Run the demo once."""
    return run_node(DemoNode, args)
