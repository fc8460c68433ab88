"""``node list|info``."""

from __future__ import annotations

import argparse

from ros2_commands.graph import Graph


def list_(graph: Graph, options: argparse.Namespace) -> None:
    """Print names."""
    graph.settle()
    names = graph.nodes(options.hidden)
    print(len(names) if options.count else '\n'.join(names), end='\n' if options.count or names else '')


def info_(graph: Graph, options: argparse.Namespace) -> None:
    """Print topics and services of a node."""
    full = graph.require_node(options.node)
    namespace, _, name = full.rpartition('/')
    place = name, namespace or '/'
    graph.settle()
    node = graph.node
    print(full)
    parts = {
        'Subscribers': node.get_subscriber_names_and_types_by_node(*place),
        'Publishers': node.get_publisher_names_and_types_by_node(*place),
        'Service Servers': node.get_service_names_and_types_by_node(*place),
        'Service Clients': node.get_client_names_and_types_by_node(*place),
    }
    for title, found in parts.items():
        print(f'  {title}:')
        for topic, types in sorted(found):
            if '/_' not in topic:
                print(f'    {topic}: {", ".join(types)}')
