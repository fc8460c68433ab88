"""Executor of the nodes: streams of up to 1 kHz cost little."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import ExitStack
from inspect import signature
from itertools import chain
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.subscription import Subscription

#: one turn of the streams [s]; events of the middleware (QoS) wait that long at most while samples come
_TURN = 0.2
#: what else ends a turn at once, by its name in rclpy's wait sets
_ENDS_TURN = ('timer', 'client', 'service', 'guard_condition')
#: messages of one topic before it is another topic's turn: where a message is processed, and where it is only queued;
#: time [s] for which these are taken at most: one of a megabyte takes milliseconds
_MOST_AT_ONCE, _MOST_QUEUED, _TAKING = 20, 1000, 0.02


class StreamExecutor(SingleThreadedExecutor):
    """Runs callbacks in the thread that calls :meth:`spin`, those of subscriptions in turns of their own.

    rclpy's executor builds a list of all entities of its nodes (a life cycle node has about forty) and a task for each
    message, which takes longer than a filter does for the sample. While samples come, this one keeps its list and
    calls callbacks of subscriptions itself. As soon as a timer, a service, a client or anything new is ready, between
    turns, and while nothing comes, it is rclpy's executor.

    Callbacks of subscriptions are plain functions that take the message, or the message and what the middleware says of
    it, as in rclpy.

    A node may have a method ``work_off()``, and an attribute ``is_worked_off`` that is set here: its callbacks then
    only queue what they get, and the method is called when all that waits in the middleware has been taken. It returns
    whether there is more to do; then it is called again, after what has come meanwhile. So a node knows how far it is
    behind, and the middleware's queues do not overflow while it works.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_busy = False

    def add_node(self, node: Node) -> bool:
        """Add a node; one that works off its queue is told that it will be called."""
        if hasattr(node, 'work_off'):
            node.is_worked_off = True  # type: ignore[attr-defined]
        return super().add_node(node)

    def spin(self) -> None:
        """Execute callbacks until shutdown."""
        while self.context.ok():
            self.spin_once(timeout_sec=0.0 if self._is_busy else None)
            self._is_busy = self._serve_streams()

    def serve(self, seconds: float) -> None:
        """Execute callbacks for so long (a turn more at most)."""
        over = time.monotonic() + seconds
        while self.context.ok() and (left := over - time.monotonic()) > 0.0:
            # one timeout while there is something to do, not what is left: at a new one rclpy forgets what else was
            # ready and begins with the subscriptions again, so that beside fast topics no service is ever answered
            self.spin_once(timeout_sec=0.0 if self._is_busy else min(left, _TURN))
            self._is_busy = self._serve_streams(min(left, _TURN))

    def _work_off(self, least: float = 0.0) -> bool:
        """Let nodes do what their messages ask for, for at least so long [s]; whether there is more to do."""
        nodes = [node for node in self.get_nodes() if hasattr(node, 'work_off')]
        over = time.monotonic() + least
        while True:
            busy = [node for node in nodes if node.work_off()]
            if not busy or time.monotonic() >= over:
                return bool(busy)

    def _others(self, nodes: Iterable[Node]) -> list[list[Any]]:
        """What ends a turn, in the order of a wait set: guard conditions, timers, clients, services."""
        # triggered where rclpy's executor has a task, its nodes have something new, or SIGINT comes
        guards = [one for name in ('_guard', '_sigint_gc') if (one := getattr(self, name, None)) is not None]
        others = (
            [one for node in nodes for one in getattr(node, kind) if self.can_execute(one)]
            for kind in ('timers', 'clients', 'services')
        )
        return [guards, *others]

    def _serve_streams(self, turn: float = _TURN) -> bool:
        """Take messages for so long [s], or until something else is ready; False if nothing was."""
        nodes = list(self.get_nodes())
        subscriptions = [
            (one, _arguments(one), _MOST_QUEUED if hasattr(node, 'work_off') else _MOST_AT_ONCE)
            for node in nodes
            for one in node.subscriptions
            if self.can_execute(one)
        ]
        context, is_busy = self.context.handle, self._work_off()
        if not subscriptions or context is None or not hasattr(rclpy_implementation, 'WaitSet'):
            return is_busy
        handles = [[one.handle for one in ones] for ones in ([one for one, *_ in subscriptions], *self._others(nodes))]
        over, was_busy = time.monotonic() + turn, is_busy
        with ExitStack() as in_use:
            for handle in chain.from_iterable(handles):
                in_use.enter_context(handle)
            kind: Any = rclpy_implementation.WaitSet  # its type information is incomplete
            wait_set = kind(*map(len, handles), 0, context)
            add = (
                wait_set.add_subscription, wait_set.add_guard_condition, wait_set.add_timer, wait_set.add_client,
                wait_set.add_service,
            )  # fmt: skip
            while (left := over - time.monotonic()) > 0.0:
                wait_set.clear_entities()
                for add_one, ones in zip(add, handles, strict=True):
                    for handle in ones:
                        add_one(handle)
                wait_set.wait(0 if is_busy else round(1e9 * left))
                if not self.context.ok():
                    return is_busy
                ready = wait_set.get_ready_entities('subscription')
                begin = time.monotonic()
                for one, arguments, most in subscriptions:
                    if one.handle.pointer in ready:
                        _take(one, arguments, most)
                was_busy = was_busy or bool(ready) or is_busy
                ends = any(wait_set.get_ready_entities(name) for name in _ENDS_TURN)
                # a flood of messages leaves half of the time for the work
                is_busy = self._work_off(time.monotonic() - begin)
                if ends:
                    return True
                if not (ready or is_busy):
                    return was_busy
        return was_busy


def _arguments(subscription: Subscription[Any]) -> int:
    """How many arguments the callback takes."""
    return len(signature(subscription.callback).parameters)


def _take(subscription: Subscription[Any], arguments: int, most: int) -> None:
    callback: Any = subscription.callback
    over = time.monotonic() + _TAKING
    for _ in range(most):
        if time.monotonic() > over:
            return
        waiting = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        if waiting is None:
            return
        callback(*waiting[:arguments])
