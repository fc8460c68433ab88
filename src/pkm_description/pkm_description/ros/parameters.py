"""Declare node parameters with description, range and choices, and get validated values."""

from __future__ import annotations

import sys
from collections.abc import Collection, Container, Sequence
from contextlib import suppress
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from pkm_description.bounded_yaml import bounded_file
from pkm_description.errors import ConfigurationError, PkmError
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.ros.node_settings import MachineSettings
from pkm_description.settings import AnySettings, default_of, of_node, settings_of

#: files that launch writes for values of its arguments begin so
_OF_LAUNCH = 'launch_params_'


class ParameterError(PkmError):
    """A node parameter has a value of the wrong type or outside its range."""


def declare_settings(
    node: Node, settings: type[AnySettings], names: Container[str] | None = None, writable: Container[str] = ()
) -> AnySettings:
    """Declare the settings of a class as read-only parameters and return their values.

    Settings of sections have names with a dot.

    Parameters
    ----------
    settings : class whose fields are made by :func:`pkm_description.settings.setting`
    names : fields that the node needs (default: all); the others keep their defaults
    writable : those that can be set while the node runs; read again by :func:`current_settings`

    Raises
    ------
    ParameterError, ConfigurationError
        A value given at start does not fit; names the parameter, the value and what is allowed.
    """
    values = {}
    for name, entry in settings_of(settings).items():
        if names is not None and name not in names:
            continue
        default, metadata = default_of(entry), entry.metadata
        if isinstance(default, tuple):
            default = ','.join(default) if metadata['commas'] else list(default)
        try:
            values[name] = declare(
                node,
                name,
                default,
                metadata['description'],
                range=None if metadata['low'] is None else (metadata['low'], metadata['high']),
                read_only=name not in writable,
                choices=metadata['choices'] or None,
            )
        except ParameterError as error:
            raise ParameterError(f'{file_with(node, [name])}{error}') from None
    try:
        return settings.from_mapping(values)
    except ConfigurationError as error:
        raise ConfigurationError(f'{file_with(node, [*values])}{error}') from None


def file_with(node: Node, names: Collection[str]) -> str:
    """The last parameter file of the command line that has one of the names for a node, ready to begin a message."""
    files = [after for before, after in pairwise(sys.argv) if before == '--params-file']
    for file in reversed(files):
        if Path(file).name.startswith(_OF_LAUNCH):
            continue
        with suppress(OSError, UnicodeDecodeError, yaml.YAMLError):
            given = of_node(bounded_file(Path(file)), node.get_name())
            if isinstance(given, dict) and not given.keys().isdisjoint(names):
                return f'{file}: '
    return ''


def current_settings(
    node: Node, settings: type[AnySettings], changes: Sequence[Parameter[Any]] = ()
) -> AnySettings:
    """Values that the parameters of :func:`declare_settings` have now; those that are not declared keep their defaults.

    Parameters
    ----------
    changes : parameters with other values, as if they had been set already

    Raises
    ------
    ConfigurationError
        They do not fit; names the setting, the value and what is allowed.
    """
    values = {name: node.get_parameter(name).value for name in settings_of(settings) if node.has_parameter(name)}
    values |= {parameter.name: parameter.value for parameter in changes if parameter.name in values}
    # an empty list has no type in ROS
    return settings.from_mapping({name: [] if value is None else value for name, value in values.items()})


def declare(
    node: Node,
    name: str,
    default: Any,
    description: str,
    range: tuple[float, float] | None = None,
    read_only: bool = False,
    choices: Sequence[str] | None = None,
) -> Any:
    """Declare one parameter and return its value.

    Parameters
    ----------
    default : also fixes the type; an empty list is one of strings
    description : one line, with the unit
    range : smallest and largest value (int or float parameters)
    read_only : the value is fixed at start
    choices : allowed strings, also of the entries of a list

    Raises
    ------
    ParameterError
        The value given at start does not fit; names the parameter, the value and what is allowed.
    """
    descriptor = ParameterDescriptor(description=description, read_only=read_only)
    if choices is not None:
        descriptor.additional_constraints = 'one of: ' + ', '.join(choices)
    if range is not None:
        lower, upper = range
        if isinstance(default, int):
            descriptor.integer_range = [IntegerRange(from_value=int(lower), to_value=int(upper), step=0)]
        else:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(lower), to_value=float(upper), step=0.0)
            ]
    try:
        value = _declare(node, name, default, descriptor)
    except (InvalidParameterTypeException, InvalidParameterValueException) as error:
        allowed = f'{type(default).__name__} in {list(range)}' if range else type(default).__name__
        raise ParameterError(f'parameter {name} ({description}) must be {allowed}: {error}') from None
    chosen = value if isinstance(value, list) else [value]
    if choices is not None and not set(chosen) <= set(choices):
        raise ParameterError(f'parameter {name} = {value!r}: choose one of {", ".join(choices)}')
    return value


def _declare(node: Node, name: str, default: Any, descriptor: ParameterDescriptor) -> Any:
    if default != []:
        return node.declare_parameter(name, default, descriptor).value
    # an empty list has no type of its own for the parameter server: declared by type, then filled, then closed
    read_only, descriptor.read_only = descriptor.read_only, False
    value: Any = node.declare_parameter(name, Parameter.Type.STRING_ARRAY, descriptor).value
    if value is None:
        node.set_parameters([Parameter(name, Parameter.Type.STRING_ARRAY, [])])
    closed = deepcopy(node.describe_parameter(name))
    closed.read_only = read_only
    node.set_descriptor(name, closed)
    return value or []


def declare_machine_files(node: Node) -> tuple[str, str | None]:
    """Declare ``machine``, ``machine_file`` and ``overlay``; returns name or path, and the overlay's path."""
    settings = declare_settings(node, MachineSettings, ('machine', 'machine_file', 'overlay'))
    return settings.machine_file or settings.machine, settings.overlay or None


def declare_machine(node: Node) -> Machine:
    """Declare the parameters of :class:`MachineSettings` and load the machine that they name, with its driver."""
    settings = declare_settings(node, MachineSettings)
    return load_machine(
        settings.machine_file or settings.machine,
        settings.overlay or None,
        settings.driver or None,
    ).on_topics(settings.joint_topic, settings.imu_topic)
