"""Node ``viewer``: a page in the browser that shows the robot live, and clicks as services and parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.frames import declare_frames
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.settings import Settings, setting
from rcl_interfaces.srv import SetParameters
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_srvs.srv import Trigger

from pkm_bringup.ros import fault_parameter
from pkm_bringup.ros.viewer_streams import ViewerStreams
from pkm_bringup.viewer.moment import LEVELS, Moment, Request, Status
from pkm_bringup.viewer.page import ViewerPage

#: times per second that plots, numbers and messages are renewed
_REFRESH_RATE = 4.0
SERVICES = (
    'estimator/reset',
    'identification/start_recording',
    'identification/stop_recording',
    'identification/identify',
)


@dataclass(frozen=True)
class ViewerSettings(Settings):
    """Where the page is, and how often it is renewed."""

    port: int = setting(8080, 'of the page; the next free one if it is taken', 1, 65535)
    host: str = setting('127.0.0.1', 'interface to listen on; 0.0.0.0: browsers on other computers, too')
    rate: float = setting(20.0, 'largest rate of the picture [Hz]', 0.5, 60.0)


class Viewer(Node):
    """Shows one robot: its own namespace, relative topics. Without a browser it subscribes to no stream."""

    def __init__(self) -> None:
        super().__init__('viewer')
        machine = declare_machine(self)
        settings = declare_settings(self, ViewerSettings)
        namespace = self.get_namespace()
        self._robot = '' if namespace == '/' else namespace
        self._page = ViewerPage(machine, settings.host, settings.port, self._robot)
        self._streams = ViewerStreams(self, machine, declare_frames(self, machine))
        self._moment = Moment(0.0)
        self._watched = False
        self._diagnostics = DiagnosticsPublisher(self)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._take_diagnostics, 50)
        self._triggers: dict[str, Any] = {name: self.create_client(Trigger, name) for name in SERVICES}
        self._simulator_client: Any = self.create_client(SetParameters, 'simulator/set_parameters')
        steady = Clock(clock_type=ClockType.STEADY_TIME)  # a page is watched also while the simulation pauses
        self.create_timer(1.0 / settings.rate, self._show, clock=steady)
        self.create_timer(1.0 / _REFRESH_RATE, self._refresh, clock=steady)
        self.create_timer(1.0, self._diagnose, clock=steady)
        self.get_logger().info(f'{machine.name}: open {self._page.url} in a browser')

    def _show(self) -> None:
        if not self._page.is_watched:
            if self._watched:
                self._streams.close()
                self._watched = False
            return
        self._watched = True
        for request in self._page.requests():
            self._ask(request)
        moment = self._streams.look()
        if moment is not None:
            self._moment = moment
            self._page.show(moment)

    def _refresh(self) -> None:
        if self._watched:
            self._page.refresh(self._moment)

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        # all robots share the topic
        own = {
            status.name.lstrip('/'): Status(
                min(status.level[0], len(LEVELS) - 1),
                status.message,
                {pair.key: pair.value for pair in status.values},
            )
            for status in message.status
            if f'/{status.name.lstrip("/")}'.startswith(f'{self._robot}/')
        }
        self._page.take_statuses(own)

    def _ask(self, request: Request) -> None:
        """Do what was clicked; the answer comes later."""
        call: Any
        value = _parameter_of(request)
        if value is not None:
            client, call = self._simulator_client, SetParameters.Request(parameters=[value.to_parameter_msg()])
        else:
            client, call = self._triggers[request.kind], Trigger.Request()
        if not client.service_is_ready():
            self._page.say(f'{client.srv_name}: nobody offers this service', good=False)
            return
        client.call_async(call).add_done_callback(lambda future: self._answer(request, future))

    def _answer(self, request: Request, future: Future) -> None:
        result: Any = future.result()
        if isinstance(result, SetParameters.Response):
            good, text = result.results[0].successful, result.results[0].reason
            text = text or ', '.join([*request.texts, *(f'{one:g}' for one in request.numbers)]) or 'no faults'
        else:
            good, text = result.success, result.message
        self._page.say(text, good)
        self.get_logger().info(f'{request.kind}: {text}')

    def _diagnose(self) -> None:
        problem = self._streams.problem
        text = problem or (f'shown at {self._page.url}' if self._watched else f'no browser at {self._page.url}')
        self._diagnostics.publish({'page': (Level.WARN if problem else Level.OK, text, {})})

    def destroy_node(self) -> None:
        """Close the page, too."""
        self._page.close()
        super().destroy_node()


def _parameter_of(request: Request) -> Parameter | None:
    """Parameter of the simulator that a request sets; ``None``: it calls a service."""
    if request.kind == fault_parameter.PARAMETER:
        return Parameter(request.kind, Parameter.Type.STRING_ARRAY, list(request.texts))
    if request.kind == fault_parameter.PAYLOAD_PARAMETER:
        return Parameter(request.kind, Parameter.Type.DOUBLE_ARRAY, list(request.numbers))
    return None


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT."""
    return run_node(Viewer, args)
