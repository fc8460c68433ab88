"""Look-alike of launch_ros.parameter_descriptions, see launch_runner."""

from launch_runner.node import ParameterValue

__all__ = ['ParameterValue']
