"""State while a launch description is carried out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


class LaunchError(Exception):
    """A launch description that cannot be carried out; the message is for the user."""


class LaunchContext:
    """Launch configurations, environment and namespace.

    Attributes
    ----------
    launch_configurations : argument name -> text
    environment : of the processes to start
    namespace : pushed namespaces, joined
    launch_file : path of the file that is being carried out
    is_shutdown : for functions of OnProcessExit, which this runner calls only before the shutdown begins
    """

    is_shutdown = False

    def __init__(self) -> None:
        self.launch_configurations: dict[str, str] = {}
        self.environment: dict[str, str] = dict(os.environ)
        self.namespace = ''
        self.launch_file = ''

    def push_namespace(self, namespace: str) -> None:
        """Go below a namespace; an absolute one replaces those above."""
        self.namespace = join_namespaces(self.namespace, namespace)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget at the end what changes inside."""
        saved = dict(self.launch_configurations), dict(self.environment), self.namespace
        try:
            yield
        finally:
            self.launch_configurations, self.environment, self.namespace = saved


def join_namespaces(outer: str, inner: str) -> str:
    """Join two namespaces; empty ones vanish, an absolute inner one wins."""
    if inner.startswith('/'):
        outer = ''
    parts = [part.strip('/') for part in (outer, inner) if part.strip('/')]
    return '/' + '/'.join(parts) if parts else ''
