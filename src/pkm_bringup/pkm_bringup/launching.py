"""Arguments and nodes that launch files of this package share; imported by launch files only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext
from launch.actions import GroupAction, IncludeLaunchDescription, LogInfo
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node
from pkm_description.errors import ConfigurationError
from pkm_description.launching import PLACE_ARGUMENTS, handed_on, suite_node
from pkm_description.settings import default_of

from pkm_bringup.control.servo_settings import BeliefSettings, ServoSettings

_FIELDS = (*fields(ServoSettings), *fields(BeliefSettings))
#: feed-forward, gains, limits and trip of the servo; empty: the node's own default, also where there are some choices
SERVO_ARGUMENTS = {
    entry.name: (
        '', f"{entry.metadata['description']} (empty: the node's default)",
        *([['', *entry.metadata['choices']]] if entry.metadata['choices'] else []),
    )
    for entry in _FIELDS
}  # fmt: skip
#: what listens to the machine: estimator, identification, rviz; see :func:`~pkm_description.launching.declared`
LISTENER_ARGUMENTS = {
    'estimation': ('true', 'run the estimator'),
    'identification': ('false', 'run the identification node'),
    'output': ('', 'directory for the results of identification; ~/.ros if empty'),
    'rviz': ('false', 'show the machine and its leg forces in rviz2, if that is installed'),
}
#: of launch files with nodes that hear the sensors
RELIABILITY_ARGUMENT = {'reliability': (
    'best_effort', 'of the sensor subscriptions; reliable where no sample may be lost', ['best_effort', 'reliable']
)}  # fmt: skip


def listeners(
    value: Mapping[str, str], names: Iterable[str] = (), state_publisher: str = 'true', **arguments: str
) -> list[GroupAction]:
    """What :data:`LISTENER_ARGUMENTS` ask for.

    Parameters
    ----------
    value : of the arguments of this launch
    names, arguments : see :func:`included`, beside those of the listeners
    state_publisher : whether the estimator's launch file publishes the frames of all links
    """
    found, estimator = [], {'viewer': 'false', 'state_publisher': state_publisher}
    if value['estimation'] == 'true':
        found.append(included('estimation', *PLACE_ARGUMENTS, *names, 'rviz', **estimator, **arguments))
    if value['identification'] == 'true':
        found.append(included('identification', *names, 'output', **arguments))
    return found


def included(name: str, *names: str, **arguments: Any) -> GroupAction:
    """Another launch file of this package on the same machine, in a scope of its own.

    Parameters
    ----------
    name : of the launch file
    names : arguments of this launch that it gets besides those of the machine
    arguments : others, with their values
    """
    path = str(Path(get_package_share_directory('pkm_bringup'), 'launch', f'{name}.launch.py'))
    source, given = PythonLaunchDescriptionSource(path), {**handed_on(*names), **arguments}
    return GroupAction([IncludeLaunchDescription(source, launch_arguments=given.items())])


def died(consequence: str, ends: bool = True, even_well: bool = False) -> Callable[[Any, LaunchContext], list[LogInfo]]:
    """What a launch does (``on_exit`` of a node) when a node has died: it ends with an error, or says so loudly.

    Parameters
    ----------
    consequence : which node it is, and what is so without it
    ends : whether everything ends; a machine that moves on needs its other nodes
    even_well : also if the node has ended without an error
    """

    def react(event: Any, context: LaunchContext) -> list[LogInfo]:
        if context.is_shutdown or (event.returncode == 0 and not even_well):
            return []
        if ends:
            raise ConfigurationError(consequence)
        return [LogInfo(msg=f'ERROR: {consequence}')]

    return react


def leg_controller(parameters: list[Any]) -> Node:
    """The node ``leg_controller``; if it dies, the launch says so."""
    words = 'leg_controller has died: the drives keep their last command; stop the machine, then launch again'
    return suite_node('pkm_bringup', 'leg_controller', parameters, on_exit=died(words, ends=False))


def servo_parameters(context: LaunchContext) -> list[dict[str, Any]]:
    """Parameters of a node with a servo that the launch was given: none or one mapping.

    Raises
    ------
    ConfigurationError
        A number is none; names the argument.
    """
    parameters: dict[str, Any] = {}
    for entry in _FIELDS:
        value = context.launch_configurations[entry.name]
        if not value:
            continue
        parameters[entry.name] = value
        if isinstance(default_of(entry), float):
            try:
                parameters[entry.name] = float(value)
            except ValueError:
                raise ConfigurationError(f'{entry.name}:={value}: must be a number') from None
    return [parameters] if parameters else []
