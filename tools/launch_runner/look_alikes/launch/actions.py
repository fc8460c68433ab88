"""Look-alike of launch.actions, see launch_runner."""

from launch_runner.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
    Shutdown,
    TimerAction,
)

__all__ = [
    'DeclareLaunchArgument',
    'ExecuteProcess',
    'GroupAction',
    'IncludeLaunchDescription',
    'LogInfo',
    'OpaqueFunction',
    'RegisterEventHandler',
    'SetEnvironmentVariable',
    'SetLaunchConfiguration',
    'Shutdown',
    'TimerAction',
]
