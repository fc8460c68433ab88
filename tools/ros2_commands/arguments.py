"""Options of each command, as ``ros2`` has them."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Sequence
from typing import Any

COMMANDS = {
    'topic': 'list, show and publish topics',
    'service': 'list and call services',
    'param': 'list, read and set parameters of nodes',
    'node': 'list nodes and what they publish and serve',
    'lifecycle': 'states of lifecycle nodes',
}
_EPILOG = 'This is the part of ros2 {command} that the documentation uses; more needs a ROS installation.'


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; ends the program with 2 where it is wrong."""
    parser = argparse.ArgumentParser(prog='pkm', description='ros2 commands without a ROS installation')
    every = parser.add_subparsers(dest='command', required=True, metavar='{' + ','.join(COMMANDS) + '}')
    for command, text in COMMANDS.items():
        epilog = _EPILOG.format(command=command)
        one = every.add_parser(command, help=text, description=text, epilog=epilog)
        verbs = one.add_subparsers(dest='verb', required=True)
        for verb, (help_text, add) in _VERBS[command].items():
            verb_parser = verbs.add_parser(verb, help=help_text, description=help_text, epilog=epilog)
            verb_parser.add_argument(
                '--spin-time', type=float, default=10.0, metavar='S', help='longest wait for discovery (default 10)'
            )
            add(verb_parser.add_argument)
    return parser.parse_args(arguments)


def commands() -> dict[tuple[str, str], Callable[..., int | None]]:
    """Function of each command and verb; imports rclpy."""
    found: dict[tuple[str, str], Callable[..., int | None]] = {}
    for command, verbs in _VERBS.items():
        module = importlib.import_module(f'ros2_commands.{command}')
        found |= {(command, verb): getattr(module, f'{verb}_') for verb in verbs}
    return found


def _list(hidden: str) -> Callable[[Any], None]:
    def add(argument: Any) -> None:
        argument('-t', '--show-types', action='store_true', help='show the types, too')
        argument('-c', f'--count-{hidden}', dest='count', action='store_true', help='show only how many there are')
        argument(f'--include-hidden-{hidden}', dest='hidden', action='store_true', help='hidden ones, too')

    return add


def _qos(argument: Any) -> None:
    argument('--qos-reliability', choices=['reliable', 'best_effort'], help='default: as the publishers offer')
    argument('--qos-durability', choices=['transient_local', 'volatile'], help='default: as the publishers offer')
    argument('--qos-depth', type=int, default=10, help='queue size (default 10)')


def _echo(argument: Any) -> None:
    argument('topic')
    argument('type', nargs='?', help='default: the type that the topic has')
    argument('--once', action='store_true', help='end after the first message')
    argument('--timeout', type=float, metavar='S', help='end after so many seconds')
    argument('--field', help='show one field only, such as pose.pose.position')
    argument('--csv', action='store_true', help='one line of values with commas')
    argument('--flow-style', action='store_true', help='YAML with braces and brackets')
    argument('-f', '--full-length', action='store_true', help='show long arrays and texts to their end')
    argument('-l', '--truncate-length', type=int, default=128, help='of arrays and texts (default 128)')
    argument('--no-arr', action='store_true', help='show no arrays')
    argument('--no-str', action='store_true', help='show no texts')
    _qos(argument)


def _hz(argument: Any) -> None:
    argument('topic')
    argument('-w', '--window', type=int, default=10000, help='number of messages to average over (default 10000)')


def _topic_info(argument: Any) -> None:
    argument('topic')
    argument('-v', '--verbose', action='store_true', help='publishers and subscribers with their QoS')


def _pub(argument: Any) -> None:
    argument('topic')
    argument('type')
    argument('values', nargs='?', default='{}', help='YAML, e.g. "{data: [1.0, 2.0]}"')
    argument('-r', '--rate', type=float, default=1.0, help='Hz (default 1)')
    argument('-1', '--once', action='store_true', help='publish one message')
    argument('-t', '--times', type=int, default=0, help='publish so many messages')
    argument('-w', '--wait-matching-subscriptions', type=int, dest='wait', help='default: 1 with --once or --times')
    argument('-p', '--print', type=int, default=1, dest='print_nth', help='print every N-th message only')
    _qos(argument)


def _one(name: str) -> Callable[[Any], None]:
    def add(argument: Any) -> None:
        argument(name)

    return add


def _call(argument: Any) -> None:
    argument('service')
    argument('type')
    argument('values', nargs='?', default='{}', help='YAML, e.g. "{data: true}"')
    argument('--timeout', type=float, default=10.0, metavar='S', help='wait so long for the service (default 10)')


def _of_node(*further: str) -> Callable[[Any], None]:
    def add(argument: Any) -> None:
        argument('node')
        for name in further:
            argument(name)

    return add


def _param_list(argument: Any) -> None:
    argument('node', nargs='?', help='default: all nodes')
    argument('--param-type', action='store_true', help='show the types, too')
    argument('--filter', help='regular expression that the names match')


def _param_get(argument: Any) -> None:
    _of_node('parameter')(argument)
    argument('--hide-type', action='store_true', help='show only the value')


def _describe(argument: Any) -> None:
    argument('node')
    argument('parameters', nargs='+')


def _node_list(argument: Any) -> None:
    argument('-a', '--all', dest='hidden', action='store_true', help='hidden ones, too')
    argument('-c', '--count-nodes', dest='count', action='store_true', help='show only how many there are')


def _lifecycle_get(argument: Any) -> None:
    argument('node', nargs='?', help='default: all lifecycle nodes')


def _nothing(argument: Any) -> None:
    """No options."""


_VERBS: dict[str, dict[str, tuple[str, Callable[[Any], None]]]] = {
    'topic': {
        'list': ('names of all topics', _list('topics')),
        'echo': ('print messages', _echo),
        'hz': ('measure the rate of messages', _hz),
        'info': ('type, number of publishers and subscribers', _topic_info),
        'type': ('type of a topic', _one('topic')),
        'pub': ('publish messages', _pub),
    },
    'service': {
        'list': ('names of all services', _list('services')),
        'type': ('type of a service', _one('service')),
        'call': ('call a service', _call),
    },
    'param': {
        'list': ('names of parameters', _param_list),
        'get': ('value of a parameter', _param_get),
        'set': ('give a parameter a value', _of_node('parameter', 'value')),
        'describe': ('type, description and limits of parameters', _describe),
        'dump': ('all parameters of a node as YAML', _of_node()),
        'load': ('set the parameters of a YAML file', _of_node('file')),
    },
    'node': {
        'list': ('names of all nodes', _node_list),
        'info': ('topics and services of a node', _of_node()),
    },
    'lifecycle': {
        'nodes': ('names of the lifecycle nodes', _nothing),
        'get': ('state', _lifecycle_get),
        'list': ('transitions that are possible now', _of_node()),
        'set': ('make a transition', _of_node('transition')),
    },
}
