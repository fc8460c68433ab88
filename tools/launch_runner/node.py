"""Nodes: processes with the command line that launch_ros would give them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from launch_runner.actions import ExecuteProcess
from launch_runner.context import LaunchContext, LaunchError, join_namespaces
from launch_runner.substitutions import Substitution, perform

_FILE_NUMBER = itertools.count(1)


class ParameterValue:
    """A parameter with a type of its own; without one, YAML decides."""

    def __init__(self, value: Any, *, value_type: type | None = None) -> None:
        self.value, self.value_type = value, value_type

    def evaluate(self, context: LaunchContext) -> Any:
        """Value with its type."""
        if not isinstance(self.value, Substitution | str | list | tuple):
            return self.value
        text = perform(context, self.value)
        if self.value_type is str:
            return text
        value = yaml.safe_load(text)
        if self.value_type is float and isinstance(value, int | str):
            value = float(text)
        if self.value_type is not None and not isinstance(value, self.value_type):
            raise LaunchError(f'parameter value {text!r} is not of type {self.value_type.__name__}')
        return value


class Node(ExecuteProcess):
    """An executable of a package."""

    def __init__(
        self,
        *,
        package: Any,
        executable: Any,
        name: Any = None,
        namespace: Any = None,
        parameters: Iterable[Any] | None = None,
        remappings: Iterable[tuple[Any, Any]] | None = None,
        arguments: Iterable[Any] | None = None,
        ros_arguments: Iterable[Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(cmd=[], **options)
        self.package, self.executable = package, executable
        self.node_name, self.node_namespace = name, namespace
        self.parameters, self.remappings = list(parameters or []), list(remappings or [])
        self.arguments, self.ros_arguments = list(arguments or []), list(ros_arguments or [])

    def command_line(self, context: LaunchContext, directory: str) -> list[str]:
        """Words of the command; parameters given as dictionaries become files in ``directory``."""
        words = [self._program(context), *(perform(context, word) for word in self.arguments), '--ros-args']
        words += [perform(context, word) for word in self.ros_arguments]
        if self.node_name is not None:
            words += ['-r', f'__node:={perform(context, self.node_name)}']
        namespace = '' if self.node_namespace is None else perform(context, self.node_namespace)
        if namespace := join_namespaces(context.namespace, namespace):
            words += ['-r', f'__ns:={namespace}']
        for parameters in self.parameters:
            words += ['--params-file', self._parameter_file(context, parameters, directory)]
        for source, target in self.remappings:
            words += ['-r', f'{perform(context, source)}:={perform(context, target)}']
        return words

    def _program(self, context: LaunchContext) -> str:
        package, executable = perform(context, self.package), perform(context, self.executable)
        try:
            program = Path(get_package_prefix(package)) / 'lib' / package / executable
        except PackageNotFoundError:
            raise LaunchError(f'package {package!r} is not installed') from None
        if not program.is_file():
            raise LaunchError(f'package {package!r} has no executable {executable!r}')
        return str(program)

    def _parameter_file(self, context: LaunchContext, parameters: Any, directory: str) -> str:
        if not isinstance(parameters, Mapping):
            path = perform(context, parameters)
            if not Path(path).is_file():
                raise LaunchError(f'there is no parameter file {path}')
            return path
        file = Path(directory) / f'parameters_{next(_FILE_NUMBER)}.yaml'
        content = {'/**': {'ros__parameters': _evaluated(context, parameters)}}
        file.write_text(yaml.safe_dump(content, sort_keys=False), encoding='utf-8')
        return str(file)


def _evaluated(context: LaunchContext, parameters: Mapping[Any, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in parameters.items():
        name = perform(context, key)
        if isinstance(value, Mapping):
            result[name] = _evaluated(context, value)
        elif isinstance(value, ParameterValue):
            result[name] = value.evaluate(context)
        elif isinstance(value, Substitution) or _has_substitution(value):
            result[name] = ParameterValue(value).evaluate(context)
        else:
            result[name] = list(value) if isinstance(value, tuple) else value
    return result


def _has_substitution(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(item, Substitution) for item in value)
