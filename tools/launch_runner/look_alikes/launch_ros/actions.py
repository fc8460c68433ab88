"""Look-alike of launch_ros.actions, see launch_runner."""

from launch_runner.actions import PushRosNamespace
from launch_runner.node import Node

__all__ = ['Node', 'PushRosNamespace']
