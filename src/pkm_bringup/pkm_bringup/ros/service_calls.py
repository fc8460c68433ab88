"""Trigger services called one after another, without waiting inside of a callback."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

#: s that nodes get to take what they have received before a service is called: it would overtake messages
_SETTLING = 1.0

#: s until a service must be there
_DISCOVERY = 10.0


class ServiceCalls:
    """Calls services in their order; the first failure ends it.

    Parameters
    ----------
    node : has to be spun between the calls of :meth:`proceed`
    services : names
    patience : s, longest wait for an answer

    Attributes
    ----------
    current : service that is being called
    failed : whether one was not there, did not answer, or refused

    """

    def __init__(self, node: Node, services: Sequence[str], patience: float) -> None:
        self._node, self._patience = node, patience
        self._waiting: list[tuple[str, Any]] = [(name, node.create_client(Trigger, name)) for name in services]
        self._since: float | None = None
        self._answer: Any = None
        self.current = ''
        self.failed = False

    def proceed(self) -> bool:
        """Do what can be done now; returns whether all is done."""
        if not self._waiting or self.failed:
            return True
        now = time.monotonic()
        if self._since is None:
            self._since = now
        waited = now - self._since
        name, client = self._waiting[0]
        self.current = name
        if self._answer is None:
            if client.service_is_ready() and waited >= _SETTLING:
                self._answer, self._since = client.call_async(Trigger.Request()), now
            elif waited > _DISCOVERY:
                self._fail(f'{name} is not there; does its node run?')
        elif self._answer.done():
            self._take(name, self._answer.result())
        elif waited > self._patience:
            self._fail(f'{name} did not answer within {self._patience:g} s')
        return False

    def _take(self, name: str, answer: Trigger.Response) -> None:
        if not answer.success:
            self._fail(f'{name} failed: {answer.message}')
            return
        self._node.get_logger().info(f'{name}: {answer.message}')
        del self._waiting[0]
        self._since = self._answer = None
        self.current = ''

    def _fail(self, text: str) -> None:
        self.failed = True
        self._node.get_logger().error(text)
