"""Node ``wait_for_commands``: ends when the first command of the drives has come, so that Gazebo can be started."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_settings
from pkm_description.settings import Settings, setting
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from pkm_bringup.nodes.gazebo_drives import COMMAND_TOPICS


@dataclass(frozen=True)
class WaitSettings(Settings):
    """How long to wait."""

    timeout: float = setting(30.0, 'wall time after which it ends all the same, with a warning [s]', 0.1, 3600.0)


class WaitForCommands(Node):
    """Waits for one message."""

    def __init__(self) -> None:
        super().__init__('wait_for_commands')
        self._timeout = declare_settings(self, WaitSettings).timeout
        self.create_subscription(Float64MultiArray, COMMAND_TOPICS['effort'], self._end, 10)
        self.create_timer(self._timeout, self._give_up, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _end(self, message: Float64MultiArray) -> None:
        raise SystemExit(0)

    def _give_up(self) -> None:
        self.get_logger().warning(
            f'no {COMMAND_TOPICS["effort"]} in {self._timeout:g} s: Gazebo runs on, and the machine falls'
        )
        raise SystemExit(0)


def main(args: list[str] | None = None) -> int:
    """Run the node until a command comes."""
    return run_node(WaitForCommands, args)
