"""Look-alike of launch_ros.substitutions, see launch_runner."""

from launch_runner.substitutions import FindPackagePrefix, FindPackageShare

__all__ = ['FindPackagePrefix', 'FindPackageShare']
