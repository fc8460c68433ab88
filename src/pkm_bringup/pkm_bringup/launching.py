"""Launch arguments that launch files of this package share; imported by launch files only."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from pkm_description.errors import ConfigurationError
from pkm_description.launching import boolean_argument
from pkm_description.settings import default_of

from pkm_bringup.control.servo_settings import BeliefSettings, ServoSettings

_FIELDS = (*fields(ServoSettings), *fields(BeliefSettings))


def listener_arguments() -> list[DeclareLaunchArgument]:
    """What listens to the machine: estimator, identification, rviz."""
    return [
        boolean_argument('estimation', 'true', 'run the estimator'),
        boolean_argument('identification', 'false', 'run the identification node'),
        DeclareLaunchArgument(
            'output', default_value='', description='directory for the results of identification; ~/.ros if empty'
        ),
        boolean_argument('rviz', 'false', 'show the machine and its leg forces in rviz2, if that is installed'),
    ]


def servo_arguments() -> list[DeclareLaunchArgument]:
    """Feed-forward, gains, limits and trip of the servo; empty: the node's own default."""
    found = []
    for entry in _FIELDS:
        # a choice of several must also be able to be empty
        choices = {'choices': ['', *entry.metadata['choices']]} if entry.metadata['choices'] else {}
        description = f"{entry.metadata['description']} (empty: the node's default)"
        found.append(DeclareLaunchArgument(entry.name, default_value='', description=description, **choices))
    return found


def servo_parameters(context: LaunchContext) -> list[dict[str, Any]]:
    """Parameters of a node with a servo that the launch was given: none or one mapping.

    Raises
    ------
    ConfigurationError
        A number is none; names the argument.
    """
    parameters: dict[str, Any] = {}
    for entry in _FIELDS:
        value = LaunchConfiguration(entry.name).perform(context)
        if not value:
            continue
        parameters[entry.name] = value
        if isinstance(default_of(entry), float):
            try:
                parameters[entry.name] = float(value)
            except ValueError:
                raise ConfigurationError(f'{entry.name}:={value}: must be a number') from None
    return [parameters] if parameters else []
