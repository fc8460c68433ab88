"""Notices that several programs set the simulated time."""

from __future__ import annotations

from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.time_source import USE_SIM_TIME_NAME

CLOCK = '/clock'
REMEDY = 'start all of them but one with publish_clock:=false (rosbag2: without --clock)'

#: jumps back between two questions that no bag in a loop makes
_JUMPS_OF_TWO_CLOCKS = 5


class ClockWatch:
    """Watches ``/clock`` for a node that takes its time from there, or that publishes it.

    Parameters
    ----------
    node : whose clock it is
    publishes : the node publishes ``/clock`` itself
    """

    def __init__(self, node: Node, publishes: bool = False) -> None:
        self._node, self._publishes = node, publishes
        self._jumps, self._said = 0, False
        backwards = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False)
        # kept: the clock forgets a callback whose handle is gone
        self._handle = node.get_clock().create_jump_callback(backwards, post_callback=self._count_jump)

    def _count_jump(self, _: object) -> None:
        self._jumps += 1

    def problem(self) -> str:
        """Say that there are two clocks, how they show, and what to do; empty if there is one at most.

        To be asked about once a second. The log says it, too, when it begins.
        """
        problem = self._problem()
        if problem and not self._said:
            self._node.get_logger().error(problem)
        self._said = bool(problem)
        return problem

    def _problem(self) -> str:
        jumps, self._jumps = self._jumps, 0
        if not self._publishes and not self._node.get_parameter(USE_SIM_TIME_NAME).value:
            return ''
        if self._node.count_publishers(CLOCK) > 1:
            owners = sorted(
                f'{item.node_namespace.rstrip("/")}/{item.node_name}'
                for item in self._node.get_publishers_info_by_topic(CLOCK)
            )
            return f'{len(owners)} programs publish {CLOCK}: {", ".join(owners)}; {REMEDY}'
        if jumps >= _JUMPS_OF_TWO_CLOCKS:
            return f'{CLOCK} jumped back {jumps} times within a second or so, as if two programs set it; {REMEDY}'
        return ''
