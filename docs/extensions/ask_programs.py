"""Print as JSON what programs declare (parameters and topics of nodes, help of the others), and machine files' keys."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from collections.abc import Callable
from typing import Any

import rclpy
from ask_machine_files import machine_files
from pkm_description.errors import PkmError
from rclpy.node import Node
from suite_contents import Program, programs

#: what rclpy itself declares for every node
_OF_RCLPY = ('use_sim_time', 'start_type_description_service')


def main() -> int:
    """Ask all programs."""
    rclpy.init()
    answers = {}
    for program in programs():
        print(f'asking {program.name}', file=sys.stderr)
        module = importlib.import_module(program.module)
        answer = _help_of(module, program) if not hasattr(module, 'run_node') else _answer_of_node(module)
        answers[f'{program.package} {program.name}'] = answer
    print(json.dumps({'programs': answers, 'machine_files': machine_files()}))
    return 0


def _help_of(module: Any, program: Program) -> dict[str, Any]:
    text, sys.argv = io.StringIO(), [program.name]
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        module.main(['--help'])
    return {'kind': 'program', 'doc': _doc(module), 'help': text.getvalue()}


def _answer_of_node(module: Any) -> dict[str, Any]:
    factories: list[Callable[[], Any]] = []

    def taken(factory: Callable[[], Any], *_: Any) -> int:
        factories.append(factory)
        return 0

    module.run_node = taken
    module.main([])
    parameters: dict[str, Any] = {}
    declare, undeclare = Node.declare_parameter, Node.undeclare_parameter

    def noted(node: Node, name: str, value: Any = None, descriptor: Any = None, *rest: Any) -> Any:
        if name not in _OF_RCLPY and not name.startswith('qos_overrides'):
            parameters[name] = _described(value, descriptor)
        return declare(node, name, value, descriptor, *rest)

    def forgotten(node: Node, name: str) -> None:
        parameters.pop(name, None)
        undeclare(node, name)

    Node.declare_parameter = noted  # type: ignore[assignment,method-assign]
    Node.undeclare_parameter = forgotten  # type: ignore[assignment,method-assign]
    node, topics = None, {}
    try:
        # a node that needs a value refuses to start, but not before it has declared what it needs
        with contextlib.suppress(PkmError):
            node = factories[0]()
            topics = _endpoints(node)
    finally:
        Node.declare_parameter = declare  # type: ignore[method-assign]
        Node.undeclare_parameter = undeclare  # type: ignore[method-assign]
        if node is not None:
            node.destroy_node()
    return {'kind': 'node', 'doc': _doc(module), 'parameters': parameters, 'topics': topics}


def _doc(module: Any) -> str:
    return str(module.__doc__).strip().split('\n')[0]


def _described(value: Any, descriptor: Any) -> dict[str, Any]:
    is_typed = isinstance(value, rclpy.Parameter.Type)
    ranges = [*descriptor.integer_range, *descriptor.floating_point_range] if descriptor else []
    return {
        'type': value.name.lower().replace('_', ' ') if is_typed else type(value).__name__,
        'default': [] if is_typed else value,
        'range': [ranges[0].from_value, ranges[0].to_value] if ranges else None,
        'choices': descriptor.additional_constraints.removeprefix('one of: ') if descriptor else '',
        'description': descriptor.description if descriptor else '',
        'read_only': bool(descriptor and descriptor.read_only),
    }


def _endpoints(node: Any) -> dict[str, list[list[str]]]:
    def listed(endpoints: Any, kind: str) -> list[list[str]]:
        types = 'srv_type' if kind == 'srv_name' else 'msg_type'
        found = {getattr(item, kind): getattr(item, types) for item in endpoints}
        return sorted([name, _type_name(found[name])] for name in found if '/get_' not in name)

    return {
        'publishes': listed(node.publishers, 'topic_name'),
        'subscribes': listed(node.subscriptions, 'topic_name'),
        'services': listed(node.services, 'srv_name'),
    }


def _type_name(message: Any) -> str:
    package, kind = message.__module__.split('.')[:2]
    return f'{package}/{kind}/{message.__name__}'


if __name__ == '__main__':
    sys.exit(main())
