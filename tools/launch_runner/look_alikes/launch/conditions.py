"""Look-alike of launch.conditions, see launch_runner."""

from launch_runner.conditions import IfCondition, UnlessCondition

__all__ = ['IfCondition', 'UnlessCondition']
