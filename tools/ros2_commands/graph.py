"""A hidden node that knows which nodes, topics and services there are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import rclpy
from rclpy.node import Node

from ros2_commands.errors import CommandError, unknown

#: s; the graph is known when nothing new has come for so long
_QUIET = 0.8

#: s; a list is as complete as it gets after so long
_LONGEST = 5.0


class Graph:
    """View of the running system through a node of its own.

    Parameters
    ----------
    spin_time : s to wait for what is asked for, and at most for lists to be complete

    Attributes
    ----------
    node : hidden, as those of ``ros2``
    """

    def __init__(self, spin_time: float) -> None:
        self._spin_time = spin_time

    def __enter__(self) -> Graph:
        # SIGINT stays Python's: it raises KeyboardInterrupt wherever the command waits
        rclpy.init(args=[], signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
        self.node = Node(f'_pkm_command_{os.getpid()}', start_parameter_services=False, enable_rosout=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.node.destroy_node()
        rclpy.try_shutdown()

    def settle(self) -> None:
        """Wait until somebody is there and nothing new is discovered, but not for ever where nodes come and go."""
        end, last, seen = time.monotonic() + min(self._spin_time, _LONGEST), time.monotonic(), None
        while time.monotonic() < end:
            now = self.nodes(), self.topics(True), self.services(True)
            if now != seen:
                seen, last = now, time.monotonic()
            elif now[0] and time.monotonic() > last + _QUIET:
                return
            time.sleep(0.02)

    def wait(self, condition: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until a condition holds; whether it does."""
        end = time.monotonic() + (self._spin_time if timeout is None else timeout)
        while not (holds := condition()) and time.monotonic() < end:
            time.sleep(0.02)
        return holds

    def absolute(self, name: str) -> str:
        """Name with a slash."""
        return name if name.startswith('/') else f'/{name}'

    def topics(self, hidden: bool = False) -> dict[str, list[str]]:
        """Topic -> types."""
        return _shown(self.node.get_topic_names_and_types(), hidden)

    def services(self, hidden: bool = False) -> dict[str, list[str]]:
        """Service -> types."""
        return _shown(self.node.get_service_names_and_types(), hidden)

    def nodes(self, hidden: bool = False) -> list[str]:
        """Full names."""
        found = [f'{namespace.rstrip("/")}/{name}' for name, namespace in self.node.get_node_names_and_namespaces()]
        return sorted(name for name in found if hidden or '/_' not in name)

    def topic_type(self, topic: str) -> str:
        """Type of a topic that is published or subscribed; only such a one has a type."""
        if not self.wait(lambda: topic in self.topics(True)):
            raise unknown('topic', topic, self.topics())
        types = self.topics(True)[topic]
        if len(types) != 1:
            raise CommandError(f"topic '{topic}' has several types: {', '.join(types)}; name one")
        return types[0]

    def require_node(self, name: str) -> str:
        """Full name of a node that is there."""
        name = self.absolute(name)
        if not self.wait(lambda: name in self.nodes(True)):
            raise unknown('node', name, self.nodes())
        return name

    def call(self, kind: Any, service: str, request: Any, timeout: float = 10.0) -> Any:
        """Response of a service."""
        client: Any = self.node.create_client(kind, service)
        try:
            if not client.wait_for_service(timeout_sec=timeout):
                raise CommandError(f"service '{service}' does not answer")
            future = client.call_async(request)
            rclpy.spin_until_future_complete(self.node, future)
            return future.result()
        finally:
            self.node.destroy_client(client)


def _shown(names_and_types: list[tuple[str, list[str]]], hidden: bool) -> dict[str, list[str]]:
    return {name: list(types) for name, types in sorted(names_and_types) if hidden or '/_' not in name}
