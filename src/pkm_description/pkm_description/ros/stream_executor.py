"""Executor for nodes that receive messages at 1 kHz."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.subscription import Subscription

#: one turn of the streams [s]; services, timers and events wait that long at most while samples come
_TURN = 0.02
#: streams that are silent that long [ns] end their turn
_SILENCE = 5_000_000
#: messages of one topic before it is another topic's turn
_MOST_AT_ONCE = 20


class StreamExecutor(SingleThreadedExecutor):
    """Runs callbacks in the thread that calls :meth:`spin`, those of subscriptions in turns of their own.

    rclpy's executor builds a list of all entities of its nodes (a life cycle node has about forty) and a task for each
    message: 0.2 ms, more than a filter takes for the sample. While samples come, this one waits for subscriptions
    alone (as :func:`rclpy.wait_for_message.wait_for_message` does) and calls their callbacks; between turns, and while
    nothing comes, it is rclpy's executor.

    Callbacks of subscriptions are plain functions that take the message alone.
    """

    def spin(self) -> None:
        """Execute callbacks until shutdown."""
        while self.context.ok():
            self.spin_once()
            self._serve_streams()

    def _serve_streams(self) -> None:
        """Take messages until the turn is over or none comes."""
        subscriptions = [one for node in self.get_nodes() for one in node.subscriptions]
        context = self.context.handle
        if not subscriptions or context is None or not hasattr(rclpy_implementation, 'WaitSet'):
            return
        over = time.monotonic() + _TURN
        with ExitStack() as in_use:
            for one in subscriptions:
                in_use.enter_context(one.handle)
            wait_set = rclpy_implementation.WaitSet(len(subscriptions), 0, 0, 0, 0, 0, context)
            while time.monotonic() < over:
                wait_set.clear_entities()
                for one in subscriptions:
                    wait_set.add_subscription(one.handle)
                wait_set.wait(_SILENCE)
                ready = wait_set.get_ready_entities('subscription')
                if not ready or not self.context.ok():
                    return
                for one in subscriptions:
                    if one.handle.pointer in ready:
                        _take(one)


def _take(subscription: Subscription[Any]) -> None:
    callback: Any = subscription.callback
    for _ in range(_MOST_AT_ONCE):
        waiting = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        if waiting is None:
            return
        callback(waiting[0])
