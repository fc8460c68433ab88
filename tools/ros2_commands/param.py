"""``param list|get|set|describe|dump|load``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from rcl_interfaces.msg import Parameter, ParameterType
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.parameter import get_parameter_value, parameter_dict_from_yaml_file, parameter_value_to_python

from ros2_commands.errors import CommandError, unknown
from ros2_commands.graph import Graph

_LABELS = {
    ParameterType.PARAMETER_BOOL: 'Boolean value is:',
    ParameterType.PARAMETER_INTEGER: 'Integer value is:',
    ParameterType.PARAMETER_DOUBLE: 'Double value is:',
    ParameterType.PARAMETER_STRING: 'String value is:',
    ParameterType.PARAMETER_BYTE_ARRAY: 'Byte values are:',
    ParameterType.PARAMETER_BOOL_ARRAY: 'Boolean values are:',
    ParameterType.PARAMETER_INTEGER_ARRAY: 'Integer values are:',
    ParameterType.PARAMETER_DOUBLE_ARRAY: 'Double values are:',
    ParameterType.PARAMETER_STRING_ARRAY: 'String values are:',
}
_TYPES = {
    getattr(ParameterType, name): name.removeprefix('PARAMETER_').lower().replace('_', ' ').replace('bool', 'boolean')
    for name in dir(ParameterType)
    if name.startswith('PARAMETER_')
}


def list_(graph: Graph, options: argparse.Namespace) -> None:
    """Print names, below the name of their node if no node was asked for."""
    if options.node:
        nodes = [graph.require_node(options.node)]
    else:
        graph.settle()
        nodes = [node for node in graph.nodes() if f'{node}/list_parameters' in graph.services(True)]
    for node in nodes:
        names = [name for name in _names(graph, node) if not options.filter or re.match(options.filter, name)]
        types = {}
        if options.param_type:
            types = {one.name: f' (type: {_TYPES[one.type]})' for one in _described(graph, node, names)}
        if names and not options.node:
            print(f'{node}:')
        for name in names:
            print(f'  {name}{types.get(name, "")}')


def get_(graph: Graph, options: argparse.Namespace) -> None:
    """Print a value."""
    node = graph.require_node(options.node)
    value = _values(graph, node, [options.parameter])[options.parameter]
    if value.type == ParameterType.PARAMETER_NOT_SET:
        names = _names(graph, node)
        if options.parameter not in names:
            raise unknown(f'parameter of {node}', options.parameter, names)
        print('Parameter not set.')
        return
    plain = _plain(value)
    print(plain if options.hide_type else f'{_LABELS[value.type]} {plain}')


def set_(graph: Graph, options: argparse.Namespace) -> int:
    """Set a value; it is read as YAML."""
    node = graph.require_node(options.node)
    parameter = Parameter(name=options.parameter, value=get_parameter_value(options.value))
    (result,) = _set(graph, node, [parameter])
    return _say(result, 'Set parameter successful', 'Setting parameter failed')


def load_(graph: Graph, options: argparse.Namespace) -> int:
    """Set all values of a file."""
    node = graph.require_node(options.node)
    if not Path(options.file).is_file():
        raise CommandError(f'there is no file {options.file}')
    try:
        parameters = list(parameter_dict_from_yaml_file(options.file, True, target_nodes=[node]).values())
    except (RuntimeError, yaml.YAMLError) as error:
        raise CommandError(f'{options.file}: {" ".join(str(error).split())}') from None
    results = _set(graph, node, parameters)
    codes = [
        _say(result, f'Set parameter {parameter.name} successful', f'Set parameter {parameter.name} failed')
        for parameter, result in zip(parameters, results, strict=True)
    ]
    return max(codes, default=0)


def describe_(graph: Graph, options: argparse.Namespace) -> None:
    """Print what the node says about its parameters."""
    node = graph.require_node(options.node)
    names = _names(graph, node)
    for name in options.parameters:
        if name not in names:
            raise unknown(f'parameter of {node}', name, names)
    for one in _described(graph, node, options.parameters):
        print(f'Parameter name: {one.name}\n  Type: {_TYPES[one.type]}')
        if one.description:
            print(f'  Description: {one.description}')
        print('  Constraints:')
        if one.read_only:
            print('    Read only: true')
        for limits in [*one.floating_point_range, *one.integer_range]:
            print(f'    Min value: {limits.from_value}\n    Max value: {limits.to_value}')
            if limits.step:
                print(f'    Step: {limits.step}')
        if one.additional_constraints:
            print(f'    Additional constraints: {one.additional_constraints}')


def dump_(graph: Graph, options: argparse.Namespace) -> None:
    """Print all as a parameter file."""
    node = graph.require_node(options.node)
    content: dict[str, Any] = {}
    for name, value in _values(graph, node, _names(graph, node)).items():
        *sections, last = name.split('.')
        place = content
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = _plain(value)
    print(yaml.safe_dump({node: {'ros__parameters': content}}, default_flow_style=False))


def _names(graph: Graph, node: str) -> list[str]:
    response = graph.call(ListParameters, f'{node}/list_parameters', ListParameters.Request())
    return sorted(response.result.names)


def _values(graph: Graph, node: str, names: list[str]) -> dict[str, Any]:
    response = graph.call(GetParameters, f'{node}/get_parameters', GetParameters.Request(names=names))
    values = list(response.values)
    if len(values) != len(names):
        # a node answers with nothing where it does not have one of them
        known = _names(graph, node)
        raise unknown(f'parameter of {node}', next(name for name in names if name not in known), known)
    return dict(zip(names, values, strict=True))


def _plain(value: Any) -> Any:
    plain: Any = parameter_value_to_python(value)
    return list(plain) if hasattr(plain, 'tolist') else plain


def _described(graph: Graph, node: str, names: Iterable[str]) -> list[Any]:
    request = DescribeParameters.Request(names=list(names))
    return list(graph.call(DescribeParameters, f'{node}/describe_parameters', request).descriptors)


def _set(graph: Graph, node: str, parameters: list[Parameter]) -> list[Any]:
    request = SetParameters.Request(parameters=parameters)
    return list(graph.call(SetParameters, f'{node}/set_parameters', request).results)


def _say(result: Any, well: str, badly: str) -> int:
    reason = f': {result.reason}' if result.reason else ''
    print(f'{well if result.successful else badly}{reason}', file=sys.stdout if result.successful else sys.stderr)
    return 0 if result.successful else 1
