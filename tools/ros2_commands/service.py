"""``service list|type|call``."""

from __future__ import annotations

import argparse

from ros2_commands.errors import CommandError, unknown
from ros2_commands.graph import Graph
from ros2_commands.message_text import filled, type_class
from ros2_commands.topic import print_names


def list_(graph: Graph, options: argparse.Namespace) -> None:
    """Print names."""
    graph.settle()
    print_names(graph.services(options.hidden), options)


def type_(graph: Graph, options: argparse.Namespace) -> None:
    """Print the type."""
    service = graph.absolute(options.service)
    if not graph.wait(lambda: service in graph.services(True)):
        raise unknown('service', service, graph.services())
    print(', '.join(graph.services(True)[service]))


def call_(graph: Graph, options: argparse.Namespace) -> None:
    """Call once, print request and response."""
    service = graph.absolute(options.service)
    kind = type_class(options.type, 'srv')
    request, _ = filled(kind.Request, options.values)
    if service not in graph.services(True):
        print('waiting for service to become available...', flush=True)
    if not graph.wait(lambda: service in graph.services(True), options.timeout):
        raise unknown('service', service, graph.services())
    types = graph.services(True)[service]
    if all(type_class(name, 'srv') is not kind for name in types):
        raise CommandError(f"service '{service}' has the type {types[0]}, not {options.type}")
    print(f'requester: making request: {request!r}\n', flush=True)
    print(f'response:\n{graph.call(kind, service, request, options.timeout)!r}\n')
