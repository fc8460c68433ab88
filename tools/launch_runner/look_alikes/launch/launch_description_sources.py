"""Look-alike of launch.launch_description_sources, see launch_runner."""

from launch_runner.actions import PythonLaunchDescriptionSource

__all__ = ['PythonLaunchDescriptionSource']
