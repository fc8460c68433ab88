"""Look-alike of launch_ros, see launch_runner."""
