"""Look-alike of launch.substitutions, see launch_runner."""

from launch_runner.substitutions import (
    Command,
    EnvironmentVariable,
    EqualsSubstitution,
    LaunchConfiguration,
    NotEqualsSubstitution,
    NotSubstitution,
    PathJoinSubstitution,
    PythonExpression,
    TextSubstitution,
    ThisLaunchFileDir,
)

__all__ = [
    'Command',
    'EnvironmentVariable',
    'EqualsSubstitution',
    'LaunchConfiguration',
    'NotEqualsSubstitution',
    'NotSubstitution',
    'PathJoinSubstitution',
    'PythonExpression',
    'TextSubstitution',
    'ThisLaunchFileDir',
]
