"""Look-alike of launch.event_handlers, see launch_runner."""

from launch_runner.actions import OnProcessExit

__all__ = ['OnProcessExit']
