"""``lifecycle nodes|get|list|set``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from lifecycle_msgs.srv import ChangeState, GetAvailableTransitions, GetState

from ros2_commands.errors import CommandError, unknown
from ros2_commands.graph import Graph


def nodes_(graph: Graph, options: argparse.Namespace) -> None:
    """Print names."""
    graph.settle()
    for name in _lifecycle_nodes(graph):
        print(name)


def get_(graph: Graph, options: argparse.Namespace) -> None:
    """Print states, behind the name of their node if no node was asked for."""
    if options.node:
        state = graph.call(GetState, f'{_require(graph, options.node)}/get_state', GetState.Request()).current_state
        print(f'{state.label} [{state.id}]')
        return
    graph.settle()
    for name in _lifecycle_nodes(graph):
        state = graph.call(GetState, f'{name}/get_state', GetState.Request()).current_state
        print(f'{name}: {state.label} [{state.id}]')


def list_(graph: Graph, options: argparse.Namespace) -> None:
    """Print the transitions from the present state."""
    for one in _available(graph, _require(graph, options.node)):
        print(f'- {one.transition.label} [{one.transition.id}]')
        print(f'\tStart: {one.start_state.label}\n\tGoal: {one.goal_state.label}')


def set_(graph: Graph, options: argparse.Namespace) -> int:
    """Make a transition, named by its label or number."""
    node = _require(graph, options.node)
    found = [one.transition for one in _available(graph, node)]
    wanted = [one for one in found if options.transition in (one.label, str(one.id))]
    if not wanted:
        known = ''.join(f'\n- {one.label} [{one.id}]' for one in found)
        raise CommandError(f'Unknown transition requested, available ones are:{known}')
    request = ChangeState.Request(transition=wanted[0])
    if graph.call(ChangeState, f'{node}/change_state', request).success:
        print('Transitioning successful')
        return 0
    print('Transitioning failed', file=sys.stderr)
    return 1


def _lifecycle_nodes(graph: Graph) -> list[str]:
    return [name for name in graph.nodes() if f'{name}/get_state' in graph.services(True)]


def _require(graph: Graph, name: str) -> str:
    node = graph.require_node(name)
    if not graph.wait(lambda: f'{node}/get_state' in graph.services(True)):
        raise unknown('lifecycle node', node, _lifecycle_nodes(graph))
    return node


def _available(graph: Graph, node: str) -> list[Any]:
    service = f'{node}/get_available_transitions'
    return list(graph.call(GetAvailableTransitions, service, GetAvailableTransitions.Request()).available_transitions)
